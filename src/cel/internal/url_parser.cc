#include <algorithm>

#include "cel/internal/ip_address.h"
#include "cel/url.h"
#include "homeostat/base/text.h"

namespace homeostat::cel {

namespace {

using Unread = std::unexpected<std::string>;
template <class T>
using Read = std::expected<T, std::string>;

enum class Mode : uint8_t { kPath, kHost, kZone, kQuery, kUser, kFragment };

bool IsUnreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
}

bool MustEscape(char c, Mode mode) {
  if (IsUnreserved(c)) return false;
  if (mode == Mode::kHost || mode == Mode::kZone) {
    return std::string_view("!$&'()*+,;=:[]<>\"").find(c) == std::string_view::npos;
  }
  if (mode == Mode::kPath) return std::string_view("$&+,/:;=@").find(c) == std::string_view::npos;
  if (mode == Mode::kFragment) return std::string_view("$&+,/:;=?@!()*").find(c) == std::string_view::npos;
  if (mode == Mode::kUser) return std::string_view("$&+,;=").find(c) == std::string_view::npos;
  return true;
}

int Hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') return (c | 0x20) - 'a' + 10;
  return -1;
}

Read<std::string> Unescape(std::string_view text, Mode mode) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size() || Hex(text[i + 1]) < 0 || Hex(text[i + 2]) < 0) {
        return Unread("invalid URL escape " + GoQuote(text.substr(i, 3)));
      }
      char value = static_cast<char>(Hex(text[i + 1]) << 4 | Hex(text[i + 2]));
      bool percent = text.substr(i, 3) == "%25";
      if (mode == Mode::kHost && Hex(text[i + 1]) < 8 && !percent) return Unread("invalid URL escape " + GoQuote(text.substr(i, 3)));
      if (mode == Mode::kZone && !percent && value != ' ' && MustEscape(value, Mode::kHost)) {
        return Unread("invalid URL escape " + GoQuote(text.substr(i, 3)));
      }
      out += value;
      i += 2;
    } else if (c == '+' && mode == Mode::kQuery) {
      out += ' ';
    } else {
      bool host = mode == Mode::kHost || mode == Mode::kZone;
      if (host && static_cast<uint8_t>(c) < 0x80 && MustEscape(c, mode)) {
        return Unread("invalid character " + GoQuote(std::string_view(&c, 1)) + " in host name");
      }
      out += c;
    }
  }
  return out;
}

std::string Escape(std::string_view text, Mode mode) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (char c : text) {
    if (!MustEscape(c, mode)) {
      out += c;
    } else {
      out += {'%', kDigits[static_cast<uint8_t>(c) >> 4], kDigits[c & 15]};
    }
  }
  return out;
}

bool IsOptionalPort(std::string_view port) {
  if (port.empty()) return true;
  return port[0] == ':' && port.substr(1).find_first_not_of("0123456789") == std::string_view::npos;
}

Read<std::string> ParseBracketedHost(std::string_view host) {
  size_t close = host.rfind(']');
  if (close == std::string_view::npos) return Unread("missing ']' in host");
  std::string_view port = host.substr(close + 1);
  if (!IsOptionalPort(port)) return Unread("invalid port " + GoQuote(port) + " after host");
  std::string_view name = host.substr(1, close - 1);
  size_t zone = name.find("%25");
  auto front = Unescape(name.substr(0, zone), Mode::kHost);
  if (!front) return front;
  std::string unescaped = *front;
  if (zone != std::string_view::npos) {
    auto back = Unescape(name.substr(zone), Mode::kZone);
    if (!back) return back;
    unescaped += *back;
  }
  auto address = internal::ParseNetAddress(unescaped);
  if (!address) return Unread("invalid host: " + address.error());
  if (address->v4) return Unread("invalid IP-literal");
  return "[" + unescaped + "]" + std::string(port);
}

Read<std::string> ParseHost(std::string_view scheme, std::string_view host) {
  size_t open = host.rfind('[');
  if (open != std::string_view::npos && open > 0) return Unread("invalid IP-literal");
  if (open == 0) return ParseBracketedHost(host);
  if (size_t colon = host.find(':'); colon != std::string_view::npos) {
    if (scheme != "http" && scheme != "https") colon = host.rfind(':');
    if (!IsOptionalPort(host.substr(colon))) return Unread("invalid port " + GoQuote(host.substr(colon)) + " after host");
  }
  return Unescape(host, Mode::kHost);
}

bool IsUserInfo(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return IsUnreserved(c) || std::string_view(":!$&'()*+,;=%@").find(c) != std::string_view::npos;
  });
}

// What userinfo is written as again: names and passwords with escapes only where they are needed.
Read<std::string> ReadUserInfo(std::string_view text) {
  if (!IsUserInfo(text)) return Unread("net/url: invalid userinfo");
  size_t colon = text.find(':');
  auto user = Unescape(text.substr(0, colon), Mode::kUser);
  if (!user) return user;
  std::string out = Escape(*user, Mode::kUser);
  if (colon == std::string_view::npos) return out;
  auto password = Unescape(text.substr(colon + 1), Mode::kUser);
  if (!password) return password;
  return out + ":" + Escape(*password, Mode::kUser);
}

// The scheme in front of the colon; rest is what follows. No scheme: "".
Read<std::string> TakeScheme(std::string_view& rest) {
  for (size_t i = 0; i < rest.size(); ++i) {
    char c = rest[i];
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') continue;
    if ((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.') {
      if (i == 0) return std::string();
      continue;
    }
    if (c != ':') return std::string();
    if (i == 0) return Unread("missing protocol scheme");
    std::string scheme = LowerCase(rest.substr(0, i));
    rest.remove_prefix(i + 1);
    return scheme;
  }
  return std::string();
}

Read<Url> ParseUrl(std::string_view rest, bool via_request) {
  Url url;
  for (char c : rest) {
    if (static_cast<uint8_t>(c) < ' ' || c == 0x7F) return Unread("net/url: invalid control character in URL");
  }
  if (rest.empty() && via_request) return Unread("empty url");
  if (rest == "*") {
    url.path = "*";
    return url;
  }
  auto scheme = TakeScheme(rest);
  if (!scheme) return Unread(scheme.error());
  url.scheme = *scheme;
  if (rest.ends_with('?') && std::count(rest.begin(), rest.end(), '?') == 1) {
    url.force_query = true;
    rest.remove_suffix(1);
  } else if (size_t question = rest.find('?'); question != std::string_view::npos) {
    url.raw_query = std::string(rest.substr(question + 1));
    rest = rest.substr(0, question);
  }
  if (!rest.starts_with('/')) {
    if (!url.scheme.empty()) {
      url.opaque = std::string(rest);
      return url;
    }
    if (via_request) return Unread("invalid URI for request");
    if (rest.substr(0, rest.find('/')).find(':') != std::string_view::npos) {
      return Unread("first path segment in URL cannot contain colon");
    }
  }
  if ((!url.scheme.empty() || (!via_request && !rest.starts_with("///"))) && rest.starts_with("//")) {
    std::string_view authority = rest.substr(2, rest.find('/', 2) - 2);
    rest.remove_prefix(2 + authority.size());
    size_t at = authority.rfind('@');
    auto host = ParseHost(url.scheme, at == std::string_view::npos ? authority : authority.substr(at + 1));
    if (!host) return Unread(host.error());
    url.host = *host;
    if (at != std::string_view::npos) {
      auto user = ReadUserInfo(authority.substr(0, at));
      if (!user) return Unread(user.error());
      url.has_user = true;
      url.user_info = *user;
    }
  } else if (!url.scheme.empty() && rest.starts_with('/')) {
    url.omit_host = true;
  }
  auto path = Unescape(rest, Mode::kPath);
  if (!path) return Unread(path.error());
  url.path = *path;
  if (Escape(*path, Mode::kPath) != rest) url.raw_path = std::string(rest);
  return url;
}

bool IsValidEncoded(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::string_view("!$&'()*+,;=:@[]%").find(c) != std::string_view::npos || !MustEscape(c, Mode::kPath);
  });
}

}  // namespace

std::string Url::Hostname() const {
  std::string_view name = host;
  size_t colon = name.rfind(':');
  if (colon != std::string_view::npos && IsOptionalPort(name.substr(colon))) name = name.substr(0, colon);
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  return std::string(name);
}

std::string Url::Port() const {
  size_t colon = host.rfind(':');
  return colon != std::string::npos && IsOptionalPort(host.substr(colon)) ? host.substr(colon + 1) : std::string();
}

std::string Url::EscapedPath() const {
  if (!raw_path.empty() && IsValidEncoded(raw_path)) {
    auto unescaped = Unescape(raw_path, Mode::kPath);
    if (unescaped && *unescaped == path) return raw_path;
  }
  return path == "*" ? path : Escape(path, Mode::kPath);
}

std::string Url::ToString() const {
  std::string out;
  if (!scheme.empty()) out = scheme + ":";
  if (!opaque.empty()) {
    out += opaque;
  } else {
    bool authority = !scheme.empty() || !host.empty() || has_user;
    if (authority && !(omit_host && host.empty() && !has_user)) {
      if (!host.empty() || !path.empty() || has_user) out += "//";
      if (has_user) out += user_info + "@";
      out += Escape(host, Mode::kHost);
    }
    std::string escaped = EscapedPath();
    if (!escaped.empty() && escaped[0] != '/' && !host.empty()) out += '/';
    if (out.empty() && escaped.substr(0, escaped.find('/')).find(':') != std::string::npos) out += "./";
    out += escaped;
  }
  if (force_query || !raw_query.empty()) out += "?" + raw_query;
  if (!fragment.empty()) out += "#" + Escape(fragment, Mode::kFragment);
  return out;
}

std::vector<std::pair<std::string, std::vector<std::string>>> Url::Query() const {
  std::vector<std::pair<std::string, std::vector<std::string>>> result;
  std::string_view rest = raw_query;
  while (!rest.empty()) {
    std::string_view part = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    if (part.empty() || part.find(';') != std::string_view::npos) continue;
    size_t equals = part.find('=');
    auto key = Unescape(part.substr(0, equals), Mode::kQuery);
    auto value = Unescape(equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1), Mode::kQuery);
    if (!key || !value) continue;
    auto found = std::find_if(result.begin(), result.end(), [&](const auto& entry) { return entry.first == *key; });
    if (found == result.end()) found = result.insert(result.end(), {*key, {}});
    found->second.push_back(*value);
  }
  return result;
}

std::expected<Url, std::string> ReadUrl(std::string_view text) {
  size_t hash = text.find('#');
  auto url = ParseUrl(text.substr(0, hash), false);
  if (!url) return Unread("parse " + GoQuote(text.substr(0, hash)) + ": " + url.error());
  if (hash != std::string_view::npos) {
    auto fragment = Unescape(text.substr(hash + 1), Mode::kFragment);
    if (!fragment) return Unread("parse " + GoQuote(text) + ": " + fragment.error());
    url->fragment = *fragment;
  }
  return url;
}

std::expected<Url, std::string> ParseRequestUrl(std::string_view text) {
  if (auto request = ParseUrl(text, true); !request) return Unread("parse " + GoQuote(text) + ": " + request.error());
  return ReadUrl(text);
}

}  // namespace homeostat::cel
