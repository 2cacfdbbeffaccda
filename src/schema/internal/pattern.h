// Pattern: what a text must match, within bounds of memory.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace homeostat::schema {

// Compiled when it is first needed: of a large definition few patterns ever are, and each takes kilobytes. Thread-safe.
class Pattern {
 public:
  // The text must outlive it.
  explicit Pattern(std::string_view text);
  ~Pattern();

  bool ok() const;
  // Whether it is found anywhere in the text; false if it is no pattern.
  bool Matches(std::string_view text) const;
  // In Go's words, e.g. error parsing regexp: missing closing ]: `[a`; empty if it is one.
  std::string Fault() const;

 private:
  const re2::RE2& expression() const;

  std::string_view text_;
  mutable std::once_flag compiled_;
  mutable std::unique_ptr<const re2::RE2> expression_;
};

}  // namespace homeostat::schema
