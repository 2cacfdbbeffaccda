// Links in pages that were passed on: those to the other side are made to lead through the proxy. Pure.
// Source: apimachinery/pkg/util/proxy/transport.go (which elements' attributes are links).
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace homeostat::server {

// The page with each link given to the function. What is no well-formed tag stays as it is; time and memory grow with the text.
std::string RewriteHtmlLinks(std::string_view page, const std::function<std::string(std::string_view link)>& rewrite);

}  // namespace homeostat::server
