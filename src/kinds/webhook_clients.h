// How webhooks are reached: the URL, or the path of a service, as configurations and definitions name them.
// Source of the rules: apiserver's pkg/util/webhook.
#pragma once

#include <string_view>

#include "kinds/checks.h"

namespace homeostat::kinds {

// https://host[/path], nothing else.
void CheckWebhookUrl(std::string_view text, const FieldPath& path, FieldErrors& errors);
// Segments that are DNS names.
void CheckWebhookPath(std::string_view text, const FieldPath& path, FieldErrors& errors);

// A client configuration: one of the two.
void CheckWebhookClient(const Value& client, const FieldPath& path, FieldErrors& errors);

}  // namespace homeostat::kinds
