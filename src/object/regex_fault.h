// What is wrong with a pattern, in the words of Go's regexp/syntax: clients of Kubernetes see those.
#pragma once

#include <string>

namespace re2 {
class RE2;
}

namespace homeostat::object {

// "error parsing regexp: missing closing ]: `[a`", of a pattern that did not compile.
std::string GoRegexFault(const re2::RE2& pattern);

}  // namespace homeostat::object
