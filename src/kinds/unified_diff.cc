// The matching of lines is Ratcliff and Obershelp's, with the rule for popular lines that Python's difflib has: texts that
// clients compare come from a port of that.
#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kinds/internal_json.h"

namespace homeostat::kinds {
namespace {

constexpr int kContext = 3;
// In a text of that many lines, a line that makes up more than a hundredth of it is no place to begin a match.
constexpr int kPopularFrom = 200, kPopularShare = 100;

using Lines = std::vector<std::string_view>;

struct Block {
  int a, b, size;
  auto operator<=>(const Block&) const = default;
};

struct Change {
  enum Kind : uint8_t { kEqual, kReplace, kDelete, kInsert } kind;
  int a_begin, a_end, b_begin, b_end;
};

Lines Split(std::string_view text) {
  Lines lines;
  while (true) {
    size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == text.npos) return lines;
    text.remove_prefix(end + 1);
  }
}

class Matcher {
 public:
  Matcher(const Lines& a, const Lines& b) : a_(a), b_(b) {
    for (size_t j = 0; j < b.size(); ++j) places_[b[j]].push_back(static_cast<int>(j));
    int count = static_cast<int>(b.size());
    if (count >= kPopularFrom) {
      std::erase_if(places_, [&](const auto& entry) { return static_cast<int>(entry.second.size()) > count / kPopularShare + 1; });
    }
  }

  std::vector<Change> Changes() {
    std::vector<Change> changes;
    int i = 0, j = 0;
    for (const Block& block : Blocks()) {
      if (i < block.a && j < block.b) changes.push_back({Change::kReplace, i, block.a, j, block.b});
      else if (i < block.a) changes.push_back({Change::kDelete, i, block.a, j, block.b});
      else if (j < block.b) changes.push_back({Change::kInsert, i, block.a, j, block.b});
      i = block.a + block.size;
      j = block.b + block.size;
      if (block.size > 0) changes.push_back({Change::kEqual, block.a, i, block.b, j});
    }
    return changes;
  }

 private:
  // The longest run of equal lines in these ranges; of several the first in a, then in b.
  Block Longest(int a_low, int a_high, int b_low, int b_high) {
    Block best{a_low, b_low, 0};
    std::unordered_map<int, int> lengths;  // of the run that ends at that line of b
    for (int i = a_low; i < a_high; ++i) {
      std::unordered_map<int, int> next;
      if (auto found = places_.find(a_[static_cast<size_t>(i)]); found != places_.end()) {
        for (int j : found->second) {
          if (j < b_low) continue;
          if (j >= b_high) break;
          auto before = lengths.find(j - 1);
          int length = before == lengths.end() ? 1 : before->second + 1;
          next[j] = length;
          if (length > best.size) best = {i - length + 1, j - length + 1, length};
        }
      }
      lengths = std::move(next);
    }
    auto same = [&](int i, int j) { return a_[static_cast<size_t>(i)] == b_[static_cast<size_t>(j)]; };
    while (best.a > a_low && best.b > b_low && same(best.a - 1, best.b - 1)) best = {best.a - 1, best.b - 1, best.size + 1};
    while (best.a + best.size < a_high && best.b + best.size < b_high && same(best.a + best.size, best.b + best.size)) ++best.size;
    return best;
  }

  // All runs in order, adjacent ones joined, and an empty one at the end.
  std::vector<Block> Blocks() {
    struct Range {
      int a_low, a_high, b_low, b_high;
    };
    std::vector<Block> found;
    std::vector<Range> open = {{0, static_cast<int>(a_.size()), 0, static_cast<int>(b_.size())}};
    while (!open.empty()) {
      Range range = open.back();
      open.pop_back();
      Block block = Longest(range.a_low, range.a_high, range.b_low, range.b_high);
      if (block.size == 0) continue;
      found.push_back(block);
      if (range.a_low < block.a && range.b_low < block.b) open.push_back({range.a_low, block.a, range.b_low, block.b});
      int a_end = block.a + block.size, b_end = block.b + block.size;
      if (a_end < range.a_high && b_end < range.b_high) open.push_back({a_end, range.a_high, b_end, range.b_high});
    }
    std::ranges::sort(found);
    std::vector<Block> joined;
    for (const Block& block : found) {
      if (!joined.empty() && joined.back().a + joined.back().size == block.a && joined.back().b + joined.back().size == block.b) {
        joined.back().size += block.size;
      } else {
        joined.push_back(block);
      }
    }
    joined.push_back({static_cast<int>(a_.size()), static_cast<int>(b_.size()), 0});
    return joined;
  }

  const Lines& a_;
  const Lines& b_;
  std::unordered_map<std::string_view, std::vector<int>> places_;
};

// Changes that are near each other, with the equal lines between and around them.
std::vector<std::vector<Change>> Group(std::vector<Change> changes) {
  if (changes.empty()) return {};
  if (Change& first = changes.front(); first.kind == Change::kEqual) {
    first.a_begin = std::max(first.a_begin, first.a_end - kContext);
    first.b_begin = std::max(first.b_begin, first.b_end - kContext);
  }
  if (Change& last = changes.back(); last.kind == Change::kEqual) {
    last.a_end = std::min(last.a_end, last.a_begin + kContext);
    last.b_end = std::min(last.b_end, last.b_begin + kContext);
  }
  std::vector<std::vector<Change>> groups;
  std::vector<Change> group;
  for (Change change : changes) {
    if (change.kind == Change::kEqual && change.a_end - change.a_begin > 2 * kContext) {
      group.push_back({Change::kEqual, change.a_begin, std::min(change.a_end, change.a_begin + kContext), change.b_begin,
                       std::min(change.b_end, change.b_begin + kContext)});
      groups.push_back(std::move(group));
      group.clear();
      change.a_begin = std::max(change.a_begin, change.a_end - kContext);
      change.b_begin = std::max(change.b_begin, change.b_end - kContext);
    }
    group.push_back(change);
  }
  if (!group.empty() && !(group.size() == 1 && group[0].kind == Change::kEqual)) groups.push_back(std::move(group));
  return groups;
}

std::string Range(int begin, int end) {
  int length = end - begin;
  if (length == 1) return std::to_string(begin + 1);
  return std::to_string(length == 0 ? begin : begin + 1) + "," + std::to_string(length);
}

void AppendLines(std::string& out, char mark, const Lines& lines, int begin, int end) {
  for (int i = begin; i < end; ++i) {
    out += mark;
    out += lines[static_cast<size_t>(i)];
    out += '\n';
  }
}

}  // namespace

std::string UnifiedDiff(std::string_view a_text, std::string_view b_text) {
  Lines a = Split(a_text), b = Split(b_text);
  std::string out;
  for (const std::vector<Change>& group : Group(Matcher(a, b).Changes())) {
    out += "@@ -" + Range(group.front().a_begin, group.back().a_end) + " +" + Range(group.front().b_begin, group.back().b_end) + " @@\n";
    for (const Change& change : group) {
      if (change.kind == Change::kEqual) {
        AppendLines(out, ' ', a, change.a_begin, change.a_end);
        continue;
      }
      if (change.kind != Change::kInsert) AppendLines(out, '-', a, change.a_begin, change.a_end);
      if (change.kind != Change::kDelete) AppendLines(out, '+', b, change.b_begin, change.b_end);
    }
  }
  return out;
}

}  // namespace homeostat::kinds
