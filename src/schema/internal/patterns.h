// Patterns: compiled regular expressions by their text.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "homeostat/schema/validate.h"

namespace re2 {
class RE2;
}

namespace homeostat::schema {

class Validator::Patterns {
 public:
  Patterns();
  ~Patterns();

  // Whether the pattern is found in the text. A pattern that is none matches nothing. Thread-safe.
  bool Matches(std::string_view pattern, std::string_view text);

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<const re2::RE2>> compiled_;
};

}  // namespace homeostat::schema
