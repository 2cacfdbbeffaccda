// Field tracking: managedFields of each write, through the patch layer. Objects are trees of the request's version.
#pragma once

#include "server/context.h"

namespace homeostat::server {

// The object with managedFields that tell what this update of it (live: absent on create) by `manager` changed. Tracking
// never makes a write fail: if the recorded fields can't be read, they begin anew. reset: the client sent an empty list of
// managed fields, by which it asks to drop all that was recorded.
object::Value TrackUpdate(RequestContext& context, const object::Value& live, const object::Value& object,
                          std::string_view manager, std::string_view subresource, bool reset = false);

// The same for kinds whose versions a webhook may convert, since managers may have written in others.
Task<object::Value> TrackUpdateOf(RequestContext& context, object::Value live, object::Value object, std::string manager,
                                  std::string subresource, bool reset = false);

// Server-side apply: the live object (absent: none yet) with the applied configuration merged in, and its managedFields.
// A Conflict names who owns what.
Task<Result<object::Value>> ApplyConfiguration(RequestContext& context, object::Value live, object::Value applied, std::string manager,
                                               std::string subresource, bool force);

}  // namespace homeostat::server
