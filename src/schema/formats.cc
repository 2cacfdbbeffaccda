// Formats of strings, as kube-openapi's strfmt checks them; numbers have formats too, but those are ranges (conditions.cc).
#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "homeostat/base/text.h"
#include "homeostat/object/ip.h"
#include "homeostat/object/json.h"
#include "homeostat/object/time.h"
#include "homeostat/schema/conditions.h"

namespace homeostat::schema {

namespace {

// Names are the same with and without dashes.
std::string Normalized(std::string_view format) {
  std::string name(format);
  std::erase(name, '-');
  return name;
}

// The whole text. Patterns are literals, or live as long: each is compiled once.
bool IsMatch(const char* pattern, std::string_view text) {
  static std::mutex mutex;
  static std::map<const char*, std::unique_ptr<const re2::RE2>> compiled;
  const re2::RE2* expression = nullptr;
  {
    std::lock_guard lock(mutex);
    auto& slot = compiled[pattern];
    if (slot == nullptr) slot = std::make_unique<const re2::RE2>(pattern, re2::RE2::Quiet);
    expression = slot.get();
  }
  return re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), *expression);
}

bool IsDate(std::string_view text) {
  if (!IsMatch(R"([0-9]{4}-[0-9]{2}-[0-9]{2})", text)) return false;
  return object::ParseTime(std::string(text) + "T00:00:00Z").has_value();
}

bool IsDateTime(std::string_view text) {
  std::string lower = LowerCase(text);
  size_t mark = lower.find('t');
  if (lower.size() < 4 || mark == lower.npos || !IsDate(std::string_view(lower).substr(0, mark))) return false;
  std::string_view clock = std::string_view(lower).substr(mark + 1);
  clock = clock.substr(0, clock.find('t'));
  if (!IsMatch(R"(([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2})))", clock)) return false;
  return clock.substr(0, 2) <= "23" && clock.substr(3, 2) <= "59" && clock.substr(6, 2) <= "59";
}

// Go's, or Scala's: a number and a unit in words.
bool IsDuration(std::string_view text) {
  if (object::ParseDuration(text)) return true;
  return IsMatch(R"((?is).*\d+\s*(ns|nano|us|µs|micro|ms|milli|s|sec|m|min|h|hr|hour|d|day|w|wk|week)([^a-z].*)?|(?is).*\d+\s*(nano|micro|milli|sec|min|hour|day|week).*)", text);
}

bool IsHostname(std::string_view text) {
  static constexpr char kPattern[] =
      R"(([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63}))";
  if (text.size() > 255 || !IsMatch(kPattern, text)) return false;
  for (size_t start = 0; start <= text.size();) {
    size_t end = std::min(text.find('.', start), text.size());
    if (end - start > 63) return false;
    start = end + 1;
  }
  return true;
}

// RFC 5322's addr-spec, alone or in angle brackets after a name.
bool IsEmail(std::string_view text) {
  constexpr char kAddress[] =
      R"([^\s<>()\[\]\\.,;:@"]+(\.[^\s<>()\[\]\\.,;:@"]+)*@([^\s<>()\[\]\\.,;:@"]+(\.[^\s<>()\[\]\\.,;:@"]+)*|\[[^\[\]\\]*\])|"([^"\\]|\\.)*"@[^\s<>()\[\]\\.,;:@"]+(\.[^\s<>()\[\]\\.,;:@"]+)*)";
  static const std::string kNamed = std::string(R"(\s*(("([^"\\]|\\.)*"|[^<>@,;:\\"\[\]()]*)\s*<()") + kAddress + R"()>|()" + kAddress + R"())(\s*\((\\.|[^()\\])*\))*\s*)";
  return IsMatch(kNamed.c_str(), text);
}

bool IsHex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }
bool IsAlphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Percent signs have two digits after them. in_host: then only octets that are not ASCII may be written so, and the sign itself,
// and of ASCII only what hosts may have.
bool IsEscaped(std::string_view text, bool in_host) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      bool ascii = static_cast<unsigned char>(text[i]) < 0x80;
      if (in_host && ascii && !IsAlphanumeric(text[i]) && std::string_view("-_.~!$&'()*+,;=:[]<>\"").find(text[i]) == std::string_view::npos) return false;
      continue;
    }
    if (i + 2 >= text.size() || !IsHex(text[i + 1]) || !IsHex(text[i + 2])) return false;
    if (in_host && text[i + 1] < '8' && text.substr(i, 3) != "%25") return false;
    i += 2;
  }
  return true;
}

bool IsPort(std::string_view text) { return IsMatch("(:[0-9]*)?", text); }

// scheme: in lower case. Schemes of the web have one colon in their authority at most, others a list of hosts.
bool IsHostAndPort(std::string_view scheme, std::string_view host) {
  size_t open = host.rfind('['), close = host.rfind(']'), colon = host.find(':');
  if (open == 0) {
    if (close == host.npos || !IsPort(host.substr(close + 1))) return false;
    std::string_view address = host.substr(1, close - 1);
    size_t zone = address.find("%25");
    if (zone != address.npos && zone + 3 == address.size()) return false;
    auto parsed = object::ParseIp(address.substr(0, zone));
    return parsed.has_value() && address.find(':') != address.npos;
  }
  if (open != host.npos) return false;
  if (scheme != "http" && scheme != "https") colon = host.rfind(':');
  return (colon == host.npos || IsPort(host.substr(colon))) && IsEscaped(host, true);
}

// An absolute URI or an absolute path, as Go's url.ParseRequestURI reads it.
bool IsRequestUri(std::string_view text) {
  if (text.empty() || std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; })) return false;
  if (text == "*") return true;
  std::string scheme;
  size_t colon = text.find(':');
  if (colon == 0) return false;
  if (colon != text.npos && IsMatch("[a-zA-Z][a-zA-Z0-9+.-]*", text.substr(0, colon))) {
    scheme = LowerCase(text.substr(0, colon));
    text.remove_prefix(colon + 1);
  }
  text = text.substr(0, text.find('?'));
  if (!text.starts_with('/')) return !scheme.empty();
  if (!scheme.empty() && text.starts_with("//")) {
    std::string_view authority = text.substr(2, text.find('/', 2) - 2);
    text.remove_prefix(2 + authority.size());
    if (size_t at = authority.rfind('@'); at != authority.npos) {
      std::string_view user = authority.substr(0, at);
      if (!IsMatch(R"([A-Za-z0-9\-._:~!$&'()*+,;=%@]*)", user) || !IsEscaped(user, false)) return false;
      authority.remove_prefix(at + 1);
    }
    if (!IsHostAndPort(scheme, authority)) return false;
  }
  return IsEscaped(text, false);
}

std::string DigitsOf(std::string_view text) {
  std::string digits(text);
  std::erase_if(digits, [](char c) { return c == ' ' || c == '-'; });
  return digits;
}

bool IsIsbn10(std::string_view text) {
  std::string digits = DigitsOf(text);
  if (!IsMatch("[0-9]{9}X|[0-9]{10}", digits)) return false;
  int sum = 0;
  for (int i = 0; i < 10; ++i) sum += (i + 1) * (digits[static_cast<size_t>(i)] == 'X' ? 10 : digits[static_cast<size_t>(i)] - '0');
  return sum % 11 == 0;
}

bool IsIsbn13(std::string_view text) {
  std::string digits = DigitsOf(text);
  if (!IsMatch("[0-9]{13}", digits)) return false;
  int sum = 0;
  for (size_t i = 0; i < 12; ++i) sum += (i % 2 == 0 ? 1 : 3) * (digits[i] - '0');
  return (10 - sum % 10) % 10 == digits[12] - '0';
}

bool IsCreditCard(std::string_view text) {
  std::string digits;
  for (char c : text) if (c >= '0' && c <= '9') digits += c;
  static constexpr char kPattern[] =
      R"(4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})";
  if (!IsMatch(kPattern, digits)) return false;
  int sum = 0;
  bool twice = false;
  for (size_t i = digits.size(); i-- > 0; twice = !twice) {
    int digit = digits[i] - '0';
    sum += twice ? (digit * 2 >= 10 ? digit * 2 - 9 : digit * 2) : digit;
  }
  return sum % 10 == 0;
}

bool IsRgbColor(std::string_view text) {
  return IsMatch(R"(rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\))",
                 text);
}

bool IsBase64(std::string_view text) {
  return IsMatch(R"((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4}))", text);
}

// Addresses as old Go parsed them: numbers may begin with zeros.
std::string WithoutLeadingZeros(std::string_view text) {
  std::string result;
  bool start = true;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '/') return result + std::string(text.substr(i));
    bool digit_follows = i + 1 < text.size() && std::isdigit(static_cast<unsigned char>(text[i + 1]));
    if (start && text[i] == '0' && digit_follows) continue;
    start = text[i] == '.';
    result += text[i];
  }
  return result;
}
bool IsIpv4(std::string_view text) {
  return text.find('.') != text.npos && object::ParseIp(text.find(':') == text.npos ? WithoutLeadingZeros(text) : std::string(text)).has_value();
}
bool IsIpv6(std::string_view text) { return text.find(':') != text.npos && object::ParseIp(text).has_value(); }
bool IsCidr(std::string_view text) {
  return object::ParseCidr(text.find(':') == text.npos ? WithoutLeadingZeros(text) : std::string(text)).has_value();
}

bool IsMac(std::string_view text) {
  return IsMatch(R"((?:[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}(?:(?::[0-9a-fA-F]{2}){2}|(?::[0-9a-fA-F]{2}){14})?|[0-9a-fA-F]{2}(?:-[0-9a-fA-F]{2}){5}(?:(?:-[0-9a-fA-F]{2}){2}|(?:-[0-9a-fA-F]{2}){14})?|[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4}){2}(?:\.[0-9a-fA-F]{4}|(?:\.[0-9a-fA-F]{4}){7})?|(?:[0-9a-fA-F]{12}(?:[0-9a-fA-F]{4}|[0-9a-fA-F]{28})?)))",
                 text);
}

struct Format {
  std::string_view name;
  bool (*fits)(std::string_view text);
};
constexpr Format kFormats[] = {
    {"bsonobjectid", [](std::string_view t) { return IsMatch("[0-9a-fA-F]{24}", t); }},
    {"uri", IsRequestUri},
    {"email", IsEmail},
    {"hostname", IsHostname},
    {"ipv4", IsIpv4},
    {"ipv6", IsIpv6},
    {"cidr", IsCidr},
    {"mac", IsMac},
    {"uuid", [](std::string_view t) { return IsMatch("(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", t); }},
    {"uuid3", [](std::string_view t) { return IsMatch("(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}", t); }},
    {"uuid4", [](std::string_view t) { return IsMatch("(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}", t); }},
    {"uuid5", [](std::string_view t) { return IsMatch("(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}", t); }},
    {"isbn", [](std::string_view t) { return IsIsbn10(t) || IsIsbn13(t); }},
    {"isbn10", IsIsbn10},
    {"isbn13", IsIsbn13},
    {"creditcard", IsCreditCard},
    {"ssn", [](std::string_view t) { return t.size() == 11 && IsMatch(R"(\d{3}[- ]?\d{2}[- ]?\d{4})", t); }},
    {"hexcolor", [](std::string_view t) { return IsMatch("#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})", t); }},
    {"rgbcolor", IsRgbColor},
    {"byte", IsBase64},
    {"password", [](std::string_view) { return true; }},
    {"date", IsDate},
    {"duration", IsDuration},
    {"datetime", IsDateTime},
    {"k8sshortname", [](std::string_view t) { return t.size() <= 63 && IsMatch("[a-z0-9]([-a-z0-9]*[a-z0-9])?", t); }},
    {"k8slongname", [](std::string_view t) { return t.size() <= 253 && IsMatch(R"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)", t); }},
};

const Format* FindFormat(std::string_view format) {
  std::string name = Normalized(format);
  auto found = std::find_if(std::begin(kFormats), std::end(kFormats), [&](const Format& f) { return f.name == name; });
  return found == std::end(kFormats) ? nullptr : found;
}

}  // namespace

bool IsKnownFormat(std::string_view type, std::string_view format) {
  if (format.empty()) return false;
  if (type.empty() || type == "string") return FindFormat(format) != nullptr;
  if (type == "integer") return format == "int32" || format == "int64";
  if (type == "number") return format == "float" || format == "double";
  return false;
}

bool FitsFormat(std::string_view format, std::string_view text) {
  const Format* known = FindFormat(format);
  return known == nullptr || known->fits(text);
}

}  // namespace homeostat::schema
