#include "server/aggregation/openapi_merge.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "homeostat/object/json.h"

namespace homeostat::server {
namespace {

using object::Arena;
using object::Member;
using object::Value;

constexpr std::string_view kReference = "$ref", kKinds = "x-kubernetes-group-version-kind";
constexpr std::string_view kSections[] = {"definitions", "parameters"};

// Calls `visit` with every reference (#/definitions/x) in the tree.
template <class Visit>
void EachReference(const Value& value, const Visit& visit) {
  for (const Member& member : value.members()) {
    if (member.name() == kReference && member.value.IsString()) visit(member.value.AsString());
    else EachReference(member.value, visit);
  }
  for (const Value& item : value.items()) EachReference(item, visit);
}

Value Referenced(const Value& document, std::string_view reference) {
  for (std::string_view section : kSections) {
    std::string prefix = "#/" + std::string(section) + "/";
    if (reference.starts_with(prefix)) return document.Path({section, reference.substr(prefix.size())});
  }
  return {};
}

std::string ReferenceTo(std::string_view section, std::string_view name) {
  return "#/" + std::string(section) + "/" + std::string(name);
}

using Renaming = std::map<std::string, std::string, std::less<>>;  // of references

Value WithReferences(Arena& arena, const Value& value, const Renaming& renamed) {
  if (value.IsList()) {
    object::ListBuilder list(arena);
    for (const Value& item : value.items()) list.Append(WithReferences(arena, item, renamed));
    return list.Build();
  }
  if (!value.IsObject()) return value;
  object::ObjectBuilder builder(arena);
  for (const Member& member : value.members()) {
    Value inner = member.value;
    if (member.name() == kReference && inner.IsString()) {
      auto found = renamed.find(inner.AsString());
      if (found != renamed.end()) inner = Value::String(arena, found->second);
    } else {
      inner = WithReferences(arena, inner, renamed);
    }
    builder.Append(member.name(), inner);
  }
  return builder.Build();
}

// Definitions may differ in the kinds they are used for.
bool SaysTheSame(Arena& arena, const Value& a, const Value& b) {
  if (!a.Get(kKinds) && !b.Get(kKinds)) return object::Equal(a, b);
  Value left = object::ObjectBuilder(arena, a).Erase(kKinds).Build(), right = object::ObjectBuilder(arena, b).Erase(kKinds).Build();
  return object::Equal(left, right);
}

Value WithKindsOf(Arena& arena, const Value& base, const Value& added) {
  Value more = added.Get(kKinds);
  if (more.empty()) return base;
  object::ListBuilder kinds(arena, base.Get(kKinds));
  for (const Value& kind : more.items()) {
    bool known = std::ranges::any_of(kinds.items(), [&](const Value& other) { return object::Equal(kind, other); });
    if (!known) kinds.Append(kind);
  }
  if (kinds.items().size() == base.Get(kKinds).size()) return base;
  return object::ObjectBuilder(arena, base).Set(kKinds, kinds.Build()).Build();
}

// What of `added` must have another name: what says something else than the base's of the same name, and what refers to such.
Renaming Conflicts(Arena& arena, const Value& base, const Value& added) {
  Renaming renamed;
  auto rename = [&](std::string_view section, std::string_view name) {
    std::string fresh;
    for (int i = 2; fresh.empty() || base.Path({section, fresh}) || added.Path({section, fresh}); ++i) {
      fresh = std::string(name) + "_v" + std::to_string(i);
    }
    renamed[ReferenceTo(section, name)] = ReferenceTo(section, fresh);
  };
  for (std::string_view section : kSections) {
    for (const Member& member : added.Get(section).members()) {
      Value mine = base.Path({section, member.name()});
      if (mine && !SaysTheSame(arena, mine, member.value)) rename(section, member.name());
    }
  }
  for (bool again = !renamed.empty(); again;) {
    again = false;
    for (std::string_view section : kSections) {
      for (const Member& member : added.Get(section).members()) {
        if (!base.Path({section, member.name()}) || renamed.contains(ReferenceTo(section, member.name()))) continue;
        bool touched = false;
        EachReference(member.value, [&](std::string_view reference) { touched = touched || renamed.contains(reference); });
        if (!touched) continue;
        rename(section, member.name());
        again = true;
      }
    }
  }
  return renamed;
}

Value Sorted(Arena& arena, std::map<std::string_view, Value>&& members) {
  object::ObjectBuilder builder(arena);
  for (const auto& [name, value] : members) builder.Append(name, value);
  return builder.Build();
}

std::map<std::string_view, Value> MembersOf(const Value& object) {
  std::map<std::string_view, Value> members;
  for (const Member& member : object.members()) members.emplace(member.name(), member.value);
  return members;
}

}  // namespace

std::string FilterOpenApiV2(const Value& document, std::string_view prefix) {
  Arena arena;
  std::map<std::string_view, Value> paths;
  std::set<std::string_view> needed;
  std::vector<std::string_view> left;
  auto need = [&](std::string_view reference) {
    if (needed.insert(reference).second) left.push_back(reference);
  };
  for (const Member& member : document.Get("paths").members()) {
    if (!member.name().starts_with(prefix)) continue;
    paths.emplace(member.name(), member.value);
    EachReference(member.value, need);
  }
  while (!left.empty()) {
    std::string_view reference = left.back();
    left.pop_back();
    EachReference(Referenced(document, reference), need);
  }
  object::ObjectBuilder out(arena);
  out.Append("paths", Sorted(arena, std::move(paths)));
  for (std::string_view section : kSections) {
    std::map<std::string_view, Value> kept;
    for (const Member& member : document.Get(section).members()) {
      if (needed.contains(ReferenceTo(section, member.name()))) kept.emplace(member.name(), member.value);
    }
    if (!kept.empty()) out.Append(section, Sorted(arena, std::move(kept)));
  }
  return object::JsonText(out.Build());
}

Value MergeOpenApiV2(Arena& arena, const Value& base, const Value& added) {
  Renaming renamed = Conflicts(arena, base, added);
  object::ObjectBuilder merged(arena, base);
  std::map<std::string_view, Value> paths = MembersOf(base.Get("paths"));
  for (const Member& member : added.Get("paths").members()) {
    if (!paths.contains(member.name())) paths.emplace(member.name(), WithReferences(arena, member.value, renamed));
  }
  merged.Set("paths", Sorted(arena, std::move(paths)));
  for (std::string_view section : kSections) {
    if (added.Get(section).empty()) continue;
    std::map<std::string_view, Value> all = MembersOf(base.Get(section));
    for (const Member& member : added.Get(section).members()) {
      auto other = renamed.find(ReferenceTo(section, member.name()));
      if (other != renamed.end()) {
        std::string_view name = std::string_view(other->second).substr(section.size() + 3);
        all.emplace(arena.Copy(name), WithReferences(arena, member.value, renamed));
        continue;
      }
      auto [place, is_new] = all.emplace(member.name(), member.value);
      place->second = is_new ? WithReferences(arena, member.value, renamed) : WithKindsOf(arena, place->second, member.value);
    }
    merged.Set(section, Sorted(arena, std::move(all)));
  }
  return merged.Build();
}

}  // namespace homeostat::server
