#include "homeostat/object/names.h"

#include <algorithm>
#include <functional>

namespace homeostat::object {
namespace {

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return IsLower(c) || IsUpper(c); }
bool IsAlphanumeric(char c) { return IsLetter(c) || IsDigit(c); }
bool IsLowerAlphanumeric(char c) { return IsLower(c) || IsDigit(c); }

template <class Predicate>
bool All(std::string_view text, Predicate predicate) {
  return std::all_of(text.begin(), text.end(), predicate);
}

// [a-z0-9]([-a-z0-9]*[a-z0-9])?
bool MatchesLabel(std::string_view text) {
  return !text.empty() && IsLowerAlphanumeric(text.front()) && IsLowerAlphanumeric(text.back()) &&
         All(text, [](char c) { return IsLowerAlphanumeric(c) || c == '-'; });
}

// _?[a-z0-9]([-_a-z0-9]*[a-z0-9])?
bool MatchesLabelWithUnderscore(std::string_view text) {
  if (text.starts_with('_')) text.remove_prefix(1);
  return !text.empty() && IsLowerAlphanumeric(text.front()) && IsLowerAlphanumeric(text.back()) &&
         All(text, [](char c) { return IsLowerAlphanumeric(c) || c == '-' || c == '_'; });
}

bool MatchesCaselessLabel(std::string_view text) {
  return !text.empty() && IsAlphanumeric(text.front()) && IsAlphanumeric(text.back()) &&
         All(text, [](char c) { return IsAlphanumeric(c) || c == '-'; });
}

// Whether each part between dots matches.
bool MatchesDotted(std::string_view text, bool (*part)(std::string_view)) {
  while (true) {
    size_t dot = text.find('.');
    if (!part(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

// ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]
bool MatchesLabelKey(std::string_view text) {
  return !text.empty() && IsAlphanumeric(text.front()) && IsAlphanumeric(text.back()) &&
         All(text, [](char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

constexpr std::string_view kLabelPattern = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr std::string_view kSubdomainPattern = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
constexpr std::string_view kLabelKeyPattern = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
constexpr std::string_view kLabelKeyMessage =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
constexpr std::string_view kSubdomainMessage =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character";

// The prefix of a qualified name has the subdomain's rules with a limit that is said in bytes.
Messages SubdomainMessages(std::string_view value, std::string (*too_long)(int64_t)) {
  Messages messages;
  if (value.size() > kDNS1123SubdomainMaxLength) messages.push_back(too_long(kDNS1123SubdomainMaxLength));
  if (!MatchesDotted(value, MatchesLabel)) {
    messages.push_back(RegexError(kSubdomainMessage, kSubdomainPattern, {"example.com"}));
  }
  return messages;
}

Messages ParentDirectoryMessages(std::string_view value) {
  if (value == ".") return {"must not be '.'"};
  if (value == "..") return {"must not be '..'"};
  if (value.starts_with("..")) return {"must not start with '..'"};
  return {};
}

// What is left of a generateName when its final hyphen, which more will follow, counts as good.
std::string MaskTrailingDash(std::string_view name) {
  if (name.size() > 1 && name.ends_with('-')) return std::string(name.substr(0, name.size() - 2)) + "a";
  return std::string(name);
}

}  // namespace

std::string MaxLenError(int64_t length) { return "must be no more than " + std::to_string(length) + " characters"; }
std::string MaxLenBytesError(int64_t length) { return "must be no more than " + std::to_string(length) + " bytes"; }
std::string EmptyError() { return "must be non-empty"; }
std::string InclusiveRangeError(int64_t low, int64_t high) {
  return "must be between " + std::to_string(low) + " and " + std::to_string(high) + ", inclusive";
}

std::string RegexError(std::string_view message, std::string_view pattern,
                       std::initializer_list<std::string_view> examples) {
  std::string text(message);
  text += examples.size() == 0 ? " (" : " (e.g. ";
  bool first = true;
  for (std::string_view example : examples) {
    if (!first) text += " or ";
    first = false;
    text.append("'").append(example).append("', ");
  }
  return text.append("regex used for validation is '").append(pattern).append("')");
}

Messages IsDNS1123Label(std::string_view value) {
  Messages messages;
  if (value.size() > kDNS1123LabelMaxLength) messages.push_back(MaxLenError(kDNS1123LabelMaxLength));
  if (MatchesLabel(value)) return messages;
  if (MatchesDotted(value, MatchesLabel)) {
    messages.push_back("must not contain dots");
  } else {
    messages.push_back(RegexError(
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
        "with an alphanumeric character",
        kLabelPattern, {"my-name", "123-abc"}));
  }
  return messages;
}

Messages IsDNS1123Subdomain(std::string_view value) { return SubdomainMessages(value, MaxLenError); }

Messages IsDNS1123SubdomainCaseless(std::string_view value) {
  Messages messages;
  if (value.size() > kDNS1123SubdomainMaxLength) messages.push_back(MaxLenBytesError(kDNS1123SubdomainMaxLength));
  if (!MatchesDotted(value, MatchesCaselessLabel)) {
    messages.push_back(RegexError(
        "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an "
        "alphanumeric character",
        kSubdomainPattern, {"Example.com"}));
  }
  return messages;
}

Messages IsDNS1123SubdomainWithUnderscore(std::string_view value) {
  Messages messages;
  if (value.size() > kDNS1123SubdomainMaxLength) messages.push_back(MaxLenError(kDNS1123SubdomainMaxLength));
  if (!MatchesDotted(value, MatchesLabelWithUnderscore)) {
    messages.push_back(RegexError(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must "
        "start and end with an alphanumeric character",
        "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*", {"example.com"}));
  }
  return messages;
}

Messages IsDNS1035Label(std::string_view value) {
  Messages messages;
  if (value.size() > kDNS1035LabelMaxLength) messages.push_back(MaxLenError(kDNS1035LabelMaxLength));
  if (!MatchesLabel(value) || IsDigit(value.front())) {
    messages.push_back(RegexError(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
        "character, and end with an alphanumeric character",
        "[a-z]([-a-z0-9]*[a-z0-9])?", {"my-name", "abc-123"}));
  }
  return messages;
}

Messages IsWildcardDNS1123Subdomain(std::string_view value) {
  Messages messages;
  if (value.size() > kDNS1123SubdomainMaxLength) messages.push_back(MaxLenError(kDNS1123SubdomainMaxLength));
  if (!value.starts_with("*.") || !MatchesDotted(value.substr(2), MatchesLabel)) {
    messages.push_back(RegexError(
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
        "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
        "\\*\\." + std::string(kSubdomainPattern), {"*.example.com"}));
  }
  return messages;
}

Messages IsQualifiedName(std::string_view value) {
  auto name_fault = [] { return RegexError(kLabelKeyMessage, kLabelKeyPattern, {"MyName", "my.name", "123-abc"}); };
  Messages messages;
  std::string_view name = value;
  size_t slash = value.find('/');
  if (slash != std::string_view::npos) {
    if (value.find('/', slash + 1) != std::string_view::npos) {
      return {"a valid label key " + name_fault() +
              " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"};
    }
    std::string_view prefix = value.substr(0, slash);
    name = value.substr(slash + 1);
    if (prefix.empty()) {
      messages.push_back("prefix part " + EmptyError());
    } else {
      for (const std::string& message : SubdomainMessages(prefix, MaxLenBytesError)) {
        messages.push_back("prefix part " + message);
      }
    }
  }
  if (name.empty()) {
    messages.push_back("name part " + EmptyError());
  } else if (name.size() > kLabelValueMaxLength) {
    messages.push_back("name part " + MaxLenBytesError(kLabelValueMaxLength));
  }
  if (!MatchesLabelKey(name)) messages.push_back("name part " + name_fault());
  return messages;
}

Messages IsValidLabelValue(std::string_view value) {
  Messages messages;
  if (value.size() > kLabelValueMaxLength) messages.push_back(MaxLenBytesError(kLabelValueMaxLength));
  if (!value.empty() && !MatchesLabelKey(value)) {
    messages.push_back(RegexError("a valid label must be an empty string or consist of alphanumeric characters, '-', "
                                  "'_' or '.', and must start and end with an alphanumeric character",
                                  "(" + std::string(kLabelKeyPattern) + ")?", {"MyValue", "my_value", "12345"}));
  }
  return messages;
}

Messages IsConfigMapKey(std::string_view value) {
  Messages messages;
  if (value.size() > kDNS1123SubdomainMaxLength) messages.push_back(MaxLenError(kDNS1123SubdomainMaxLength));
  if (value.empty() || !All(value, [](char c) { return IsAlphanumeric(c) || c == '-' || c == '.' || c == '_'; })) {
    messages.push_back(RegexError("a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
                                  "[-._a-zA-Z0-9]+", {"key.name", "KEY_NAME", "key-name"}));
  }
  for (std::string& message : ParentDirectoryMessages(value)) messages.push_back(std::move(message));
  return messages;
}

Messages IsValidPathSegmentName(std::string_view name) {
  if (name == "." || name == "..") return {"may not be '" + std::string(name) + "'"};
  return IsValidPathSegmentPrefix(name);
}

Messages IsValidPathSegmentPrefix(std::string_view name) {
  Messages messages;
  for (char illegal : {'/', '%'}) {
    if (name.find(illegal) != std::string_view::npos) messages.push_back(std::string("may not contain '") + illegal + "'");
  }
  return messages;
}

Messages IsInRange(int64_t value, int64_t minimum, int64_t maximum) {
  if (value >= minimum && value <= maximum) return {};
  return {InclusiveRangeError(minimum, maximum)};
}

Messages IsValidPortNum(int64_t port) { return IsInRange(port, 1, 65535); }
Messages IsValidGroupID(int64_t id) { return IsInRange(id, 0, 2147483647); }
Messages IsValidUserID(int64_t id) { return IsInRange(id, 0, 2147483647); }

Messages IsValidPortName(std::string_view port) {
  Messages messages;
  if (port.size() > 15) messages.push_back(MaxLenError(15));
  if (port.empty() || !All(port, [](char c) { return IsLowerAlphanumeric(c) || c == '-'; })) {
    messages.push_back("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  }
  if (std::none_of(port.begin(), port.end(), IsLower)) messages.push_back("must contain at least one letter (a-z)");
  if (port.find("--") != std::string_view::npos) messages.push_back("must not contain consecutive hyphens");
  if (port.starts_with('-') || port.ends_with('-')) messages.push_back("must not begin or end with a hyphen");
  return messages;
}

Messages IsValidPercent(std::string_view percent) {
  if (percent.size() > 1 && percent.ends_with('%') && All(percent.substr(0, percent.size() - 1), IsDigit)) return {};
  return {RegexError("a valid percent string must be a numeric string followed by an ending '%'", "[0-9]+%", {"1%", "93%"})};
}

Messages IsHTTPHeaderName(std::string_view value) {
  if (!value.empty() && All(value, [](char c) { return IsAlphanumeric(c) || c == '-'; })) return {};
  return {RegexError("a valid HTTP header must consist of alphanumeric characters or '-'", "[-A-Za-z0-9]+", {"X-Header-Name"})};
}

Messages IsEnvVarName(std::string_view value) {
  Messages messages;
  auto allowed = [](char c) { return IsAlphanumeric(c) || c == '-' || c == '.' || c == '_'; };
  if (value.empty() || IsDigit(value.front()) || !All(value, allowed)) {
    messages.push_back(RegexError("a valid environment variable name must consist of alphabetic characters, digits, "
                                  "'_', '-', or '.', and must not start with a digit",
                                  "[-._a-zA-Z][-._a-zA-Z0-9]*", {"my.env-name", "MY_ENV.NAME", "MyEnvName1"}));
  }
  for (std::string& message : ParentDirectoryMessages(value)) messages.push_back(std::move(message));
  return messages;
}

Messages IsRelaxedEnvVarName(std::string_view value) {
  if (value.empty()) return {"environment variable name " + EmptyError()};
  if (All(value, [](char c) { return c >= 0x20 && c < 0x7F && c != '='; })) return {};
  return {"a valid environment variable name must consist only of printable ASCII characters other than '='"};
}

Messages IsCIdentifier(std::string_view value) {
  auto allowed = [](char c) { return IsAlphanumeric(c) || c == '_'; };
  if (!value.empty() && !IsDigit(value.front()) && All(value, allowed)) return {};
  return {RegexError("a valid C identifier must start with alphabetic character or '_', followed by a string of "
                     "alphanumeric characters or '_'",
                     "[A-Za-z_][A-Za-z0-9_]*", {"my_name", "MY_NAME", "MyName"})};
}

Messages IsDecimalInteger(std::string_view value) {
  if (value.empty()) return {EmptyError()};
  std::string_view digits = value.starts_with('-') ? value.substr(1) : value;
  bool canonical = value == "0" || (!digits.empty() && digits.front() != '0' && All(digits, IsDigit));
  return canonical ? Messages{} : Messages{"must be a valid decimal integer in canonical form"};
}

Messages NameIsDNSSubdomain(std::string_view name, bool prefix) {
  return prefix ? IsDNS1123Subdomain(MaskTrailingDash(name)) : IsDNS1123Subdomain(name);
}
Messages NameIsDNSLabel(std::string_view name, bool prefix) {
  return prefix ? IsDNS1123Label(MaskTrailingDash(name)) : IsDNS1123Label(name);
}
Messages NameIsDNS1035Label(std::string_view name, bool prefix) {
  return prefix ? IsDNS1035Label(MaskTrailingDash(name)) : IsDNS1035Label(name);
}

bool IsHTTPPath(std::string_view path) {
  constexpr std::string_view kOthers = "/-._~%!$&'()*+,;=:";
  return !path.empty() && All(path, [&](char c) { return IsAlphanumeric(c) || kOthers.find(c) != std::string_view::npos; });
}

}  // namespace homeostat::object
