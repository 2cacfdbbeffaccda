#include "patch/merge_patch.h"

#include <algorithm>
#include <vector>

#include "homeostat/object/member_lookup.h"
#include "patch/internal/prune_nulls.h"

namespace homeostat::patch {

using object::MemberLookup;
using internal::WithoutNullMembers;
using object::Member;

namespace {

Value BuildObject(Arena& arena, const std::vector<Member>& members) {
  Member* copy = arena.AllocateArray<Member>(members.size());
  std::uninitialized_copy(members.begin(), members.end(), copy);
  return Value::Object({copy, members.size()});
}

Value MergeObjects(Arena& arena, const Value& document, const Value& patch) {
  std::vector<Member> merged;
  merged.reserve(document.size() + patch.size());
  MemberLookup in_patch(patch), in_document(document);
  for (const Member& member : document.members()) {
    Value wanted = in_patch.Get(member.name());
    if (wanted.IsNull()) continue;
    if (wanted.IsAbsent()) {
      merged.push_back(member);
    } else if (member.value.IsObject() && wanted.IsObject()) {
      merged.emplace_back(member.name(), MergeObjects(arena, member.value, wanted), member.field);
    } else {
      // What replaces an object is taken as it is, nulls and all; what replaces anything else is freed of them.
      merged.emplace_back(member.name(), member.value.IsObject() ? wanted : WithoutNullMembers(arena, wanted),
                          member.field);
    }
  }
  for (const Member& member : patch.members()) {
    if (member.value.IsNull() || in_document.Find(member.name())) continue;
    merged.emplace_back(member.name(), WithoutNullMembers(arena, member.value), member.field);
  }
  // Upstream's library writes what it has merged by name; what it hasn't touched keeps its order.
  std::ranges::sort(merged, {}, &Member::name);
  return BuildObject(arena, merged);
}

std::string_view JsonKind(const Value& value) {
  if (value.IsList()) return "array";
  if (value.IsString() || value.IsBytes()) return "string";
  return value.IsBool() ? "bool" : "number";
}

}  // namespace

Result<Value> ApplyMergePatch(Arena& arena, const Value& document, const Value& patch, PatchDecoding decoding) {
  if (decoding == PatchDecoding::kChecked && patch && !patch.IsObject()) {
    return Fail(BadRequestError("error decoding patch: json: cannot unmarshal " + std::string(JsonKind(patch)) +
                                " into Go value of type map[string]interface {}"));
  }
  if (patch.IsList()) return WithoutNullMembers(arena, patch);
  if (!patch.IsObject()) return Fail(BadRequestError("Invalid JSON Patch"));
  if (!document.IsObject()) return WithoutNullMembers(arena, patch);
  return MergeObjects(arena, document, patch);
}

}  // namespace homeostat::patch
