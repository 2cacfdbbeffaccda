// Reads a container's log file for an answer: from its end or its beginning, on to what is still to be written.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "homeostat/base/http.h"
#include "node/container_log.h"

namespace homeostat::node {

// `still_running` is asked when all of the log has been read: while it says yes, a followed log goes on. The file is
// opened without following links, so that a container can't make it lead elsewhere. Rotation is followed: once the
// file at the path is another, what is left of the old one is read, then the new one from its beginning.
// Fails with NotFound if there is no such file.
Task<Result<std::unique_ptr<http::BodyReader>>> OpenLog(Runtime& runtime, std::string path, LogOptions options,
                                                        std::function<bool()> still_running);

// The last bytes of a log's text, at most that many lines and bytes: for termination messages. Blocking; "" if there is none.
std::string LastLogText(const std::string& path, int64_t lines, size_t bytes);

}  // namespace homeostat::node
