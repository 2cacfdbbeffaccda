// What is sent and answered, as the audit log shows it: one line of JSON, whatever encoding it had.
#pragma once

#include <optional>
#include <string>

#include "homeostat/base/http.h"
#include "homeostat/object/value.h"
#include "homeostat/schema/kind.h"

namespace homeostat::server::audit {

// A typed object with kind and apiVersion.
std::string JsonOfObject(const schema::Type& type, std::string_view api_version, std::string_view kind, const object::Value& object,
                         bool omit_managed_fields);

// The whole body of an answer; nullopt for one that is no object, is read as a stream, or is compressed.
std::optional<std::string> JsonOfAnswer(const http::Response& response, bool omit_managed_fields);

// The Status in an answer, without kind and apiVersion; nullopt for what is none. Looks at no more than the beginning of other objects.
std::optional<std::string> StatusIn(const http::Response& response);

}  // namespace homeostat::server::audit
