#include "server/subresources/proxy_rewrite.h"

#include "server/forwarding.h"

namespace homeostat::server {
namespace {

// scheme://authority/path?query#fragment, in parts as they are written.
struct Link {
  std::string_view scheme, authority, path, rest;
  bool has_authority = false;
};

Link Split(std::string_view text) {
  Link link;
  size_t end = text.find_first_of("?#");
  link.rest = end == text.npos ? std::string_view() : text.substr(end);
  text = text.substr(0, end);
  size_t colon = text.find(':');
  if (colon != text.npos && colon > 0 && text.substr(0, colon).find('/') == text.npos) {
    link.scheme = text.substr(0, colon);
    text.remove_prefix(colon + 1);
  }
  if (text.starts_with("//")) {
    text.remove_prefix(2);
    link.has_authority = true;
    size_t slash = text.find('/');
    link.authority = text.substr(0, slash);
    text = slash == text.npos ? std::string_view() : text.substr(slash);
  }
  link.path = text;
  return link;
}

// With what goes without saying left out: a.b:80 of http.
std::string_view Bare(std::string_view authority, bool tls) {
  std::string_view usual = tls ? ":443" : ":80";
  if (authority.ends_with(usual)) authority.remove_suffix(usual.size());
  return authority;
}

// /a/b of /a/ and /b; without . and .. that would leave the prefix.
std::string Join(std::string_view prefix, std::string_view path) {
  std::string joined(prefix);
  while (joined.ends_with('/')) joined.pop_back();
  size_t root = 0;
  bool slash_at_end = path.ends_with('/');
  std::string clean = joined;
  while (!path.empty()) {
    size_t slash = path.find('/');
    std::string_view part = path.substr(0, slash);
    path = slash == path.npos ? std::string_view() : path.substr(slash + 1);
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      size_t last = clean.rfind('/');
      clean.resize(last == std::string::npos ? root : last);
      continue;
    }
    clean += "/" + std::string(part);
  }
  if (slash_at_end && !clean.ends_with('/')) clean += "/";
  return clean;
}

}  // namespace

std::string RewriteLink(const ProxyPlace& place, std::string_view text) {
  Link link = Split(text);
  bool to_server = link.has_authority && link.authority == place.host;
  bool elsewhere = link.has_authority && !link.authority.empty() && !to_server &&
                   Bare(link.authority, place.tls) != Bare(place.authority, place.tls);
  if (elsewhere || !link.path.starts_with('/')) return std::string(text);
  // What is on this server already keeps its name.
  std::string start = to_server ? std::string(link.scheme) + (link.scheme.empty() ? "//" : "://") + std::string(link.authority) : "";
  std::string path = link.path.starts_with(place.prefix) ? std::string(link.path) : Join(place.prefix, link.path);
  return start + path + std::string(link.rest);
}

void RewriteResponseHeaders(const ProxyPlace& place, http::Response& response) {
  RemoveConnectionFields(response);
  std::string location(response.headers.Get("Location"));
  if (!location.empty()) response.headers.Set("Location", RewriteLink(place, location));
}

}  // namespace homeostat::server
