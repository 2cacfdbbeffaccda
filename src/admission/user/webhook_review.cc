#include "admission/user/webhook_review.h"

#include "callout/review.h"
#include "homeostat/api/admission/v1.h"
#include "homeostat/base/text.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"

namespace homeostat::admission {
namespace {

using object::Value;

Status Invalid(std::string_view why) { return SystemError("received invalid webhook response: " + std::string(why)); }

// Whether a patch and its type go together. Only the newer version is strict; only mutating webhooks may send one.
Result<void> CheckPatch(const Value& response, bool mutates) {
  bool has_patch = !response.Get("patch").AsString().empty();
  Value type = response.Get("patchType");
  if (!mutates) {
    if (has_patch) return Fail(Invalid("validating webhook may not return response.patch"));
    if (type) return Fail(Invalid("validating webhook may not return response.patchType"));
    return {};
  }
  if (has_patch && !type) return Fail(Invalid("webhook returned response.patch but not response.patchType"));
  if (!has_patch && type) return Fail(Invalid("webhook returned response.patchType but not response.patch"));
  if (type && type.AsString().empty()) return Fail(Invalid("webhook returned invalid response.patchType of \"\""));
  return {};
}

// The operations; absent if there are none.
Result<Value> ReadPatch(object::Arena& arena, const Value& response) {
  std::string_view text = response.Get("patch").AsString();
  if (text.empty()) return Value();
  auto parsed = object::ParseJson(arena, text);
  std::string why = parsed ? "" : parsed.error().message();
  if (parsed && parsed->IsNull()) return Value();
  if (parsed && !parsed->IsList()) {
    why = "json: cannot unmarshal " + std::string(parsed->IsObject() ? "object" : parsed->IsString() ? "string" : parsed->IsBool() ? "bool" : "number") +
          " into Go value of type jsonpatch.Patch";
  }
  if (!why.empty()) return Fail(SystemError("received undecodable patch in webhook response: " + why));
  return parsed->empty() ? Value() : *parsed;
}

StatusDetails DetailsOf(const Value& source) {
  StatusDetails details;
  details.name = source.Get("name").AsString();
  details.group = source.Get("group").AsString();
  details.kind = source.Get("kind").AsString();
  details.uid = source.Get("uid").AsString();
  details.retry_after_seconds = static_cast<int32_t>(source.Get("retryAfterSeconds").AsInt());
  for (const Value& cause : source.Get("causes").items()) {
    details.causes.push_back({std::string(cause.Get("reason").AsString()), std::string(cause.Get("message").AsString()),
                              std::string(cause.Get("field").AsString())});
  }
  details.shown = true;
  return details;
}

}  // namespace

std::string AdmissionReviewBody(std::string_view version, std::string_view uid, const VersionedObjects& objects, object::Arena& arena) {
  object::ObjectBuilder request(arena, objects.request);
  request.Set("uid", Value::String(arena, uid));
  request.Set("object", objects.object ? objects.object : Value::Null());
  request.Set("oldObject", objects.old_object ? objects.old_object : Value::Null());
  std::string body = R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/)";
  body.append(version).append(R"(","request":)");
  object::AppendJson(body, request.Build());
  body += "}";
  return body;
}

Result<WebhookAnswer> ReadAdmissionReview(object::Arena& arena, std::string_view body, std::string_view version, std::string_view uid,
                                          bool mutates) {
  callout::ReviewKind expected{"admission.k8s.io", version, "AdmissionReview"};
  auto failed = [](const Status& error) { return Fail(SystemError("failed to call webhook: " + error.message())); };
  auto review = callout::ReadReview(arena, body, expected);
  if (!review) return failed(review.error());
  schema::ConformReport report;
  report.collect = false;
  auto typed = schema::Conform(arena, *review, api::admission::v1::AdmissionReview::SchemaType(), report);
  if (!typed) return failed(typed.error());
  if (!review->Get("response")) return Fail(Invalid("webhook response was absent"));
  Value response = typed->Get("response");
  bool strict = version == "v1";
  if (strict) {
    std::string_view answered = response.Get("uid").AsString();
    if (answered != uid) return Fail(Invalid("expected response.uid=" + GoQuote(uid) + ", got " + GoQuote(answered)));
    if (auto kind = callout::CheckReviewKind(*review, expected); !kind) return Fail(Invalid(kind.error().message()));
    TRY(CheckPatch(response, mutates));
  }
  WebhookAnswer answer;
  answer.allowed = response.Get("allowed").AsBool();
  answer.result = response.Get("status");
  for (const Value& warning : response.Get("warnings").items()) answer.warnings.emplace_back(warning.AsString());
  for (const object::Member& note : response.Get("auditAnnotations").members()) {
    answer.annotations.emplace_back(note.name(), note.value.AsString());
  }
  if (!answer.allowed || !mutates) return answer;
  TRY_ASSIGN(answer.patch, ReadPatch(arena, response));
  std::string_view type = strict ? response.Get("patchType").AsString() : "JSONPatch";
  if (answer.patch && type != "JSONPatch") return Fail(SystemError("unsupported patch type " + GoQuote(type)));
  return answer;
}

Status DeniedBy(std::string_view webhook, const Value& result) {
  std::string message = "admission webhook " + GoQuote(webhook) + " denied the request";
  std::string_view said = result.Get("message").AsString(), reason = result.Get("reason").AsString();
  if (!said.empty()) message.append(": ").append(said);
  else if (!reason.empty()) message.append(": ").append(reason);
  else message += " without explanation";
  int64_t code = result.Get("code").AsInt();
  if (code < 400) code = 400;
  if (code > 599) code = 500;
  Status denied(static_cast<int>(code), reason, message);
  Value details = result.Get("details");
  return details ? denied.WithDetails(DetailsOf(details)) : denied;
}

}  // namespace homeostat::admission
