#include "patch/field_set.h"

#include <algorithm>

#include "object/go_value.h"
#include "patch/internal/compare_values.h"
#include "patch/internal/set_builder.h"

namespace homeostat::patch {

using internal::SetBuilder;
using Entry = FieldSet::Entry;

namespace {

// Walks two sorted levels side by side: `both` for steps they share, the others for steps that only one has.
template <class OnlyA, class OnlyB, class Both>
void Zip(std::span<const Entry> a, std::span<const Entry> b, OnlyA only_a, OnlyB only_b, Both both) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    int order = Compare(a[i].element, b[j].element);
    if (order < 0) {
      only_a(a[i++]);
    } else if (order > 0) {
      only_b(b[j++]);
    } else {
      both(a[i++], b[j++]);
    }
  }
  while (i < a.size()) only_a(a[i++]);
  while (j < b.size()) only_b(b[j++]);
}

bool SameEntries(const FieldSet& a, const FieldSet& b) {
  return a.entries().data() == b.entries().data() && a.entries().size() == b.entries().size();
}

// Values inside a path, as upstream's ToString shows them.
std::string ValueText(const Value& value) {
  if (!value) return "null";
  if (value.IsString()) return object::GoSyntax(value, object::GoNumbers::kDoubles);
  if (!value.IsList() && !value.IsObject()) return object::GoText(value, object::GoNumbers::kDoubles);
  std::string text;
  for (const Value& item : value.items()) {
    if (!text.empty()) text += ',';
    text += ValueText(item);
  }
  if (value.IsList()) return "[" + text + "]";
  for (const object::Member& member : value.members())
    text.append(member.name()).append("=").append(ValueText(member.value));
  return text;
}

FieldSet SetUnion(SetBuilder& out, const FieldSet& a, const FieldSet& b) {
  if (b.empty() || SameEntries(a, b)) return a;
  if (a.empty()) return b;
  size_t start = out.Begin();
  Zip(
      a.entries(), b.entries(), [&](const Entry& x) { out.Push(x); }, [&](const Entry& y) { out.Push(y); },
      [&](const Entry& x, const Entry& y) {
        out.Push({x.element, SetUnion(out, x.children, y.children), x.member || y.member});
      });
  return out.End(start);
}

FieldSet SetIntersection(SetBuilder& out, const FieldSet& a, const FieldSet& b) {
  if (a.empty() || b.empty()) return {};
  if (SameEntries(a, b)) return a;
  size_t start = out.Begin();
  auto skip = [](const Entry&) {};
  Zip(a.entries(), b.entries(), skip, skip, [&](const Entry& x, const Entry& y) {
    out.Push({x.element, SetIntersection(out, x.children, y.children), x.member && y.member});
  });
  return out.End(start);
}

FieldSet SetDifference(SetBuilder& out, const FieldSet& a, const FieldSet& b, bool recursive) {
  if (b.empty()) return a;
  if (SameEntries(a, b)) return {};
  size_t start = out.Begin();
  Zip(
      a.entries(), b.entries(), [&](const Entry& x) { out.Push(x); }, [](const Entry&) {},
      [&](const Entry& x, const Entry& y) {
        if (recursive && y.member) return;
        out.Push({x.element, SetDifference(out, x.children, y.children, recursive), x.member && !y.member});
      });
  return out.End(start);
}

FieldSet SetLeaves(SetBuilder& out, const FieldSet& set) {
  size_t start = out.Begin();
  for (const Entry& entry : set.entries()) {
    out.Push({entry.element, SetLeaves(out, entry.children), entry.member && entry.children.empty()});
  }
  return out.End(start);
}

void Visit(const FieldSet& set, Path& prefix, const std::function<void(PathView)>& visit) {
  for (const Entry& entry : set.entries()) {
    if (!entry.member) continue;
    prefix.push_back(entry.element);
    visit(prefix);
    prefix.pop_back();
  }
  for (const Entry& entry : set.entries()) {
    if (entry.children.empty()) continue;
    prefix.push_back(entry.element);
    Visit(entry.children, prefix, visit);
    prefix.pop_back();
  }
}

// Paths are sorted; `paths` share their first `depth` steps.
FieldSet FromSorted(SetBuilder& out, std::span<const Path*> paths, size_t depth) {
  size_t start = out.Begin();
  for (size_t i = 0; i < paths.size();) {
    const PathElement& element = (*paths[i])[depth];
    size_t end = i;
    while (end < paths.size() && (*paths[end])[depth] == element) ++end;
    std::span<const Path*> group = paths.subspan(i, end - i);
    size_t ending = 0;  // the shorter ones come first
    while (ending < group.size() && group[ending]->size() == depth + 1) ++ending;
    out.Push({element, FromSorted(out, group.subspan(ending), depth + 1), ending > 0});
    i = end;
  }
  return out.End(start);
}

struct Pattern {
  std::span<const std::string> steps;
  bool IsWildcard() const { return steps[0] == "*"; }
};

// What is left of the patterns that a step matches. Upstream goes on with the first wildcard only, if there is one, and
// puts patterns together that name the same field.
std::vector<Pattern> GoOn(std::span<const Pattern> patterns, const PathElement& element) {
  std::vector<Pattern> rest;
  for (const Pattern& pattern : patterns) {
    if (pattern.IsWildcard()) return {{pattern.steps.subspan(1)}};
    if (element.IsField() && element.name() == pattern.steps[0]) rest.push_back({pattern.steps.subspan(1)});
  }
  return rest;
}

FieldSet SetMatching(SetBuilder& out, const FieldSet& set, std::span<const Pattern> patterns) {
  size_t start = out.Begin();
  for (const Entry& entry : set.entries()) {
    std::vector<Pattern> rest = GoOn(patterns, entry.element);
    if (rest.empty()) continue;
    bool whole = std::any_of(rest.begin(), rest.end(), [](const Pattern& pattern) { return pattern.steps.empty(); });
    out.Push({entry.element, whole ? entry.children : SetMatching(out, entry.children, rest), entry.member});
  }
  return out.End(start);
}

}  // namespace

std::string PathElement::String() const {
  switch (kind_) {
    case Kind::kField:
      return "." + std::string(name());
    case Kind::kValue:
      return "[=" + ValueText(value_) + "]";
    case Kind::kIndex:
      return "[" + std::to_string(value_.AsInt()) + "]";
    case Kind::kKey:
      break;
  }
  std::string text = "[";
  for (const object::Member& field : value_.members()) {
    if (text.size() > 1) text += ',';
    text.append(field.name()).append("=").append(ValueText(field.value));
  }
  return text + "]";
}

int Compare(const PathElement& a, const PathElement& b) {
  if (a.kind() != b.kind()) return a.kind() < b.kind() ? -1 : 1;
  if (!a.IsField()) return internal::CompareValues(a.value(), b.value());
  std::string_view x = a.name(), y = b.name();
  if (x.data() == y.data() && x.size() == y.size()) return 0;
  // Most names differ in their first letter, which is cheaper to see than to call for.
  if (!x.empty() && !y.empty() && x[0] != y[0])
    return static_cast<unsigned char>(x[0]) < static_cast<unsigned char>(y[0]) ? -1 : 1;
  return x.compare(y);
}

std::string PathString(PathView path) {
  std::string text;
  for (const PathElement& element : path) text += element.String();
  return text;
}

Path FieldPathOf(std::initializer_list<std::string_view> names) {
  Path path;
  path.reserve(names.size());
  for (std::string_view name : names) path.push_back(PathElement::Field(name));
  return path;
}

FieldSet FieldSet::Of(Arena& arena, std::span<const Path> paths) {
  std::vector<const Path*> sorted;
  for (const Path& path : paths) {
    if (!path.empty()) sorted.push_back(&path);
  }
  std::sort(sorted.begin(), sorted.end(), [](const Path* a, const Path* b) { return *a < *b; });
  SetBuilder out(arena);
  return FromSorted(out, sorted, 0);
}

const Entry* FieldSet::Find(const PathElement& element) const {
  std::span<const Entry> all = entries();
  auto found = std::lower_bound(all.begin(), all.end(), element,
                                [](const Entry& entry, const PathElement& wanted) { return entry.element < wanted; });
  return found != all.end() && found->element == element ? &*found : nullptr;
}

size_t FieldSet::Size() const {
  size_t count = 0;
  for (const Entry& entry : entries()) count += entry.member + entry.children.Size();
  return count;
}

bool FieldSet::Has(PathView path) const {
  if (path.empty()) return false;
  FieldSet set = *this;
  for (const PathElement& element : path.first(path.size() - 1)) set = set.WithPrefix(element);
  return set.Has(path.back());
}

bool FieldSet::Has(const PathElement& element) const {
  const Entry* entry = Find(element);
  return entry != nullptr && entry->member;
}

FieldSet FieldSet::WithPrefix(const PathElement& element) const {
  const Entry* entry = Find(element);
  return entry ? entry->children : FieldSet();
}

void FieldSet::ForEach(const std::function<void(PathView)>& visit) const {
  Path prefix;
  Visit(*this, prefix, visit);
}

std::string FieldSet::String() const {
  std::string text;
  ForEach([&](PathView path) {
    if (!text.empty()) text += '\n';
    text += PathString(path);
  });
  return text;
}

bool Equal(const FieldSet& a, const FieldSet& b) {
  if (a.entries().size() != b.entries().size()) return false;
  if (SameEntries(a, b)) return true;
  return std::equal(a.entries().begin(), a.entries().end(), b.entries().begin(), [](const Entry& x, const Entry& y) {
    return x.member == y.member && x.element == y.element && Equal(x.children, y.children);
  });
}

FieldSet Union(Arena& arena, const FieldSet& a, const FieldSet& b) {
  SetBuilder out(arena);
  return SetUnion(out, a, b);
}

FieldSet Intersection(Arena& arena, const FieldSet& a, const FieldSet& b) {
  SetBuilder out(arena);
  return SetIntersection(out, a, b);
}

FieldSet Difference(Arena& arena, const FieldSet& a, const FieldSet& b) {
  SetBuilder out(arena);
  return SetDifference(out, a, b, false);
}

FieldSet RecursiveDifference(Arena& arena, const FieldSet& a, const FieldSet& b) {
  SetBuilder out(arena);
  return SetDifference(out, a, b, true);
}

FieldSet Leaves(Arena& arena, const FieldSet& set) {
  SetBuilder out(arena);
  return SetLeaves(out, set);
}

FieldFilter FieldFilter::Exclude(FieldSet excluded) {
  FieldFilter filter;
  filter.excluded_ = excluded;
  return filter;
}

FieldFilter FieldFilter::Include(std::vector<std::vector<std::string>> patterns) {
  FieldFilter filter;
  std::erase_if(patterns, [](const std::vector<std::string>& pattern) { return pattern.empty(); });
  filter.patterns_ = std::move(patterns);
  return filter;
}

FieldSet FieldFilter::Apply(Arena& arena, const FieldSet& set) const {
  if (patterns_.empty()) return RecursiveDifference(arena, set, excluded_);
  std::vector<Pattern> patterns;
  for (const std::vector<std::string>& pattern : patterns_) patterns.push_back({pattern});
  SetBuilder out(arena);
  return SetMatching(out, set, patterns);
}

}  // namespace homeostat::patch
