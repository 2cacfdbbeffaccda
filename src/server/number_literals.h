// Numbers in messages as clients wrote them: a tree knows 1e-07 as 1e-7, a Go client is told of the text it sent.
#pragma once

#include <string>
#include <string_view>

namespace homeostat::server {

// `message` with "cannot unmarshal number N into" showing N as the JSON text has it; unchanged if that has no such number, or if
// the message speaks of none.
std::string WithNumberAsSent(std::string message, std::string_view json);

}  // namespace homeostat::server
