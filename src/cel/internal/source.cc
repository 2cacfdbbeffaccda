#include "cel/internal/source.h"

#include <algorithm>

namespace homeostat::cel::internal {

namespace {

constexpr size_t kMaxSnippet = 16384;

}  // namespace

void AppendUtf8(std::string& out, char32_t c) {
  if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) c = 0xFFFD;
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | c >> 6);
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | c >> 18);
    out += static_cast<char>(0x80 | (c >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

char32_t NextCodePoint(std::string_view text, size_t& at) {
  auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  uint8_t first = byte(at++);
  if (first < 0x80) return first;
  int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
  static constexpr char32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
  if (first < 0xC2 || first > 0xF4 || at + more > text.size()) return 0xFFFD;
  char32_t c = first & (0x3F >> more);
  for (int i = 0; i < more; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0xFFFD;
    c = c << 6 | (byte(at + i) & 0x3F);
  }
  if (c < kLeast[more] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) return 0xFFFD;
  at += more;
  return c;
}

size_t CountCodePoints(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); ++count) NextCodePoint(text, at);
  return count;
}

Source::Source(std::string_view text) {
  text_.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    text_ += NextCodePoint(text, at);
    if (text_.back() == '\n') line_starts_.push_back(static_cast<int32_t>(text_.size()));
  }
}

std::string Source::Slice(size_t begin, size_t end) const {
  std::string out;
  for (size_t i = begin; i < std::min(end, text_.size()); ++i) AppendUtf8(out, text_[i]);
  return out;
}

Source::Location Source::Locate(int32_t offset) const {
  if (offset < 0) return {};
  if (text_.empty()) return {1, -1};
  auto line = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  int32_t start = line == line_starts_.begin() ? 0 : line[-1];
  return {static_cast<int32_t>(line - line_starts_.begin()) + 1, offset - start};
}

std::string Source::Display(int32_t offset, std::string_view message) const {
  Location where = Locate(offset);
  std::string out = "ERROR: <input>:" + std::to_string(where.line) + ":" + std::to_string(where.column + 1) + ": ";
  out += message;
  if (where.line < 1 || text_.empty()) return out;
  size_t begin = where.line == 1 ? 0 : static_cast<size_t>(line_starts_[where.line - 2]);
  size_t end = static_cast<size_t>(where.line) <= line_starts_.size() ? line_starts_[where.line - 1] - 1 : text_.size();
  std::string line = Slice(begin, end);
  if (line.size() > kMaxSnippet) return out;
  std::replace(line.begin(), line.end(), '\t', ' ');
  out += "\n | " + line + "\n | ";
  auto wide = [&](size_t i) { return i < end && text_[i] >= 0x80; };
  size_t at = begin;
  for (int32_t i = 0; i < where.column && at < end; ++i, ++at) out += wide(at) ? "\uff0e" : ".";
  out += wide(at) ? "\uff3e" : "^";
  return out;
}

std::string Issues::Display(const Source& source) const {
  std::vector<Error> sorted = errors_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Error& a, const Error& b) { return a.offset < b.offset; });
  std::string out;
  for (const Error& error : sorted) {
    if (!out.empty()) out += '\n';
    out += source.Display(error.offset, error.message);
  }
  if (count_ > kMaxReported) out += "\n" + std::to_string(count_ - kMaxReported) + " more errors were truncated";
  return out;
}

}  // namespace homeostat::cel::internal
