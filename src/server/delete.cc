// delete and deletecollection: marking, holding and removing. An object goes at once, or is marked and goes when its
// period is over and nothing holds it. Source: upstream's registry/rest BeforeDelete and the generic store's Delete.
#include <algorithm>

#include "homeostat/api/meta/v1.h"
#include "homeostat/object/time.h"
#include "server/admission_requests.h"
#include "server/allocations.h"
#include "server/body.h"
#include "server/change.h"
#include "server/delete.h"
#include "server/encode.h"
#include "server/metadata.h"
#include "server/object_store.h"
#include "server/options.h"
#include "server/rules.h"
#include "server/selection.h"
#include "server/verbs.h"
#include "server/views.h"

namespace homeostat::server {
namespace {

constexpr std::string_view kOrphan = "orphan";
constexpr std::string_view kForeground = "foregroundDeletion";

// What a DELETE does with the object as it stands.
struct DeletePlan {
  enum class Action : uint8_t {
    kNothing,         // it is on its way already
    kMark,            // store the marked object; somebody else finishes
    kMarkThenRemove,  // store the marked object, then remove it
    kRemove,
  } action = Action::kRemove;
  Value marked;
};

struct DeleteOutcome {
  object::DocumentPtr document;
  Value object;              // the last state
  uint64_t revision = 0;     // of the removal; 0 where there was none
  bool removed = false;      // false: marked, or on its way already
  bool pending = false;      // it was on its way already
};

bool HasFinalizer(const Value& object, std::string_view name) {
  return std::ranges::any_of(object.Path({"metadata", "finalizers"}).items(),
                             [&](const Value& item) { return item.AsString() == name; });
}

// Which of the collector's two finalizers the object shall carry: the request says, else the object, else its kind.
std::pair<bool, bool> OrphanAndForeground(const schema::Kind& kind, const DeleteQuery& options, const Value& object) {
  if (kind.collect_default == schema::CollectDefault::kUnsupported) return {false, false};
  if (options.orphan_dependents) return {*options.orphan_dependents, false};
  if (options.propagation_policy) return {*options.propagation_policy == "Orphan", *options.propagation_policy == "Foreground"};
  if (HasFinalizer(object, kOrphan)) return {true, false};
  if (HasFinalizer(object, kForeground)) return {false, true};
  return {kind.collect_default == schema::CollectDefault::kOrphan, false};
}

// The object with the collector's finalizers as asked for; the same value if nothing changes.
Value WithCollectorFinalizers(object::Arena& arena, const schema::Kind& kind, const DeleteQuery& options, const Value& object) {
  auto [orphan, foreground] = OrphanAndForeground(kind, options, object);
  if (orphan == HasFinalizer(object, kOrphan) && foreground == HasFinalizer(object, kForeground)) return object;
  object::ListBuilder finalizers(arena);
  for (const Value& item : object.Path({"metadata", "finalizers"}).items()) {
    if (item.AsString() != kOrphan && item.AsString() != kForeground) finalizers.Append(item);
  }
  if (orphan) finalizers.Append(Value::StringRef(kOrphan));
  if (foreground) finalizers.Append(Value::StringRef(kForeground));
  return SetMetadata(arena, *kind.type, object, "finalizers", finalizers.empty() ? Value() : finalizers.Build());
}

Value NextGeneration(object::Arena& arena, const schema::Kind& kind, const Value& object) {
  int64_t generation = object.Path({"metadata", "generation"}).AsInt();
  if (generation <= 0) return object;
  return SetMetadata(arena, *kind.type, object, "generation", Value::Int(generation + 1));
}

Value Mark(object::Arena& arena, const schema::Kind& kind, const Value& object, WallTime when, int64_t grace) {
  return SetMetadata(arena, *kind.type, object,
                     {{"deletionTimestamp", Value::String(arena, object::FormatTime(object::Timestamp::FromClock(when)))},
                      {"deletionGracePeriodSeconds", Value::Int(grace)}});
}

// The object marked as going with no period of its own.
Value MarkAtOnce(kinds::RuleContext& rules, const Value& object) {
  WallTime now = rules.runtime.WallNow();
  Value marked = object;
  auto existing = object::ParseTime(MetadataString(object, "deletionTimestamp"));
  if (!existing) marked = NextGeneration(rules.arena, rules.kind, marked);
  return Mark(rules.arena, rules.kind, marked, existing && existing->ToClock() < now ? existing->ToClock() : now, 0);
}

// With nothing but the time.
Value MarkTime(kinds::RuleContext& rules, const Value& object) {
  std::string now = object::FormatTime(object::Timestamp::FromClock(rules.runtime.WallNow()));
  return SetMetadata(rules.arena, *rules.kind.type, object, "deletionTimestamp", Value::String(rules.arena, now));
}

// Graceful kinds: the period a deletion gets. Sets `pending` when it is on its way already.
Result<std::optional<Value>> BeginGracefully(kinds::RuleContext& rules, const kinds::Behaviour& behaviour,
                                             const DeleteQuery& options, const Value& object, bool& pending) {
  Value metadata = object.Get("metadata");
  if (metadata.Get("deletionTimestamp")) {
    int64_t granted = metadata.Get("deletionGracePeriodSeconds").AsInt();
    if (granted == 0) return std::optional<Value>();
    if (!options.grace_period_seconds || *options.grace_period_seconds >= granted) {
      pending = true;
      return std::optional<Value>();
    }
    // Only a shorter period may follow: counted from when the deletion was first asked for.
    auto due = object::ParseTime(MetadataString(object, "deletionTimestamp"));
    int64_t period = *options.grace_period_seconds;
    WallTime when = (due ? due->ToClock() : rules.runtime.WallNow()) - std::chrono::seconds(granted) + std::chrono::seconds(period);
    if (when < rules.runtime.WallNow()) {
      when = rules.runtime.WallNow();
      if (period != 0) period = 1;
    }
    return std::optional<Value>(Mark(rules.arena, rules.kind, object, when, period));
  }
  auto granted = behaviour.graceful(rules, object, options.grace_period_seconds);
  if (!granted) return std::optional<Value>();
  WallTime when = rules.runtime.WallNow() + std::chrono::seconds(granted->grace_period_seconds);
  return std::optional<Value>(
      NextGeneration(rules.arena, rules.kind, Mark(rules.arena, rules.kind, object, when, granted->grace_period_seconds)));
}

Result<DeletePlan> PlanDeletion(RequestContext& context, const DeleteQuery& options, const Value& object) {
  kinds::RuleContext rules = context.Rules(options.dry_run, "");
  const kinds::Behaviour& behaviour = *context.resource->behaviour;
  bool pending = false;
  std::optional<Value> graceful;
  if (context.storage().graceful_deletion && behaviour.graceful != nullptr) {
    TRY_ASSIGN(graceful, BeginGracefully(rules, behaviour, options, object, pending));
  }
  DeletePlan plan;
  if (pending) {
    plan.action = DeletePlan::Action::kNothing;
    return plan;
  }
  const bool first = !object.Path({"metadata", "deletionTimestamp"});
  const bool own = behaviour.first_deletion != kinds::FirstDeletion::kLikeOthers && first;
  if (behaviour.first_deletion == kinds::FirstDeletion::kMarksAndCollects && !first && behaviour.held(object)) {
    plan = {DeletePlan::Action::kMark, object};
    return plan;
  }
  Value marked = graceful ? *graceful : object;
  if (!own || behaviour.first_deletion == kinds::FirstDeletion::kMarksAndCollects) {
    marked = WithCollectorFinalizers(context.arena(), context.storage(), options, marked);
  }
  bool held = IsHeld(behaviour, marked);
  if (!graceful && !held) return plan;
  if (!graceful) marked = own ? MarkTime(rules, marked) : MarkAtOnce(rules, marked);
  if (own && behaviour.mark_deleting != nullptr) marked = behaviour.mark_deleting(rules, marked);
  plan.marked = marked;
  bool waits = held || marked.Path({"metadata", "deletionGracePeriodSeconds"}).AsInt() > 0;
  plan.action = waits ? DeletePlan::Action::kMark : DeletePlan::Action::kMarkThenRemove;
  return plan;
}

Task<Result<void>> Admit(RequestContext& context, const DeleteQuery& options, std::string ns, std::string name, Value object) {
  kinds::RuleContext rules = context.Rules(options.dry_run, "");
  admission::Request request{admission::Operation::kDelete, context.storage(), "", ns, name, Value(), object,
                             DeleteOptionsValue(context, options), rules};
  auto mutate = context.parts.admission.Mutate(request);
  CO_TRY(co_await std::move(mutate));
  auto validate = context.parts.admission.Validate(request);
  co_return co_await std::move(validate);
}

// Stores the marked object; null if somebody else was faster.
Task<Result<cache::EntryPtr>> StoreMarked(RequestContext& context, const cache::Entry& entry, Value marked) {
  auto convert = ToStoredForm(context, marked);
  CO_TRY_ASSIGN(Value stored, co_await std::move(convert));
  CO_TRY_ASSIGN(Bytes bytes, EncodeStored(context.arena(), StoredKind(*context.resource), stored, context.resource->custom));
  store::Write write{std::string(entry.key()), std::move(bytes), store::Expectation::At(entry.revision()), MakeWriteInfo(context, "")};
  auto commit = CommitWrite(context, context.storage(), "update", std::move(write));
  CO_TRY_ASSIGN(cache::CommitResult result, co_await std::move(commit));
  if (result.committed) {
    auto view = ViewOf(context.parts, *context.resource, result.entry);
    co_return co_await std::move(view);
  }
  auto settle = WaitForRival(context, result);
  CO_TRY(co_await std::move(settle));
  co_return cache::EntryPtr();
}

// One attempt; nullopt when the object changed under it.
Task<Result<std::optional<DeleteOutcome>>> TryDelete(RequestContext& context, const DeleteQuery& options, std::string ns,
                                                     std::string name, bool admitted) {
  auto view = ViewOf(context.parts, *context.resource, context.parts.cache.Get(StorageKey(context.storage(), ns, name)));
  CO_TRY_ASSIGN(cache::EntryPtr entry, co_await std::move(view));
  if (!entry) co_return Fail(context.NotFound(name));
  CO_TRY_ASSIGN(object::DocumentPtr document, entry->document());
  context.arena().Keep(document);
  Value object = document->root();
  CO_TRY(CheckPreconditions(context, options, object));
  if (!admitted) {
    // Of a collection admission sees the objects, but no name.
    auto admit = Admit(context, options, ns, context.info.verb == "deletecollection" ? std::string() : name, object);
    CO_TRY(co_await std::move(admit));
  }
  CO_TRY_ASSIGN(DeletePlan plan, PlanDeletion(context, options, object));
  if (plan.action == DeletePlan::Action::kRemove && !object.Path({"metadata", "finalizers"}).empty()) {
    // Upstream has tried to write the object without the finalizers that the options take from it, did not, and goes on with what it
    // has not written: shows that after a dry run, and else asks for its version.
    const auto show = context.resource->behaviour->shown_when_empty;
    const Value nothing = Value::EmptyObject();
    if (options.dry_run) co_return DeleteOutcome{context.work, show == nullptr ? nothing : show(context.arena(), nothing)};
    if (options.precondition_resource_version) {
      co_return Fail(PreconditionFailed(context, name, false, "ResourceVersion", "", MetadataString(object, "resourceVersion")));
    }
  }

  DeleteOutcome outcome{document, object};
  if (plan.action == DeletePlan::Action::kNothing) {
    outcome.pending = true;
    co_return outcome;
  }
  // One that is marked already is not written again, or two that watch it could go on deleting it for ever.
  const bool marks = plan.action != DeletePlan::Action::kRemove && !object::Equal(plan.marked, object);
  if (marks) {
    outcome.object = plan.marked;
    outcome.document = context.work;
    if (!options.dry_run) {
      auto store = StoreMarked(context, *entry, plan.marked);
      CO_TRY_ASSIGN(entry, co_await std::move(store));
      if (!entry) co_return std::optional<DeleteOutcome>();
      CO_TRY_ASSIGN(outcome.document, entry->document());
      outcome.object = outcome.document->root();
      context.arena().Keep(outcome.document);
    }
  }
  if (plan.action == DeletePlan::Action::kMark) co_return outcome;
  outcome.removed = true;
  if (options.dry_run) co_return outcome;
  auto remove = StoreRemoval(context, context.storage(), *entry, MakeWriteInfo(context, ""));
  CO_TRY_ASSIGN(std::optional<uint64_t> removal, co_await std::move(remove));
  if (!removal) co_return std::optional<DeleteOutcome>();
  outcome.revision = *removal;
  auto release = context.parts.allocations.Release(context, *context.resource->behaviour, outcome.object);
  CO_TRY(co_await std::move(release));
  co_return outcome;
}

Task<Result<DeleteOutcome>> DeleteOne(RequestContext& context, DeleteQuery options, std::string ns, std::string name,
                                      bool admitted = false) {
  for (int attempt = 0; attempt < kUpdateAttempts; ++attempt) {
    auto deletion = TryDelete(context, options, ns, name, admitted);
    CO_TRY_ASSIGN(std::optional<DeleteOutcome> outcome, co_await std::move(deletion));
    if (outcome) co_return *std::move(outcome);
  }
  co_return Fail(ConflictError(context.kind().gvk.group, context.kind().plural, name, "the object keeps changing; please try again"));
}

// The DeleteOptions of a body; absent without one.
Result<Value> ReadDeleteOptions(RequestContext& context) {
  if (context.request.body_too_large) return Fail(RequestTooLargeError("limit is 3145728"));
  if (context.request.body.empty()) return Value();
  return DecodeOptions(context, api::meta::v1::DeleteOptions::SchemaType(), "DeleteOptions");
}

void WarnOfOrphans(RequestContext& context, const DeleteQuery& options) {
  std::string_view warning = context.resource->behaviour->warning_of_orphans;
  if (!warning.empty() && !options.propagation_policy && !options.orphan_dependents) context.warnings.emplace_back(warning);
}

StatusDetails DetailsOf(const RequestContext& context, const Value& object) {
  StatusDetails details;
  details.name = MetadataString(object, "name");
  details.group = context.kind().gvk.group;
  details.kind = context.kind().plural;
  details.uid = MetadataString(object, "uid");
  return details;
}

}  // namespace

namespace {

Result<void> CheckPreconditionsAsTheStore(const RequestContext& context, const DeleteQuery& options, const Value& object) {
  const schema::Kind& kind = context.storage();
  auto refuse = [&](std::string_view what, std::string_view wanted, std::string_view found) {
    std::string text = "Precondition failed: " + std::string(what) + " in precondition: " + std::string(wanted) + ", " + std::string(what) +
                       " in object meta: " + std::string(found);
    return Fail(ConflictError(kind.gvk.group, kind.plural, MetadataString(object, "name"), text));
  };
  std::string_view uid = MetadataString(object, "uid"), version = MetadataString(object, "resourceVersion");
  if (options.precondition_uid && *options.precondition_uid != uid) return refuse("UID", *options.precondition_uid, uid);
  if (options.precondition_resource_version && *options.precondition_resource_version != version) {
    return refuse("ResourceVersion", *options.precondition_resource_version, version);
  }
  return {};
}

}  // namespace

Result<void> CheckPreconditions(const RequestContext& context, const DeleteQuery& options, const Value& object) {
  std::string_view name = MetadataString(object, "name");
  const schema::Kind& kind = context.storage();
  if (context.resource->behaviour->store_words_preconditions) return CheckPreconditionsAsTheStore(context, options, object);
  if (options.precondition_uid && *options.precondition_uid != MetadataString(object, "uid")) {
    return Fail(ConflictError(kind.gvk.group, kind.gvk.kind, name,
                              "the UID in the precondition (" + *options.precondition_uid +
                                  ") does not match the UID in record (" + std::string(MetadataString(object, "uid")) +
                                  "). The object might have been deleted and then recreated"));
  }
  if (options.precondition_resource_version && *options.precondition_resource_version != MetadataString(object, "resourceVersion")) {
    return Fail(ConflictError(kind.gvk.group, kind.gvk.kind, name,
                              "the ResourceVersion in the precondition (" + *options.precondition_resource_version +
                                  ") does not match the ResourceVersion in record (" +
                                  std::string(MetadataString(object, "resourceVersion")) +
                                  "). The object might have been modified"));
  }
  return {};
}

Task<Result<void>> DeleteAdmitted(RequestContext& context, DeleteQuery options, std::string ns, std::string name) {
  auto deletion = DeleteOne(context, std::move(options), std::move(ns), std::move(name), true);
  CO_TRY(co_await std::move(deletion));
  co_return Done();
}

Task<Result<http::Response>> DeleteObject(RequestContext& context) {
  CO_TRY_ASSIGN(Value body, ReadDeleteOptions(context));
  CO_TRY_ASSIGN(DeleteQuery options, ParseDeleteQuery(context.query, body));
  WarnOfOrphans(context, options);
  if (auto undeletable = context.resource->behaviour->undeletable) {
    std::string_view why = undeletable(context.info.name);
    if (!why.empty()) co_return Fail(ForbiddenError(context.kind().gvk.group, context.kind().plural, context.info.name, why));
  }
  CO_TRY(CheckKey(context, context.info.name));
  auto deletion = DeleteOne(context, options, context.info.ns, context.info.name);
  CO_TRY_ASSIGN(DeleteOutcome outcome, co_await std::move(deletion));
  bool shows_object = context.storage().delete_returns_object || (!outcome.removed && !outcome.pending);
  // A client that asked for cascading the old way learns that it is not over.
  int code = !outcome.removed && options.orphan_dependents && !*options.orphan_dependents ? 202 : 200;
  if (!shows_object) co_return EncodeSuccess(DetailsOf(context, outcome.object), code, context.output);
  if (outcome.revision != 0) {
    // What is gone is shown as of the revision at which it went.
    outcome.object = SetMetadata(context.arena(), *context.storage().type, outcome.object, "resourceVersion",
                                 Value::String(context.arena(), std::to_string(outcome.revision)));
    outcome.document = context.work;
  }
  co_return EncodeAnswer(context, Answer{code, outcome.document, outcome.object, &context.storage(), nullptr});
}

Task<Result<http::Response>> DeleteCollection(RequestContext& context) {
  CO_TRY_ASSIGN(ListQuery query, ParseListQuery(context.query));
  CO_TRY_ASSIGN(Selection selection, Selection::Make(query, *context.resource));
  CO_TRY_ASSIGN(Value body, ReadDeleteOptions(context));
  CO_TRY_ASSIGN(DeleteQuery options, ParseDeleteQuery(context.query, body));
  WarnOfOrphans(context, options);
  // Upstream lists in pages of its own unless the client names a limit; then it deletes that page alone.
  constexpr int64_t kAll = int64_t{1} << 40;
  if (query.limit <= 0) query.limit = kAll;
  auto take = ReadPage(context, query, selection);
  CO_TRY_ASSIGN(ListPage page, co_await std::move(take));
  if (!page.entries.empty()) CO_TRY(CheckKeyNamespace(context));
  std::vector<cache::EntryPtr> deleted;
  for (const cache::EntryPtr& entry : page.entries) {
    CO_TRY_ASSIGN(object::DocumentPtr document, entry->document());
    std::string ns(MetadataString(document->root(), "namespace")), name(MetadataString(document->root(), "name"));
    auto deletion = DeleteOne(context, options, std::move(ns), std::move(name));
    auto outcome = co_await std::move(deletion);
    // Gone already is as good.
    if (!outcome && !outcome.error().IsNotFound()) co_return Fail(outcome.error());
    deleted.push_back(entry);
  }
  co_return EncodeList(context, deleted, page.meta);
}

}  // namespace homeostat::server
