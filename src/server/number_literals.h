// Numbers in messages as clients wrote them: a tree knows 1e-07 as 1e-7, a Go client is told of the text it sent.
#pragma once

#include <string>
#include <string_view>

namespace homeostat::server {

// `message` with "cannot unmarshal number N into" showing N as the JSON text has it; unchanged if that has no such number, or if
// the message speaks of none.
std::string WithNumberAsSent(std::string message, std::string_view json);

// The same for YAML, which upstream makes JSON of before it reads it: integers of 64 bits as they are, other numbers by the fewest
// digits that tell them.
std::string WithNumberFromYaml(std::string message, std::string_view yaml);

}  // namespace homeostat::server
