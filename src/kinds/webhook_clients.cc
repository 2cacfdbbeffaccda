#include "kinds/webhook_clients.h"

#include <string>

#include "cel/url.h"

namespace homeostat::kinds {

void CheckWebhookUrl(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  constexpr std::string_view kForm = "; desired format: https://host[/path]";
  auto url = cel::ReadUrl(text);
  if (!url) return errors.Required(path, "url must be a valid URL: " + url.error() + std::string(kForm));
  if (url->scheme != "https") errors.Invalid(path, url->scheme, "'https' is the only allowed URL scheme" + std::string(kForm));
  if (url->host.empty()) errors.Invalid(path, "", "host must be specified" + std::string(kForm));
  if (url->has_user) errors.Invalid(path, url->user_info, "user information is not permitted in the URL");
  if (!url->fragment.empty()) errors.Invalid(path, url->fragment, "fragments are not permitted in the URL");
  if (!url->raw_query.empty()) errors.Invalid(path, url->raw_query, "query parameters are not permitted in the URL");
}

void CheckWebhookPath(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  if (text.empty() || text == "/") return;
  if (text == "//") return errors.Invalid(path, text, "segment[0] may not be empty");
  if (!text.starts_with('/')) errors.Invalid(path, text, "must start with a '/'");
  std::string_view rest = text.substr(1);  // whatever stands there
  if (rest.ends_with('/')) rest.remove_suffix(1);
  for (size_t i = 0;; ++i) {
    size_t slash = rest.find('/');
    std::string_view segment = rest.substr(0, slash);
    std::string where = "segment[" + std::to_string(i) + "]";
    if (segment.empty()) {
      errors.Invalid(path, text, where + " may not be empty");
    } else {
      for (const std::string& message : object::IsDNS1123Subdomain(segment)) errors.Invalid(path, text, where + ": " + message);
    }
    if (slash == rest.npos) return;
    rest.remove_prefix(slash + 1);
  }
}

void CheckWebhookClient(const Value& client, const FieldPath& path, FieldErrors& errors) {
  Value url = client.Get("url"), service = client.Get("service");
  if (static_cast<bool>(url) == static_cast<bool>(service)) return errors.Required(path, "exactly one of url or service is required");
  if (url) return CheckWebhookUrl(url.AsString(), path.Child("url"), errors);
  FieldPath at = path.Child("service");
  // Upstream takes the one for the other.
  if (service.Get("namespace").AsString().empty()) errors.Required(at.Child("name"));
  if (service.Get("name").AsString().empty()) errors.Required(at.Child("namespace"));
  int64_t port = service.Get("port").AsInt();
  object::Messages messages = object::IsValidPortNum(port);
  if (!messages.empty()) errors.Invalid(at.Child("port"), port, "port is not valid: " + Joined(messages));
  if (Value text = service.Get("path")) CheckWebhookPath(text.AsString(), at.Child("path"), errors);
}

}  // namespace homeostat::kinds
