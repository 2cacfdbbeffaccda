#include "server/custom/converted.h"

#include "callout/review.h"
#include "homeostat/base/text.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"
#include "kinds/checks.h"
#include "object/go_value.h"
#include "server/metadata.h"

namespace homeostat::server {
namespace {

constexpr callout::ReviewKind kReview{"apiextensions.k8s.io", "v1", "ConversionReview"};

Status Fault(std::string_view message) { return Status(500, "", message); }

// Several faults as Go's aggregate prints them.
std::string Joined(const std::vector<StatusCause>& causes) {
  std::string text;
  for (const StatusCause& cause : causes) text += (text.empty() ? "" : ", ") + cause.field + ": " + cause.message;
  return causes.size() == 1 ? text : "[" + text + "]";
}

// Labels or annotations of the answer: texts, and valid ones if they are others than before.
Result<void> CheckTexts(std::string_view field, const Value& answered, const Value& original) {
  if (!answered) return {};
  std::string name(field);
  if (!answered.IsObject()) {
    return Fail(Fault("invalid metadata." + name + " of type " + std::string(object::GoTypeOf(answered)) + " in converted object"));
  }
  for (const object::Member& member : answered.members()) {
    if (member.value.IsString()) continue;
    return Fail(Fault("metadata." + name + "[" + std::string(member.name()) + "] must be a string, but is " +
                      std::string(object::GoTypeOf(member.value)) + " in converted object"));
  }
  if (object::Equal(answered, original)) return {};
  schema::FieldErrors errors;
  schema::FieldPath root("metadata");
  if (field == "labels") kinds::CheckLabels(answered, root.Child("labels"), errors);
  else kinds::CheckAnnotations(answered, root.Child("annotation"), errors);
  if (errors.empty()) return {};
  return Fail(Fault(Joined(errors.causes())));
}

Result<void> CheckSame(std::string_view what, std::string_view before, std::string_view after) {
  if (before == after) return {};
  return Fail(Fault("must have the same " + std::string(what) + ": " + std::string(before) + " != " + std::string(after)));
}

// The answer's metadata with nothing but its labels and annotations.
Result<Value> AnsweredMetadata(object::Arena& arena, const Value& original, const Value& converted) {
  const object::Member* member = converted.Find("metadata");
  if (member == nullptr) return Fail(Fault("missing metadata in converted object"));
  if (!member->value.IsObject()) {
    return Fail(Fault("invalid metadata of type " + std::string(object::GoTypeOf(member->value)) + " in converted object"));
  }
  object::ObjectBuilder metadata(arena);
  for (std::string_view field : {"labels", "annotations"}) {
    Value answered = member->value.Get(field);
    TRY(CheckTexts(field, answered, original.Path({"metadata", field})));
    if (answered) metadata.Append(field, answered);
  }
  return metadata.Build();
}

}  // namespace

std::string ConversionRequest(std::string_view review_version, std::string_view uid, std::string_view desired_api_version,
                              std::span<const std::string> objects) {
  std::string body = R"({"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/)";
  body.append(review_version).append(R"(","request":{"uid":")").append(uid).append(R"(","desiredAPIVersion":)");
  object::AppendJsonString(body, desired_api_version);
  body += R"(,"objects":[)";
  for (size_t i = 0; i < objects.size(); ++i) body.append(i > 0 ? "," : "").append(objects[i]);
  body += R"(]},"response":{"uid":"","convertedObjects":null,"result":{"metadata":{}}}})";
  return body;
}

Result<Value> ReadConversionReview(object::Arena& arena, std::string_view body, std::string_view review_version, std::string_view uid) {
  callout::ReviewKind expected = kReview;
  expected.version = review_version;
  TRY_ASSIGN(Value review, callout::ReadReview(arena, body, expected));
  // The older version was never checked so closely.
  bool strict = review_version == "v1";
  if (strict) TRY(callout::CheckReviewKind(review, expected));
  Value response = review.Get("response");
  if (!response) return Fail(Fault("no response provided"));
  std::string_view answered = response.Get("uid").AsString();
  if (strict && answered != uid) return Fail(Fault("expected response.uid=" + GoQuote(uid) + ", got " + GoQuote(answered)));
  Value result = response.Get("result");
  std::string_view status = result.Get("status").AsString(), message = result.Get("message").AsString();
  if (status != "Success") {
    return Fail(Fault(message.empty() ? "response.result.status was '" + std::string(status) + "', not 'Success'" : std::string(message)));
  }
  return response.Get("convertedObjects");
}

Result<Value> AcceptConverted(object::Arena& arena, const Value& original, const schema::Kind& from, const Value& converted,
                              const schema::Kind& to, size_t index, bool one_of_many) {
  std::string at = one_of_many ? "invalid converted object at index " + std::to_string(index) + ": "
                               : "invalid object at index " + std::to_string(index) + ": ";
  if (!converted.IsObject() || converted.Get("kind").AsString().empty()) {
    return Fail(Fault(at + "Object 'Kind' is missing in '" + object::JsonText(converted) + "'"));
  }
  std::string_view api_version = converted.Get("apiVersion").AsString(), kind = converted.Get("kind").AsString();
  std::string wanted = to.gvk.ApiVersion();
  if (api_version != wanted) {
    return Fail(Fault(at + "invalid groupVersion (expected " + wanted + ", received " + std::string(api_version) + ")"));
  }
  if (kind != from.gvk.kind) {
    return Fail(Fault(at + "invalid kind (expected " + std::string(from.gvk.kind) + ", received " + std::string(kind) + ")"));
  }
  if (!one_of_many) at = "invalid object: ";
  struct Same {
    std::string_view what, field;
  };
  for (const Same& same : {Same{"name", "name"}, Same{"namespace", "namespace"}, Same{"UID", "uid"}}) {
    auto checked = CheckSame(same.what, MetadataString(original, same.field), converted.Path({"metadata", same.field}).AsString());
    if (!checked) return Fail(checked.error().WithMessage(at + checked.error().message()));
  }
  auto answered = AnsweredMetadata(arena, original, converted);
  if (!answered) {
    std::string place = one_of_many ? "invalid metadata in object at index " + std::to_string(index) + ": " : "invalid metadata: ";
    return Fail(answered.error().WithMessage(place + answered.error().message()));
  }
  object::ObjectBuilder bare(arena, converted);
  bare.Set("metadata", *answered);
  schema::ConformReport report;
  report.collect = false;
  auto typed = schema::Conform(arena, bare.Build(), *to.type, report);
  if (!typed) return Fail(Fault(at + typed.error().message()));
  Value labels = typed->Path({"metadata", "labels"}), annotations = typed->Path({"metadata", "annotations"});
  Value whole = SetField(arena, *to.type, *typed, "metadata", original.Get("metadata"));
  return SetMetadata(arena, *to.type, whole, {{"labels", labels}, {"annotations", annotations}});
}

}  // namespace homeostat::server
