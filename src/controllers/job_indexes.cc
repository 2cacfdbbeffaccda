#include "controllers/job_indexes.h"

#include <algorithm>
#include <charconv>

namespace homeostat::controllers {
namespace {

std::optional<int32_t> Number(std::string_view text) {
  int32_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

}  // namespace

IndexSet IndexSet::Parse(std::string_view text, int32_t limit) {
  IndexSet set;
  while (!text.empty()) {
    std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    size_t dash = part.find('-');
    std::optional<int32_t> first = Number(part.substr(0, dash));
    std::optional<int32_t> last = dash == part.npos ? first : Number(part.substr(dash + 1));
    if (!first || !last || *first >= limit) continue;
    set.AddRange(*first, std::min(*last, limit - 1));
  }
  return set;
}

void IndexSet::AddRange(int32_t first, int32_t last) {
  if (last < first) return;
  // The first range that ends at the new one's border or after it.
  auto at = std::ranges::lower_bound(ranges_, first, {}, [](const auto& range) { return int64_t{range.second} + 1; });
  while (at != ranges_.end() && at->first <= int64_t{last} + 1) {
    first = std::min(first, at->first);
    last = std::max(last, at->second);
    at = ranges_.erase(at);
  }
  ranges_.emplace(at, first, last);
}

void IndexSet::Add(int32_t index) { AddRange(index, index); }

void IndexSet::Add(const IndexSet& other) {
  for (auto [first, last] : other.ranges_) AddRange(first, last);
}

bool IndexSet::Has(int32_t index) const {
  auto at = std::ranges::lower_bound(ranges_, index, {}, &std::pair<int32_t, int32_t>::second);
  return at != ranges_.end() && at->first <= index;
}

int64_t IndexSet::size() const {
  int64_t size = 0;
  for (auto [first, last] : ranges_) size += int64_t{last} - first + 1;
  return size;
}

int64_t IndexSet::SizeOfCommon(const IndexSet& other) const {
  int64_t size = 0;
  for (auto a = ranges_.begin(), b = other.ranges_.begin(); a != ranges_.end() && b != other.ranges_.end();) {
    size += std::max<int64_t>(0, int64_t{std::min(a->second, b->second)} - std::max(a->first, b->first) + 1);
    (a->second < b->second ? a : b)++;
  }
  return size;
}

std::vector<int32_t> IndexSet::Missing(size_t count, int32_t limit) const {
  std::vector<int32_t> missing;
  int64_t next = 0;
  for (auto [first, last] : ranges_) {
    for (; next < first && next < limit && missing.size() < count; ++next) missing.push_back(static_cast<int32_t>(next));
    next = std::max(next, int64_t{last} + 1);
  }
  for (; next < limit && missing.size() < count; ++next) missing.push_back(static_cast<int32_t>(next));
  return missing;
}

std::string IndexSet::ToString() const {
  std::string text;
  for (auto [first, last] : ranges_) {
    text += (text.empty() ? "" : ",") + std::to_string(first);
    if (last > first) text += (last == first + 1 ? "," : "-") + std::to_string(last);
  }
  return text;
}

std::optional<std::string> MetSuccessRule(const api::batch::v1::JobSpec& spec, const IndexSet& succeeded) {
  if (succeeded.empty()) return std::nullopt;
  auto rules = spec.success_policy().rules();
  for (size_t i = 0; i < rules.size(); ++i) {
    std::optional<int32_t> count;
    if (rules[i].has_succeeded_count()) count = rules[i].succeeded_count();
    bool met = false;
    if (rules[i].has_succeeded_indexes()) {
      IndexSet wanted = IndexSet::Parse(rules[i].succeeded_indexes(), spec.completions());
      int64_t common = wanted.SizeOfCommon(succeeded);
      met = !wanted.empty() && (common == wanted.size() || (count && common >= *count));
    } else {
      met = count && succeeded.size() >= *count;
    }
    if (met) return "Matched rules at index " + std::to_string(i);
  }
  return std::nullopt;
}

}  // namespace homeostat::controllers
