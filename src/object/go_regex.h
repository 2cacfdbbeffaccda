// Patterns of Go's regexp for RE2, which takes nearly the same; faults in Go's words, which clients of Kubernetes see.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace homeostat::object {

// The pattern, compiled; ask it whether it is ok(). max_memory: bytes that it and its automaton may take. Logs nothing.
std::unique_ptr<const re2::RE2> CompileGoRegex(std::string_view pattern, int64_t max_memory);

// Why that pattern did not compile: error parsing regexp: missing closing ]: `[a`.
std::string GoRegexFault(const re2::RE2& compiled, std::string_view pattern);

}  // namespace homeostat::object
