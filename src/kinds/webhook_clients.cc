#include "kinds/webhook_clients.h"

#include <string>

namespace homeostat::kinds {
namespace {

// The parts of scheme://user@host/path?query#fragment.
struct Url {
  std::string_view scheme, user, host, query, fragment;

  explicit Url(std::string_view text) {
    if (size_t hash = text.find('#'); hash != text.npos) {
      fragment = text.substr(hash + 1);
      text = text.substr(0, hash);
    }
    if (size_t mark = text.find('?'); mark != text.npos) {
      query = text.substr(mark + 1);
      text = text.substr(0, mark);
    }
    size_t colon = text.find(':');
    if (colon != text.npos && text.substr(0, colon).find('/') == text.npos) {
      scheme = text.substr(0, colon);
      text.remove_prefix(colon + 1);
    }
    if (!text.starts_with("//")) return;
    text.remove_prefix(2);
    host = text.substr(0, text.find('/'));
    if (size_t at = host.rfind('@'); at != host.npos) {
      user = host.substr(0, at);
      host.remove_prefix(at + 1);
    }
  }
};

}  // namespace

void CheckWebhookUrl(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  Url url(text);
  if (url.scheme != "https") {
    errors.Invalid(path, url.scheme, "'https' is the only allowed URL scheme; desired format: https://host[/path]");
  }
  if (url.host.empty()) errors.Invalid(path, "", "host must be specified; desired format: https://host[/path]");
  if (!url.user.empty()) errors.Invalid(path, url.user, "user information is not permitted in the URL");
  if (!url.fragment.empty()) errors.Invalid(path, url.fragment, "fragments are not permitted in the URL");
  if (!url.query.empty()) errors.Invalid(path, url.query, "query parameters are not permitted in the URL");
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

void CheckWebhookClient(const Value& client, bool swapped, const FieldPath& path, FieldErrors& errors) {
  Value url = client.Get("url"), service = client.Get("service");
  if (static_cast<bool>(url) == static_cast<bool>(service)) return errors.Required(path, "exactly one of url or service is required");
  if (url) return CheckWebhookUrl(url.AsString(), path.Child("url"), errors);
  FieldPath at = path.Child("service");
  if (service.Get(swapped ? "namespace" : "name").AsString().empty()) errors.Required(at.Child("name"));
  if (service.Get(swapped ? "name" : "namespace").AsString().empty()) errors.Required(at.Child("namespace"));
  int64_t port = service.Get("port").AsInt();
  object::Messages messages = object::IsValidPortNum(port);
  if (!messages.empty()) errors.Invalid(at.Child("port"), port, "port is not valid: " + Joined(messages));
  if (Value text = service.Get("path")) CheckWebhookPath(text.AsString(), at.Child("path"), errors);
}

}  // namespace homeostat::kinds
