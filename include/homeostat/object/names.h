// The forms of names, keys and small values that validation refers to by Kubernetes' own function names.
//
// Each Is… function returns what is wrong, in the words that clients know, one message a fault; nothing if the value is
// good. Some say "characters" and some "bytes" for the same limit: so does Kubernetes 1.36. Source of the rules:
// apimachinery's util/validation and api/validate/content. Safe to call from any thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace homeostat::object {

using Messages = std::vector<std::string>;

inline constexpr size_t kDNS1123LabelMaxLength = 63;
inline constexpr size_t kDNS1035LabelMaxLength = 63;
inline constexpr size_t kDNS1123SubdomainMaxLength = 253;
inline constexpr size_t kLabelValueMaxLength = 63;
inline constexpr size_t kTotalAnnotationSizeLimit = 256 * 1024;

// A name of one label, such as a namespace's: a-z, 0-9 and inner hyphens.
Messages IsDNS1123Label(std::string_view value);
// Labels joined by dots: most objects' names.
Messages IsDNS1123Subdomain(std::string_view value);
Messages IsDNS1123SubdomainCaseless(std::string_view value);
Messages IsDNS1123SubdomainWithUnderscore(std::string_view value);
// As a DNS-1123 label, but not beginning with a digit: Services.
Messages IsDNS1035Label(std::string_view value);
// *.example.com
Messages IsWildcardDNS1123Subdomain(std::string_view value);

// Keys of labels, annotations (in lower case), finalizers, extended resources: [prefix/]name.
Messages IsQualifiedName(std::string_view value);
Messages IsValidLabelValue(std::string_view value);
Messages IsConfigMapKey(std::string_view value);
// Whether it can be one segment of a URL's path; the prefix form is for generateName.
Messages IsValidPathSegmentName(std::string_view name);
Messages IsValidPathSegmentPrefix(std::string_view name);

Messages IsValidPortNum(int64_t port);
Messages IsValidPortName(std::string_view port);
Messages IsInRange(int64_t value, int64_t minimum, int64_t maximum);
Messages IsValidGroupID(int64_t id);
Messages IsValidUserID(int64_t id);
// 30%
Messages IsValidPercent(std::string_view percent);
Messages IsHTTPHeaderName(std::string_view value);
Messages IsEnvVarName(std::string_view value);
Messages IsRelaxedEnvVarName(std::string_view value);
Messages IsCIdentifier(std::string_view value);
Messages IsDecimalInteger(std::string_view value);

// Names of objects: `prefix` says that the value is a generateName, whose end may be a hyphen as more will follow.
Messages NameIsDNSSubdomain(std::string_view name, bool prefix);
Messages NameIsDNSLabel(std::string_view name, bool prefix);
Messages NameIsDNS1035Label(std::string_view name, bool prefix);

// The last part of what IsDomainPrefixedPath checks: characters that a URL's path may hold as they are.
bool IsHTTPPath(std::string_view path);

// Building blocks of messages, for validation that lives with a kind.
std::string MaxLenError(int64_t length);       // must be no more than 63 characters
std::string MaxLenBytesError(int64_t length);  // must be no more than 63 bytes
std::string EmptyError();
std::string InclusiveRangeError(int64_t low, int64_t high);
// message (e.g. 'example', regex used for validation is 'pattern')
std::string RegexError(std::string_view message, std::string_view pattern,
                       std::initializer_list<std::string_view> examples = {});

}  // namespace homeostat::object
