#include "kinds/core/windows_options.h"

#include <re2/re2.h>

namespace homeostat::kinds {
namespace {

constexpr size_t kMaxCredentialSpec = 64 * 1024, kMaxDomain = 256, kMaxUser = 104;

bool Matches(const RE2& pattern, std::string_view text) { return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), pattern); }

bool IsDomain(std::string_view domain) {
  static const RE2 net_bios(R"(^[^\\/:\*\?"<>|\.][^\\/:\*\?"<>|]{0,14}$)");
  static const RE2 dns(R"(^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$)");
  return Matches(net_bios, domain) || Matches(dns, domain);
}

// [domain\]user
void CheckUserName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  static const RE2 control("[[:cntrl:]]+"), only_dots(R"(^[\. ]+$)"), bad(R"(["/\\:;|=,\+\*\?<>@\[\]])");
  auto fault = [&](std::string_view text) { errors.Invalid(path, name, "runAsUserName" + std::string(text)); };
  if (name.empty()) return fault(" cannot be an empty string");
  if (Matches(control, name)) return fault(" cannot contain control characters");
  size_t slash = name.find('\\');
  if (slash != name.npos && name.find('\\', slash + 1) != name.npos) return fault(" cannot contain more than one backslash");
  bool has_domain = slash != name.npos;
  std::string_view domain = has_domain ? name.substr(0, slash) : std::string_view();
  std::string_view user = has_domain ? name.substr(slash + 1) : name;
  if (domain.size() >= kMaxDomain) fault("'s Domain length must be under 256 characters");
  if (has_domain && !IsDomain(domain)) fault("'s Domain doesn't match the NetBios nor the DNS format");
  if (user.empty()) fault("'s User cannot be empty");
  if (user.size() > kMaxUser) fault("'s User length must not be longer than 104 characters");
  if (Matches(only_dots, user)) fault("'s User cannot contain only periods or spaces");
  if (Matches(bad, user)) fault(R"('s User cannot contain the following characters: "/\:;|=,+*?<>@[])");
}

}  // namespace

void CheckWindowsOptions(const Value& options, const FieldPath& path, FieldErrors& errors) {
  if (!options) return;
  if (Value name = options.Get("gmsaCredentialSpecName")) CheckDns1123Subdomain(name.AsString(), path.Child("gmsaCredentialSpecName"), errors);
  if (Value spec = options.Get("gmsaCredentialSpec")) {
    FieldPath at = path.Child("gmsaCredentialSpec");
    if (spec.AsString().empty()) errors.Invalid(at, spec, "gmsaCredentialSpec cannot be an empty string");
    if (spec.AsString().size() > kMaxCredentialSpec) errors.Invalid(at, spec, "gmsaCredentialSpec size must be under 64 KiB");
  }
  if (Value user = options.Get("runAsUserName")) CheckUserName(user.AsString(), path.Child("runAsUserName"), errors);
}

}  // namespace homeostat::kinds
