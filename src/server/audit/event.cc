#include "server/audit/event.h"

#include <algorithm>

#include "homeostat/base/text.h"
#include "homeostat/object/json.h"
#include "homeostat/object/time.h"

namespace homeostat::server::audit {
namespace {

// Members of an object, one after the other.
class ObjectText {
 public:
  explicit ObjectText(std::string& out) : out_(out) { out_ += '{'; }
  ~ObjectText() { out_ += '}'; }
  ObjectText(const ObjectText&) = delete;

  void Name(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    object::AppendJsonString(out_, name);
    out_ += ':';
  }
  void Text(std::string_view name, std::string_view text) {
    Name(name);
    object::AppendJsonString(out_, text);
  }
  void TextIfAny(std::string_view name, std::string_view text) {
    if (!text.empty()) Text(name, text);
  }
  void RawIfAny(std::string_view name, std::string_view json) {
    if (json.empty()) return;
    Name(name);
    out_ += json;
  }
  void TextsIfAny(std::string_view name, const std::vector<std::string>& texts) {
    if (texts.empty()) return;
    Name(name);
    AppendTexts(texts);
  }
  void AppendTexts(const std::vector<std::string>& texts) {
    out_ += '[';
    for (size_t i = 0; i < texts.size(); ++i) {
      if (i > 0) out_ += ',';
      object::AppendJsonString(out_, texts[i]);
    }
    out_ += ']';
  }

 private:
  std::string& out_;
  bool first_ = true;
};

void AppendUser(std::string& out, const User& user) {
  ObjectText text(out);
  text.TextIfAny("username", user.name);
  text.TextIfAny("uid", user.uid);
  text.TextsIfAny("groups", user.groups);
  if (user.extra.empty()) return;
  auto sorted = user.extra;
  std::ranges::sort(sorted);
  text.Name("extra");
  ObjectText extra(out);
  for (const auto& [key, values] : sorted) {
    extra.Name(key);
    extra.AppendTexts(values);
  }
}

void AppendReference(std::string& out, const ObjectReference& object) {
  ObjectText text(out);
  text.TextIfAny("resource", object.resource);
  text.TextIfAny("namespace", object.ns);
  text.TextIfAny("name", object.name);
  text.TextIfAny("uid", object.uid);
  text.TextIfAny("apiGroup", object.group);
  text.TextIfAny("apiVersion", object.version);
  text.TextIfAny("resourceVersion", object.resource_version);
  text.TextIfAny("subresource", object.subresource);
}

std::string TimeText(WallTime time) { return object::FormatMicroTime(object::Timestamp::FromClock(time)); }

// An address without what does not belong to it; "" if it is none.
std::string_view AddressIn(std::string_view text) {
  text = TrimSpace(text);
  bool address = !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == '.' || c == ':';
  });
  return address ? text : std::string_view();
}

}  // namespace

std::string ToLine(const Event& event) {
  std::string line;
  {
    ObjectText text(line);
    text.Text("kind", "Event");
    text.Text("apiVersion", "audit.k8s.io/v1");
    text.Text("level", NameOf(event.level));
    text.Text("auditID", event.id);
    text.Text("stage", NameOf(event.stage));
    text.Text("requestURI", event.uri);
    text.Text("verb", event.verb);
    text.Name("user");
    AppendUser(line, event.user);
    if (event.impersonated) {
      text.Name("impersonatedUser");
      AppendUser(line, *event.impersonated);
    }
    text.TextsIfAny("sourceIPs", event.source_addresses);
    text.TextIfAny("userAgent", event.user_agent);
    if (event.object) {
      text.Name("objectRef");
      AppendReference(line, *event.object);
    }
    text.RawIfAny("responseStatus", event.response_status);
    text.RawIfAny("requestObject", event.request_object);
    text.RawIfAny("responseObject", event.response_object);
    text.Text("requestReceivedTimestamp", TimeText(event.received));
    text.Text("stageTimestamp", TimeText(event.stage_time));
    if (!event.annotations.empty()) {
      text.Name("annotations");
      ObjectText annotations(line);
      for (const auto& [key, value] : event.annotations) annotations.Text(key, value);
    }
  }
  line += '\n';
  return line;
}

std::vector<std::string> SourceAddresses(std::string_view forwarded_for, std::string_view real_ip, std::string_view peer) {
  std::vector<std::string> addresses;
  while (!forwarded_for.empty()) {
    size_t comma = std::min(forwarded_for.find(','), forwarded_for.size());
    if (std::string_view address = AddressIn(forwarded_for.substr(0, comma)); !address.empty()) addresses.emplace_back(address);
    forwarded_for.remove_prefix(std::min(comma + 1, forwarded_for.size()));
  }
  std::string_view real = AddressIn(real_ip);
  if (!real.empty() && std::ranges::find(addresses, real) == addresses.end()) addresses.emplace_back(real);
  size_t colon = peer.rfind(':');
  std::string_view host = peer.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  host = AddressIn(host);
  if (!host.empty() && (addresses.empty() || addresses.back() != host)) addresses.emplace_back(host);
  return addresses;
}

}  // namespace homeostat::server::audit
