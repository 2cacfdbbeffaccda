// Pattern: RE2 within bounds of memory. What Go's regexp accepts and RE2 does not (and the reverse) is listed in pattern.cc.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace homeostat::schema {

class Pattern {
 public:
  explicit Pattern(std::string_view text);
  ~Pattern();

  bool ok() const;
  // Whether it is found anywhere in the text; false if it is no pattern.
  bool Matches(std::string_view text) const;
  // In Go's words, e.g. error parsing regexp: missing closing ]: `[a`.
  std::string Fault() const;

 private:
  std::unique_ptr<const re2::RE2> expression_;
};

}  // namespace homeostat::schema
