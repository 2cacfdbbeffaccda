// CertificateSigningRequest. Source of the rules: pkg/apis/certificates/validation, pkg/registry/certificates/certificates.
// Who asks is what the server knows of the client, whatever the object says; approving and signing are subresources.
#include <algorithm>
#include <set>
#include <string>

#include "homeostat/api/certificates/v1.h"
#include "homeostat/base/text.h"
#include "kinds/cells.h"
#include "kinds/certificates/certificates.h"
#include "kinds/edit.h"
#include "kinds/group_checks.h"
#include "kinds/internal_json.h"
#include "kinds/write_helpers.h"

namespace homeostat::kinds {
namespace {

namespace v1 = api::certificates::v1;

constexpr std::string_view kUsages[] = {
    "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment", "decipher only",
    "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel", "ipsec user", "key agreement",
    "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth", "signing", "timestamping"};
constexpr int64_t kLeastSeconds = 600;
constexpr size_t kLongestDomain = 253;
constexpr std::string_view kLegacySigner = "kubernetes.io/legacy-unknown";

Value TextList(Arena& arena, const std::vector<std::string>& texts) {
  object::ListBuilder list(arena);
  for (const std::string& text : texts) list.Append(Value::String(arena, text));
  return list.empty() ? Value() : list.Build();
}

Value PrepareNew(RuleContext& context, Value request) {
  return Edited(context.arena, v1::CertificateSigningRequest::SchemaType(), request, [&](Edit& edit) {
    edit.In("spec", [&](Edit& spec) {
      spec.SetText("username", context.user.name);
      spec.SetText("uid", context.user.uid);
      spec.Set("groups", TextList(context.arena, context.user.groups));
      spec.Erase("extra");
      for (const auto& [key, values] : context.user.extra) spec.SetEntry("extra", key, TextList(context.arena, values));
    });
  });
}

Value WithTimes(RuleContext& context, const Value& request, const Value& old) {
  Value now = Now(context);
  return Edited(context.arena, v1::CertificateSigningRequest::SchemaType(), request, [&](Edit& edit) {
    if (request.Path({"status", "conditions"}).empty()) return;
    edit.In("status", [&](Edit& status) {
      status.Each("conditions", [&](Edit& condition) {
        condition.Fill("lastUpdateTime", now);
        if (condition.Get("lastTransitionTime")) return;
        Value since = now;
        for (const Value& before : old.Path({"status", "conditions"}).items()) {
          if (before.Get("type").AsString() == condition.Get("type").AsString() &&
              before.Get("status").AsString() == condition.Get("status").AsString() && before.Get("lastTransitionTime")) {
            since = before.Get("lastTransitionTime");
            break;
          }
        }
        condition.Set("lastTransitionTime", since);
      });
    });
  });
}

std::vector<Value> ConditionsOf(const Value& request, std::string_view type) {
  std::vector<Value> found;
  for (const Value& condition : request.Path({"status", "conditions"}).items()) {
    if (condition.Get("type").AsString() == type) found.push_back(condition);
  }
  return found;
}

// Conditions of that type as they were, if there are as many.
Value Preserve(RuleContext& context, const Value& request, const Value& old, std::string_view type) {
  std::vector<Value> before = ConditionsOf(old, type);
  if (before.empty() || before.size() != ConditionsOf(request, type).size()) return request;
  object::ListBuilder conditions(context.arena);
  size_t next = 0;
  for (const Value& condition : request.Path({"status", "conditions"}).items()) {
    conditions.Append(condition.Get("type").AsString() == type ? before[next++] : condition);
  }
  return Edited(context.arena, v1::CertificateSigningRequest::SchemaType(), request, [&](Edit& edit) {
    edit.In("status", [&](Edit& status) { status.Set("conditions", conditions.Build()); });
  });
}

Value PrepareUpdate(RuleContext& context, Value request, Value old) {
  const schema::Type& type = v1::CertificateSigningRequest::SchemaType();
  request = Edited(context.arena, type, request, [&](Edit& edit) { edit.Set("spec", old.Get("spec")); });
  if (context.subresource.empty()) return request;
  if (context.subresource == "status") {
    request = Preserve(context, request, old, "Approved");
    return WithTimes(context, Preserve(context, request, old, "Denied"), old);
  }
  request = WithTimes(context, request, old);
  Value conditions = request.Path({"status", "conditions"});
  return Edited(context.arena, type, request, [&](Edit& edit) {
    edit.Set("status", old.Get("status"));
    edit.In("status", [&](Edit& status) { status.Set("conditions", conditions); });
  });
}

void CheckUsages(const Value& usages, const Value& old_usages, const FieldPath& path, FieldErrors& errors) {
  if (usages.empty()) errors.Required(path);
  bool had_unknown = false, had_repeated = false;
  std::set<std::string_view> seen;
  for (const Value& usage : old_usages.items()) {
    had_unknown |= !IsOneOf(usage.AsString(), kUsages);
    had_repeated |= !seen.insert(usage.AsString()).second;
  }
  for (size_t i = 0; i < usages.size() && !had_unknown; ++i) CheckOneOf(usages.At(i).AsString(), kUsages, path.Index(i), errors);
  seen.clear();
  for (size_t i = 0; i < usages.size() && !had_repeated; ++i) {
    if (!seen.insert(usages.At(i).AsString()).second) errors.Duplicate(path.Index(i), usages.At(i));
  }
}

// The first of the labels between dots that is none; `check` says what is wrong with one.
void CheckLabels(std::string_view text, object::Messages (*check)(std::string_view), const FieldPath& path, FieldErrors& errors) {
  for (std::string_view rest = text;;) {
    std::string_view label = rest.substr(0, rest.find('.'));
    object::Messages messages = check(label);
    for (const std::string& message : messages) errors.Invalid(path, text, "validating label " + GoQuote(label) + ": " + message);
    if (!messages.empty() || label.size() == rest.size()) return;
    rest.remove_prefix(label.size() + 1);
  }
}

// DOMAIN/PATH, the domain having two labels at least and the path being one of labels with dots.
void CheckSignerName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  if (name.empty()) return errors.Required(path);
  size_t slash = name.find('/');
  if (slash == name.npos || name.find('/', slash + 1) != name.npos) {
    return errors.Invalid(path, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'");
  }
  std::string_view domain = name.substr(0, slash), rest = name.substr(slash + 1);
  if (domain.size() > kLongestDomain) errors.TooLong(path, kLongestDomain);
  CheckLabels(domain, [](std::string_view label) { return object::IsDNS1123Label(label); }, path, errors);
  if (domain.find('.') == domain.npos) errors.Invalid(path, domain, "should be a domain with at least two segments separated by dots");
  CheckLabels(rest, [](std::string_view label) { return object::IsDNS1123Subdomain(label); }, path, errors);
  if (name.size() > 571) errors.TooLong(path, 571);
}

bool HasBoth(const Value& request) { return !ConditionsOf(request, "Approved").empty() && !ConditionsOf(request, "Denied").empty(); }

void CheckConditionList(const Value& request, const Value& old, FieldErrors& errors) {
  FieldPath path = FieldPath("status").Child("conditions");
  Value conditions = request.Path({"status", "conditions"}), before = old.Path({"status", "conditions"});
  bool may_be_empty = false, may_repeat = false, approved = false, denied = false;
  std::set<std::string_view> seen;
  for (const Value& condition : before.items()) {
    may_be_empty |= condition.Get("type").AsString().empty();
    may_repeat |= !seen.insert(condition.Get("type").AsString()).second;
  }
  seen.clear();
  for (size_t i = 0; i < conditions.size(); ++i) {
    std::string_view type = conditions.At(i).Get("type").AsString(), status = conditions.At(i).Get("status").AsString();
    FieldPath at = path.Index(i);
    if (type.empty() && !may_be_empty) errors.Required(at.Child("type"));
    if (IsOneOf(type, {"Approved", "Denied", "Failed"})) {
      RequireOneOf(status, {"True"}, at.Child("status"), errors);
    } else {
      RequireOneOf(status, {"False", "True", "Unknown"}, at.Child("status"), errors);
    }
    approved |= type == "Approved";
    denied |= type == "Denied";
    if (approved && denied && IsOneOf(type, {"Approved", "Denied"}) && !HasBoth(old)) {
      errors.Invalid(path, type, "Approved and Denied conditions are mutually exclusive");
    }
    if (!seen.insert(type).second && !may_repeat) errors.Duplicate(at.Child("type"), type);
  }
}

void CheckRequest(const Value& request, const Value& old, FieldErrors& errors) {
  FieldPath path("spec");
  Value spec = request.Get("spec"), old_spec = old.Get("spec"), seconds = spec.Get("expirationSeconds");
  std::string fault = SigningRequestFault(spec.Get("request").AsString());
  if (!fault.empty()) {
    const schema::Type& type = *v1::CertificateSigningRequestSpec::SchemaType().FindField("request")->type;
    errors.Invalid(path.Child("request"), BadValue(type, spec.Get("request")), fault);
  }
  CheckUsages(spec.Get("usages"), old_spec.Get("usages"), path.Child("usages"), errors);
  std::string_view signer = spec.Get("signerName").AsString();
  if (signer == kLegacySigner && old_spec.Get("signerName").AsString() != kLegacySigner) {
    errors.Invalid(path.Child("signerName"), signer, "the legacy signerName is not allowed via this API version");
  } else {
    CheckSignerName(signer, path.Child("signerName"), errors);
  }
  if (seconds && seconds.AsInt() < kLeastSeconds) {
    errors.Invalid(path.Child("expirationSeconds"), seconds, "may not specify a duration less than 600 seconds (10 minutes)");
  }
  CheckConditionList(request, old, errors);
  std::string_view certificate = request.Path({"status", "certificate"}).AsString();
  std::string_view before = old.Path({"status", "certificate"}).AsString();
  if ((old && certificate == before) || !CertificatesFault(before).empty()) return;
  fault = CertificatesFault(certificate);
  if (!fault.empty()) errors.Invalid(FieldPath("status").Child("certificate"), "<certificate data>", fault);
}

void CheckNew(RuleContext&, Value request, FieldErrors& errors) { CheckRequest(request, Value(), errors); }

void CheckApprovals(const Value& request, const Value& old, const FieldPath& path, FieldErrors& errors) {
  for (std::string_view type : {"Approved", "Denied"}) {
    std::vector<Value> now = ConditionsOf(request, type), before = ConditionsOf(old, type);
    if (now.size() > before.size()) errors.Forbidden(path, "updates may not add a condition of type " + GoQuote(type));
    if (now.size() != before.size()) continue;
    for (size_t i = 0; i < now.size(); ++i) {
      if (object::Equal(now[i], before[i])) continue;
      const schema::Type& condition = v1::CertificateSigningRequestCondition::SchemaType();
      errors.Forbidden(path, "updates may not modify a condition of type " + GoQuote(type) + "\n" + InternalDiff(condition, before[i], now[i]));
      break;
    }
  }
}

void CheckUpdate(RuleContext& context, Value request, Value old, FieldErrors& errors) {
  CheckRequest(request, old, errors);
  FieldPath path = FieldPath("status").Child("conditions");
  for (std::string_view type : {"Approved", "Denied", "Failed"}) {
    if (ConditionsOf(request, type).size() < ConditionsOf(old, type).size()) {
      errors.Forbidden(path, "updates may not remove a condition of type " + GoQuote(type));
    }
  }
  if (context.subresource != "approval") CheckApprovals(request, old, path, errors);
  std::string_view before = old.Path({"status", "certificate"}).AsString();
  if (request.Path({"status", "certificate"}).AsString() == before) return;
  FieldPath certificate = FieldPath("status").Child("certificate");
  if (context.subresource != "status") {
    errors.Forbidden(certificate, "updates may not set certificate content");
  } else if (!before.empty()) {
    errors.Forbidden(certificate, "updates may not modify existing certificate content");
  }
}

Value Cell(object::Arena& arena, std::string_view cell, Value request, WallTime) {
  if (cell == "requestedduration") {
    Value seconds = request.Path({"spec", "expirationSeconds"});
    return seconds ? TextCell(arena, HumanDuration(std::chrono::seconds(seconds.AsInt()))) : Value::StringRef("<none>");
  }
  std::string text = !ConditionsOf(request, "Denied").empty() ? "Denied" : !ConditionsOf(request, "Approved").empty() ? "Approved" : "Pending";
  if (!ConditionsOf(request, "Failed").empty()) text += ",Failed";
  if (!request.Path({"status", "certificate"}).AsString().empty()) text += ",Issued";
  return TextCell(arena, text);
}

}  // namespace

const Behaviour kCertificateSigningRequest{.group = "certificates.k8s.io", .kind = "CertificateSigningRequest",
                                           .validate_name = NameIsAnything, .prepare_create = PrepareNew,
                                           .prepare_update = PrepareUpdate, .validate_create = CheckNew,
                                           .validate_update = CheckUpdate, .cell = Cell};

}  // namespace homeostat::kinds
