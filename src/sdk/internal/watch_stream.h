// The events of a watch's response.
#pragma once

#include <memory>

#include "homeostat/base/http.h"
#include "homeostat/sdk/client.h"
#include "sdk/internal/bodies.h"

namespace homeostat::sdk {

// One event out of a frame; `type` is that of its object, unless the event is an error.
Result<WatchEvent> DecodeWatchEvent(const BodyType& type, Bytes frame, bool protobuf);

// Reads a successful response to a watch. A body that ends within a frame is an error, not a clean end.
std::unique_ptr<WatchStream> WatchResponse(BodyType type, http::Response response);

}  // namespace homeostat::sdk
