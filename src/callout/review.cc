#include "callout/review.h"

#include "homeostat/base/text.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/api_version.h"
#include "object/go_value.h"

namespace homeostat::callout {
namespace {

using object::Value;

struct Named {
  std::string group, version, kind;
};

Named NamesOf(const Value& review) {
  std::string_view api_version = review.Get("apiVersion").AsString();
  size_t slash = api_version.rfind('/');
  Named named;
  named.group = slash == api_version.npos ? std::string_view() : api_version.substr(0, slash);
  named.version = slash == api_version.npos ? api_version : api_version.substr(slash + 1);
  named.kind = review.Get("kind").AsString();
  return named;
}

std::string Last(std::string_view version, std::string_view kind) { return std::string(version) + "." + std::string(kind); }

}  // namespace

std::string ReviewKind::Describe() const { return schema::KindText(group, version, kind); }

Result<Value> ReadReview(object::Arena& arena, std::string_view body, const ReviewKind& expected) {
  if (body.empty()) return Fail(SystemError("0-length response with status code: 200 and content type: application/json"));
  auto parsed = object::ParseJson(arena, body);
  if (!parsed) return Fail(SystemError("couldn't get version/kind; json parse error: " + parsed.error().message()));
  if (!parsed->IsObject()) {
    return Fail(SystemError("couldn't get version/kind; json parse error: json: cannot unmarshal " + std::string(object::GoTypeOf(*parsed)) +
                            " into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
                            "\"json:\\\"kind,omitempty\\\"\" }"));
  }
  Named named = NamesOf(*parsed);
  if (named.kind == "Status" && named.version == "v1" && named.group.empty()) {
    if (parsed->Get("status").AsString() != "Success") return Fail(SystemError(parsed->Get("message").AsString()));
    return Value::EmptyObject();
  }
  if (named.kind.empty()) named.kind = expected.kind;
  if (parsed->Get("apiVersion").AsString().empty()) {
    named.group = expected.group;
    named.version = expected.version;
  }
  bool known = named.kind == expected.kind && named.group == expected.group && (named.version == "v1" || named.version == "v1beta1");
  if (!known) {
    std::string version = named.group.empty() ? named.version : named.group + "/" + named.version;
    return Fail(SystemError("no kind " + GoQuote(named.kind) + " is registered for version " + GoQuote(version) +
                            " in scheme \"pkg/runtime/scheme.go:111\""));
  }
  if (named.version != expected.version) {
    return Fail(SystemError("converting (" + Last(named.version, named.kind) + ") to (" + Last(expected.version, expected.kind) +
                            "): unknown conversion"));
  }
  return *parsed;
}

Result<void> CheckReviewKind(const Value& review, const ReviewKind& expected) {
  Named named = NamesOf(review);
  if (named.group == expected.group && named.version == expected.version && named.kind == expected.kind) return {};
  return Fail(SystemError("expected webhook response of " + expected.Describe() + ", got " + schema::KindText(named.group, named.version, named.kind)));
}

}  // namespace homeostat::callout
