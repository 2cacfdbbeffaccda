// The text of an expression, positions in it, and messages about them as clients see them.
//
// Source of the form: cel-go's common.Source and common.Error. Positions count code points.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace homeostat::cel::internal {

// No position: printed as line -1, column 0.
inline constexpr int32_t kNowhere = -1;

// Text as code points, with the starts of its lines. Invalid UTF-8 becomes U+FFFD, octet by octet.
class Source {
 public:
  explicit Source(std::string_view text);

  const std::u32string& text() const { return text_; }
  // UTF-8 of a part.
  std::string Slice(size_t begin, size_t end) const;
  // Line from 1, column from 0.
  struct Location {
    int32_t line = -1;
    int32_t column = -1;
  };
  Location Locate(int32_t offset) const;
  // ERROR: <input>:1:5: message, with the line and a mark below it.
  std::string Display(int32_t offset, std::string_view message) const;

 private:
  std::u32string text_;
  std::vector<int32_t> line_starts_;  // of line 2 and further
};

void AppendUtf8(std::string& out, char32_t code_point);
// Decodes one code point at `at` and moves it on; U+FFFD for what is none.
char32_t NextCodePoint(std::string_view text, size_t& at);
size_t CountCodePoints(std::string_view text);

// What is wrong with an expression. Ordered by position when displayed; 100 at most are kept.
class Issues {
 public:
  static constexpr size_t kMaxReported = 100;

  void Add(int32_t offset, std::string message) {
    if (++count_ <= kMaxReported) errors_.push_back({offset, std::move(message)});
  }
  bool empty() const { return count_ == 0; }
  size_t count() const { return count_; }
  std::string Display(const Source& source) const;

  struct Error {
    int32_t offset;
    std::string message;
  };
  const std::vector<Error>& errors() const { return errors_; }

 private:
  std::vector<Error> errors_;
  size_t count_ = 0;
};

}  // namespace homeostat::cel::internal
