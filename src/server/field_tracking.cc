#include "server/field_tracking.h"

#include "homeostat/object/json.h"
#include "homeostat/object/time.h"
#include "homeostat/schema/api_version.h"
#include "homeostat/schema/conform.h"
#include "homeostat/schema/json_encoder.h"
#include "patch/field_manager.h"
#include "server/body.h"
#include "server/custom/conversion.h"

namespace homeostat::server {
namespace {

// Conversions that a webhook has made for the tracking of one write. Tracking is a pure function that can't wait: what it finds
// missing here is made, and it is run again.
struct ConversionMemo {
  struct Made {
    Value object;  // JSON form
    std::string api_version;
    Result<Value> converted;
  };
  struct Wanted {
    Value object;
    std::string api_version;
  };
  std::vector<Made> made;
  std::vector<Wanted> wanted;

  Result<Value> Find(const Value& object, std::string_view api_version) {
    if (object.Get("apiVersion").AsString() == api_version) return object;
    for (const Made& known : made) {
      if (known.api_version == api_version && object::Equal(known.object, object)) return known.converted;
    }
    wanted.push_back({object, std::string(api_version)});
    return Fail(InternalError("not converted yet"));
  }
};

// More than any write needs: each round makes what the one before has asked for.
constexpr int kConversionRounds = 32;

// The JSON form of an object in another version, by the webhook.
Task<Result<Value>> ConvertForm(RequestContext& context, Value form, std::string api_version) {
  Conversion& conversion = *context.resource->conversion;
  const schema::Kind* from = conversion.Find(schema::ParseApiVersion(form.Get("apiVersion").AsString()).version);
  const schema::Kind* to = conversion.Find(schema::ParseApiVersion(api_version).version);
  if (from == nullptr || to == nullptr) co_return Fail(InternalError("no such version: " + api_version));
  schema::ConformReport report;
  report.collect = false;
  CO_TRY_ASSIGN(Value typed, schema::Conform(context.arena(), form, *from->type, report));
  std::vector<Conversion::Item> items{{typed, from}};
  auto convert = conversion.Convert(context.parts.caller, std::move(items), *to);
  CO_TRY_ASSIGN(std::vector<object::OwnedValue> converted, co_await std::move(convert));
  context.arena().Keep(converted.front().document);
  co_return schema::ToJsonForm(context.arena(), *to->type, converted.front().value);
}

// Makes what is wanted.
Task<void> MakeWanted(RequestContext& context, ConversionMemo& memo) {
  std::vector<ConversionMemo::Wanted> wanted = std::exchange(memo.wanted, {});
  for (const ConversionMemo::Wanted& one : wanted) {
    auto convert = ConvertForm(context, one.object, one.api_version);
    Result<Value> converted = co_await std::move(convert);
    memo.made.push_back({one.object, one.api_version, std::move(converted)});
  }
}

// Entries recorded in another version of a custom kind. Its versions are all there are, served or not; without a webhook
// the object is the same in all of them. The kind lives as long as the request: nothing of it is copied.
patch::VersionConverter VersionsOfCustomKind(const Resource& resource, ConversionMemo* memo) {
  patch::VersionConverter versions;
  versions.find_type = [&owner = *resource.owner, group = resource.kind->gvk.group](std::string_view api_version) -> Result<const schema::Type*> {
    const auto [its_group, version] = schema::ParseApiVersion(api_version);
    const schema::Kind* kind = its_group == group ? owner.KindIn(version) : nullptr;
    if (kind == nullptr) return Fail(Status(500, "", "request to convert CR to an invalid group/version: " + std::string(api_version)));
    return kind->type;
  };
  if (resource.conversion != nullptr && memo != nullptr) {
    versions.convert = [memo](patch::Arena&, const Value& object, std::string_view api_version) { return memo->Find(object, api_version); };
  } else {
    versions.convert = [](patch::Arena& arena, const Value& object, std::string_view api_version) -> Result<Value> {
      object::ObjectBuilder renamed(arena, object);
      renamed.Set("apiVersion", Value::String(arena, api_version));
      return renamed.Build();
    };
  }
  return versions;
}

// Entries recorded in another served version of a built-in kind.
patch::VersionConverter VersionsOfBuiltInKind(Resources& resources, const schema::Kind* kind) {
  patch::VersionConverter versions;
  auto find = [&resources, kind](std::string_view api_version) -> const Resource* {
    const auto [group, version] = schema::ParseApiVersion(api_version);
    return group == kind->gvk.group ? resources.Find(group, version, kind->plural) : nullptr;
  };
  versions.find_type = [find](std::string_view api_version) -> Result<const schema::Type*> {
    const Resource* other = find(api_version);
    return other == nullptr ? nullptr : other->kind->type;
  };
  versions.convert = [find](patch::Arena& arena, const Value& object, std::string_view api_version) -> Result<Value> {
    const Resource* from = find(object.Get("apiVersion").AsString());
    const Resource* to = find(api_version);
    if (from == nullptr || to == nullptr) return Fail(InternalError("no such version: " + std::string(api_version)));
    schema::ConformReport report;
    report.collect = false;
    TRY_ASSIGN(Value typed, schema::Conform(arena, object, *from->kind->type, report));
    TRY_ASSIGN(Value stored, ToStorage(arena, *from, typed));
    TRY_ASSIGN(Value converted, FromStorage(arena, *to, stored));
    return schema::ToJsonForm(arena, *to->kind->type, converted);
  };
  return versions;
}

patch::FieldManager ManagerFor(RequestContext& context, std::string_view subresource, ConversionMemo* memo) {
  const schema::Kind& kind = context.kind();
  patch::FieldManagerOptions options;
  options.kind = kind.gvk;
  options.type = kind.type;
  options.subresource = subresource;
  options.reset_fields = patch::ResetFields(context.arena(), kind.reset_fields, subresource);
  options.versions = context.resource->custom ? VersionsOfCustomKind(*context.resource, memo) : VersionsOfBuiltInKind(context.parts.resources, &kind);
  return patch::FieldManager(std::move(options));
}

// The object as it reads after a conversion to the stored version and back, which may have given it defaults of that version. Custom
// objects are tracked in the version they are sent in.
Value AsStored(RequestContext& context, const Value& object) {
  if (context.resource->custom) return object;
  auto stored = ToStorage(context.arena(), *context.resource, object);
  if (!stored) return object;
  return FromStorage(context.arena(), *context.resource, *stored).value_or(object);
}

}  // namespace

Value TrackUpdate(RequestContext& context, const Value& live, const Value& object, std::string_view manager,
                  std::string_view subresource, bool reset) {
  Value changed = AsStored(context, object);
  Value tracked = ManagerFor(context, subresource, nullptr).Update(context.arena(), live, changed, manager, context.runtime().WallNow(), reset);
  return schema::WithoutEmpty(context.arena(), *context.kind().type, tracked);
}

Task<Value> TrackUpdateOf(RequestContext& context, Value live, Value object, std::string manager, std::string subresource, bool reset) {
  ConversionMemo memo;
  Value changed = AsStored(context, object), tracked;
  WallTime now = context.runtime().WallNow();
  for (int round = 0; round < kConversionRounds; ++round) {
    tracked = ManagerFor(context, subresource, &memo).Update(context.arena(), live, changed, manager, now, reset, &context.empty_fields);
    if (memo.wanted.empty()) break;
    auto make = MakeWanted(context, memo);
    co_await std::move(make);
  }
  co_return schema::WithoutEmpty(context.arena(), *context.kind().type, tracked);
}

namespace {

// Times of a custom resource's metadata that are none are nothing: nobody decodes what apply gives before it has its own.
Value WithoutBadTimes(object::Arena& arena, const Value& object) {
  Value metadata = object.Get("metadata");
  object::ObjectBuilder good(arena, metadata);
  bool changed = false;
  for (std::string_view name : {"creationTimestamp", "deletionTimestamp"}) {
    Value time = metadata.Get(name);
    if (!time.IsString() || object::ParseTime(time.AsString())) continue;
    good.Erase(name);
    changed = true;
  }
  if (!changed) return object;
  object::ObjectBuilder result(arena, object);
  result.Set("metadata", good.Build());
  return result.Build();
}

Result<Value> TypedOutcome(RequestContext& context, const patch::FieldManager& fields, const Value& applied, const patch::FieldManager::Applied& outcome) {
  if (!outcome.changed) {
    context.empty_fields.Clear();
    return outcome.object;
  }
  schema::ConformReport report;
  report.collect = false;
  report.empty_fields = &context.empty_fields;
  context.empty_fields.Clear();
  Result<Value> typed = outcome.object;
  const schema::Type& type = *context.kind().type;
  report.keep_nulls = type.structural;
  if (type.structural) typed = WithoutBadTimes(context.arena(), outcome.object);
  else typed = schema::FromUnstructured(context.arena(), outcome.object, type);
  if (typed) typed = schema::Conform(context.arena(), *typed, type, report);
  if (!typed) {
    return Fail(Status(500, "", "failed to convert new object (" + fields.Describe(applied) + ") to proper version: unable to convert "
                                "unstructured object to " + schema::KindText(context.kind().gvk) + ": " + typed.error().message()));
  }
  return context.defaults(context.kind()).Apply(context.arena(), type, *typed);
}

}  // namespace

Task<Result<Value>> ApplyConfiguration(RequestContext& context, Value live, Value applied, std::string manager, std::string subresource,
                                       bool force) {
  ConversionMemo memo;
  patch::FieldManager fields = ManagerFor(context, subresource, &memo);
  WallTime now = context.runtime().WallNow();
  for (int round = 0;; ++round) {
    auto outcome = fields.Apply(context.arena(), live, applied, manager, force, now);
    if (!memo.wanted.empty() && round < kConversionRounds) {
      auto make = MakeWanted(context, memo);
      co_await std::move(make);
      continue;
    }
    if (!outcome) co_return Fail(outcome.error());
    co_return TypedOutcome(context, fields, applied, *outcome);
  }
}

}  // namespace homeostat::server
