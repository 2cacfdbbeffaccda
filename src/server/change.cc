#include "server/change.h"

#include <algorithm>

#include "homeostat/schema/conform.h"
#include "patch/managed_fields.h"
#include "server/admission_requests.h"
#include "server/allocations.h"
#include "server/metadata.h"
#include "server/options.h"
#include "server/rules.h"

namespace homeostat::server {
namespace {

constexpr int kGenerateNameAttempts = 8;

admission::Request AdmissionRequest(RequestContext& context, kinds::RuleContext& rules, admission::Operation operation,
                                    const ChangeOptions& options, std::string_view name, Value object, Value old) {
  return admission::Request{operation, context.working(), options.subresource, options.ns, name, object, old,
                            WriteOptionsValue(context, operation, options.dry_run), rules};
}

// Owner references that are the same count once; the client is told.
Value DedupOwnerReferences(RequestContext& context, const Value& object) {
  Value references = object.Path({"metadata", "ownerReferences"});
  if (references.size() < 2) return object;
  object::ListBuilder kept(context.arena());
  std::string repeated;
  for (const Value& reference : references.items()) {
    if (std::ranges::any_of(kept.items(), [&](const Value& other) { return object::Equal(other, reference); })) {
      repeated += (repeated.empty() ? "" : ", ") + std::string(reference.Get("uid").AsString());
    } else {
      kept.Append(reference);
    }
  }
  if (kept.items().size() == references.size()) return object;
  bool after_admission = context.info.verb == "patch";  // where upstream looks at a patched object
  context.warnings.push_back(".metadata.ownerReferences contains duplicate entries" +
                             std::string(after_admission ? " after mutating admission happens" : "") +
                             "; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix "
                             "your requests; duplicate UID(s) observed: " + repeated);
  return SetMetadata(context.arena(), *context.working().type, object, "ownerReferences", kept.Build());
}

// What is written, as upstream reads it back from its store. What admission made is filled with the defaults that follow from it or,
// of custom objects, freed from what their schemas don't know. refill: something else of it was made here, from which defaults of
// built-in kinds may follow.
Result<Value> AsReadBack(RequestContext& context, const Value& object, bool admission_changed, bool refill) {
  const schema::Type& type = *context.working().type;
  if (!admission_changed && (!refill || type.structural)) return object;
  if (!type.structural) return context.defaults(context.working()).Apply(context.arena(), type, object);
  schema::ConformReport report;
  report.collect = false;
  return schema::Conform(context.arena(), object, type, report);
}

Result<void> CheckMayWrite(RequestContext& context, kinds::RuleContext& rules, const Value& object, const Value& old) {
  auto may_write = context.resource->behaviour->may_write;
  return may_write == nullptr ? Result<void>() : may_write(rules, object, old);
}

// Admission that changes, the kind's preparation, the checks, admission that refuses: a new object ready for the store.
Task<Result<Value>> PrepareNew(RequestContext& context, kinds::RuleContext& rules, Value object, const ChangeOptions& options) {
  std::string name(MetadataString(object, "name"));
  if (context.resource->terminating) {
    co_return Fail(ForbiddenError(context.kind().gvk.group, context.kind().plural, name, "create not allowed while custom resource definition is terminating"));
  }
  object = DedupOwnerReferences(context, object);
  admission::Request request = AdmissionRequest(context, rules, admission::Operation::kCreate, options, name, object, Value());
  const object::Member* sent = object.members().data();
  auto mutate = context.parts.admission.Mutate(request);
  CO_TRY_ASSIGN(object, co_await std::move(mutate));
  const bool admission_changed = object.members().data() != sent;
  CO_TRY(CheckMayWrite(context, rules, object, Value()));
  const object::Member* spec = object.Get("spec").members().data();
  CO_TRY_ASSIGN(object, PrepareForCreate(rules, *context.resource, object));
  const bool prepared_spec = object.Get("spec").members().data() != spec;
  CO_TRY(ValidateForCreate(rules, *context.resource, object));
  name = MetadataString(object, "name");
  request.name = name;
  request.object = object;
  auto validate = context.parts.admission.Validate(request);
  CO_TRY(co_await std::move(validate));
  co_return AsReadBack(context, object, admission_changed, prepared_spec);
}

Status StaleVersion(const RequestContext& context, std::string_view name) {
  return ConflictError(context.kind().gvk.group, context.kind().plural, name,
                       "the object has been modified; please apply your changes to the latest version and try again");
}

// Settles which version of the object the change is based on.
Result<Value> CheckVersion(RequestContext& context, const Value& object, const Value& current, std::string_view name) {
  std::string_view asked = MetadataString(object, "resourceVersion");
  std::string_view stored = MetadataString(current, "resourceVersion");
  if (auto number = ParseNumber(asked); !number) return Fail(Status(500, "", number.error().message()));
  if (asked.empty() || asked == "0") {
    if (!context.working().unconditional_update) {
      schema::FieldErrors errors;
      errors.Invalid(schema::FieldPath("metadata").Child("resourceVersion"), 0, "must be specified for an update");
      return Fail(errors.ToStatus(context.kind().gvk.group, context.kind().plural, name));
    }
    return SetMetadata(context.arena(), *context.working().type, object, "resourceVersion",
                       Value::String(context.arena(), stored));
  }
  if (asked != stored) return Fail(StaleVersion(context, name));
  return object;
}

// The claims of one attempt to write an object of a kind that allocates; null for others.
using ClaimsPtr = std::unique_ptr<ClaimTransaction>;

ClaimsPtr BeginClaims(RequestContext& context, const ChangeOptions& options) {
  return context.resource->behaviour->allocate == nullptr ? nullptr : context.parts.allocations.Begin(options.dry_run);
}

Task<Result<void>> RecordClaims(RequestContext& context, ClaimTransaction* claims, const ChangeOptions& options, Value object) {
  if (claims == nullptr) co_return Result<void>();
  auto record = claims->Record(context, options.ns, std::string(MetadataString(object, "name")));
  co_return co_await std::move(record);
}

// Keeps or frees what was claimed, by what became of the write.
Task<Result<void>> SettleClaims(RequestContext& context, ClaimTransaction* claims, bool stored) {
  if (claims == nullptr) co_return Result<void>();
  auto settle = stored ? claims->Commit(context) : claims->Revert(context);
  co_return co_await std::move(settle);
}

Task<Result<UpdateDecision>> DecideUpdate(RequestContext& context, const ChangeOptions& options, ClaimTransaction* claims, Value object,
                                          Value current) {
  kinds::RuleContext rules = context.Rules(options.dry_run, options.subresource);
  rules.ns = options.ns;
  rules.claims = claims;
  object = DedupOwnerReferences(context, object);
  admission::Request request =
      AdmissionRequest(context, rules, admission::Operation::kUpdate, options, options.name, object, current);
  const object::Member* sent = object.members().data();
  if (!options.admit) {
    auto mutate = context.parts.admission.Mutate(request);
    CO_TRY_ASSIGN(object, co_await std::move(mutate));
    // Admission may have taken back what the client changed.
    object = patch::KeepTimesIfUnchanged(context.arena(), *context.working().type, object, current);
  }
  const bool admission_changed = options.admit || object.members().data() != sent;
  CO_TRY(CheckMayWrite(context, rules, object, current));
  CO_TRY_ASSIGN(object, CheckVersion(context, object, current, options.name));
  CO_TRY_ASSIGN(object, PrepareForUpdate(rules, *context.resource, object, current));
  CO_TRY(ValidateForUpdate(rules, *context.resource, object, current));
  request.object = object;
  auto validate = options.admit ? options.admit(rules, object, current) : context.parts.admission.Validate(request);
  CO_TRY(co_await std::move(validate));
  UpdateDecision decision;
  CO_TRY_ASSIGN(decision.object, AsReadBack(context, object, admission_changed, !options.subresource.empty()));
  if (IsRemovedByUpdate(*context.resource->behaviour, object, current)) decision.action = UpdateDecision::Action::kRemove;
  co_return decision;
}

Task<Result<UpdateDecision>> DecideCreate(RequestContext& context, const ChangeOptions& options, ClaimTransaction* claims, Value object) {
  if (!MetadataString(object, "uid").empty()) {
    co_return Fail(ConflictError(context.kind().gvk.group, context.kind().plural, options.name,
                                 "uid mismatch: the provided object specified uid " +
                                     std::string(MetadataString(object, "uid")) + ", and no existing object was found"));
  }
  if (auto number = ParseNumber(MetadataString(object, "resourceVersion")); !number) co_return Fail(Status(500, "", number.error().message()));
  kinds::RuleContext rules = context.Rules(options.dry_run, options.subresource);
  rules.claims = claims;
  auto prepare = PrepareNew(context, rules, object, options);
  CO_TRY_ASSIGN(Value ready, co_await std::move(prepare));
  co_return UpdateDecision{UpdateDecision::Action::kStore, ready};
}

// What an update that may be attempted several times has under way.
struct Attempt {
  ClaimsPtr claims;
  Value removed;  // the object that the write removes
};

Task<Result<UpdateDecision>> Decide(RequestContext& context, const ChangeOptions& options, const Compute& compute, Attempt& attempt,
                                    Value current) {
  auto revert = SettleClaims(context, attempt.claims.get(), false);
  CO_TRY(co_await std::move(revert));
  attempt = Attempt{BeginClaims(context, options), Value()};
  if (!current && !options.allow_create) co_return Fail(context.NotFound(options.name));
  auto computing = compute(current);
  CO_TRY_ASSIGN(Value object, co_await std::move(computing));
  ClaimTransaction* claims = attempt.claims.get();
  auto deciding = current ? DecideUpdate(context, options, claims, object, current) : DecideCreate(context, options, claims, object);
  CO_TRY_ASSIGN(UpdateDecision decision, co_await std::move(deciding));
  if (decision.action == UpdateDecision::Action::kRemove) attempt.removed = current;
  auto record = RecordClaims(context, claims, options, decision.object);
  CO_TRY(co_await std::move(record));
  co_return decision;
}

}  // namespace

Task<Result<Answer>> CreateNew(RequestContext& context, Value object, ChangeOptions options) {
  bool generated = MetadataString(object, "name").empty() && !MetadataString(object, "generateName").empty();
  for (int attempt = 1;; ++attempt) {
    kinds::RuleContext rules = context.Rules(options.dry_run, options.subresource);
    ClaimsPtr claims = BeginClaims(context, options);
    rules.claims = claims.get();
    auto prepare = PrepareNew(context, rules, object, options);
    CO_TRY_ASSIGN(Value ready, co_await std::move(prepare));
    if (options.dry_run && !options.sent_version.empty()) {
      ready = SetMetadata(context.arena(), *context.storage().type, ready, "resourceVersion",
                          Value::String(context.arena(), options.sent_version));
    } else if (ParseResourceVersion(options.sent_version).value_or(0) != 0) {  // what is no number counts for nothing
      co_return Fail(Status(500, "", "resourceVersion should not be set on objects to be created"));
    }
    auto record = RecordClaims(context, claims.get(), options, ready);
    auto recorded = co_await std::move(record);
    Result<Answer> stored;
    if (recorded) {
      auto store = StoreNew(context, ready, MakeWriteInfo(context, options.field_manager), options.dry_run);
      stored = co_await std::move(store);
    } else {
      stored = Fail(recorded.error());
    }
    auto settle = SettleClaims(context, claims.get(), stored.has_value());
    CO_TRY(co_await std::move(settle));
    if (stored || !stored.error().IsAlreadyExists() || !generated || attempt == kGenerateNameAttempts) co_return stored;
  }
}

Result<void> CheckKeyNamespace(const RequestContext& context) {
  if (!context.storage().namespaced || !context.info.below_namespace || !context.info.ns.empty()) return {};
  return Fail(BadRequestError("Namespace parameter required."));
}

Result<void> CheckKey(const RequestContext& context, std::string_view name) {
  TRY(CheckKeyNamespace(context));
  return CheckKeyName(name);
}

Task<Result<Answer>> ChangeObject(RequestContext& context, ChangeOptions options, Compute compute) {
  CO_TRY(CheckKey(context, options.name));
  Attempt attempt;
  UpdateFunction decide = [&context, &options, &compute, &attempt](object::DocumentPtr, Value current) {
    return Decide(context, options, compute, attempt, current);
  };
  store::WriteInfo info = MakeWriteInfo(context, options.field_manager);
  auto update = StoreUpdate(context, options.ns, options.name, std::move(info), options.dry_run, decide);
  auto updated = co_await std::move(update);
  auto settle = SettleClaims(context, attempt.claims.get(), updated.has_value());
  CO_TRY(co_await std::move(settle));
  if (updated && attempt.removed && !options.dry_run) {
    auto release = context.parts.allocations.Release(context, *context.resource->behaviour, attempt.removed);
    CO_TRY(co_await std::move(release));
  }
  co_return updated;
}

Result<void> CheckNameAndNamespace(const RequestContext& context, const Value& object, std::string_view name) {
  std::string_view own = MetadataString(object, "name");
  if (own.empty()) {
    return Fail(BadRequestError("the name of the object (" + std::string(name) +
                                " based on URL) was undeterminable: name must be provided"));
  }
  if (own != name) {
    return Fail(BadRequestError("the name of the object (" + std::string(own) + ") does not match the name on the URL (" +
                                std::string(name) + ")"));
  }
  std::string_view ns = MetadataString(object, "namespace");
  if (!context.info.ns.empty() && !ns.empty() && context.storage().namespaced && ns != context.info.ns) {
    return Fail(BadRequestError("the namespace of the object (" + std::string(ns) +
                                ") does not match the namespace on the request (" + context.info.ns + ")"));
  }
  return {};
}

Status PreconditionFailed(RequestContext& context, std::string_view name, bool dry_run, std::string_view what, std::string_view wanted,
                          std::string_view found) {
  std::string key = StorageKey(context.storage(), context.info.ns, name);
  if (dry_run) key.erase(0, std::string_view("/registry").size());
  std::string part(what);
  return ConflictError(context.kind().gvk.group, context.kind().plural, name,
                       "StorageError: invalid object, Code: 4, Key: " + key + ", ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: " +
                           part + " in precondition: " + std::string(wanted) + ", " + part + " in object meta: " + std::string(found));
}

Result<Value> EnsureNamespace(RequestContext& context, const schema::Type& type, const Value& object) {
  std::string_view ns = MetadataString(object, "namespace");
  std::string_view expected = context.kind().namespaced ? std::string_view(context.info.ns) : std::string_view();
  if (ns == expected) return object;
  if (!ns.empty() && !expected.empty()) {
    return Fail(BadRequestError("the namespace of the provided object does not match the namespace sent on the request"));
  }
  return SetMetadata(context.arena(), type, object, "namespace", expected.empty() ? Value() : Value::String(context.arena(), expected));
}

}  // namespace homeostat::server
