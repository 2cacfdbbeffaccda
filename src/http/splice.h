// Splice: two streams joined, so that what comes out of one goes into the other.
#pragma once

#include <memory>

#include "homeostat/base/net.h"
#include "homeostat/base/runtime.h"
#include "homeostat/base/task.h"

namespace homeostat::http {

// Until either side ends or breaks: what runs over it are sessions with streams of their own, which have no use for half of it.
// Both are closed then. The runtime must outlive the task.
Task<void> Splice(Runtime& runtime, std::unique_ptr<Stream> a, std::unique_ptr<Stream> b);
// The same for streams that others own, and close.
Task<void> SpliceBorrowed(Runtime& runtime, Stream* a, Stream* b);

}  // namespace homeostat::http
