#include "admission/user/mutations.h"

#include <string>

#include "homeostat/schema/api_version.h"
#include "homeostat/schema/conform.h"
#include "patch/json_patch.h"
#include "patch/typed_merge.h"

namespace homeostat::admission {
namespace {

using object::Value;
using Outcome = std::expected<Value, MutationFault>;

std::unexpected<MutationFault> Fault(std::string_view text) { return std::unexpected(MutationFault{SystemError(text), false}); }
std::unexpected<MutationFault> Final(Status status) { return std::unexpected(MutationFault{std::move(status), true}); }

// With its defaults, in JSON form again.
Outcome Completed(const Attributes& attributes, const Place& place, const Value& typed) {
  object::Arena& arena = attributes.request().arena();
  Value completed = typed;
  if (attributes.IsOfResource(place)) {
    auto defaulted = attributes.served().Default(arena, typed, *place.resource_kind);
    if (!defaulted) return Fault(defaulted.error().message());
    completed = *defaulted;
  }
  return JsonFormOf(arena, *place.type, place.kind, completed);
}

// Why constructed objects don't stand where their names say, or "".
std::string NamesFault(const cel::Value& value) {
  bool constructed = value.IsMap() && !value.map().StructName().empty();
  std::string why = constructed ? cel::CheckTypeNamesMatchFieldPathNames(value) : std::string();
  return why.empty() ? why : "type mismatch: " + why;
}

// Upstream hands values of the language that JSON has no form for on to the merge as they are, which can't tell what they are: the
// first such value, or "". In patches they become texts.
std::string UnfitValue(const cel::Value& value, const std::string& path) {
  std::string place = path.empty() ? "." : path;
  if (value.IsBytes()) {
    std::string octets;
    constexpr std::string_view kDigits = "0123456789abcdef";
    for (unsigned char c : value.text()) {
      octets += octets.empty() ? "0x" : ", 0x";
      if (c >= 16) octets += kDigits[c / 16];
      octets += kDigits[c % 16];
    }
    return place + ": expected string, got &value.valueUnstructured{Value:[]uint8{" + octets + "}}";
  }
  if (value.IsDuration()) {
    return place + ": expected string, got &value.valueUnstructured{Value:" + std::to_string(value.nanoseconds()) + "}";
  }
  if (value.IsTimestamp()) return place + ": expected any scalar, got &{" + cel::ToText(value) + "}";
  if (value.IsList()) {
    for (uint64_t i = 0; i < value.list().size(); ++i) {
      if (std::string why = UnfitValue(value.list().At(i), path + "[" + std::to_string(i) + "]"); !why.empty()) return why;
    }
  }
  if (value.IsMap()) {
    for (uint64_t i = 0; i < value.map().size(); ++i) {
      std::string name(value.map().KeyAt(i).text());
      if (std::string why = UnfitValue(value.map().ValueAt(i), path + "." + name); !why.empty()) return why;
    }
  }
  return {};
}

std::string Joined(const std::vector<std::string>& texts) {
  std::string joined;
  for (const std::string& text : texts) joined += (joined.empty() ? "" : ", ") + text;
  return joined;
}

// Upstream finds types in what OpenAPI publishes of the kind's own group and version: what another group's subresource takes (scale,
// eviction) is not in there, nor are the options of connections.
bool IsDescribed(const Attributes& attributes, const Place& place) {
  const schema::GroupVersionKind& resource = place.resource_kind->gvk;
  return attributes.request().operation != Operation::kConnect && place.kind.group == resource.group && place.kind.version == resource.version;
}

Outcome ApplyConfiguration(const Attributes& attributes, const Place& place, const Value& object, const cel::Value& made) {
  object::Arena& arena = attributes.request().arena();
  if (std::string why = NamesFault(made); !why.empty()) return Fault(why);
  if (std::string why = UnfitValue(made, ""); !why.empty()) {
    return Fault("error applying patch: failed to convert patch object to typed object: " + why);
  }
  cel::JsonResult json = cel::ToJson(arena, made);
  if (!json.error.empty()) return Fault(json.error);
  object::ObjectBuilder named(arena, json.value);
  named.Set("apiVersion", object.Get("apiVersion"));
  named.Set("kind", object.Get("kind"));
  Value configuration = named.Build();
  const std::string kApplying = "error applying patch: ";
  if (!IsDescribed(attributes, place)) {
    return Fault(kApplying + "failed to convert patch object to typed object: no corresponding type for " + schema::KindText(place.kind));
  }
  if (auto checked = patch::CheckTyped(arena, *place.type, configuration, patch::Duplicates::kRefused); !checked) {
    return Fault(kApplying + "failed to convert patch object to typed object: " + checked.error().message());
  }
  if (std::vector<std::string> atomics = patch::AtomicParts(*place.type, configuration); !atomics.empty()) {
    return Fault(kApplying + "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: " + Joined(atomics));
  }
  if (auto checked = patch::CheckTyped(arena, *place.type, object, patch::Duplicates::kAllowed); !checked) {
    return Fault(kApplying + "failed to convert original object to typed object: " + checked.error().message());
  }
  Value merged = patch::MergeTyped(arena, *place.type, object, configuration);
  schema::ConformReport report;
  report.collect = false;
  Result<Value> typed = merged;
  if (!place.type->structural) typed = schema::FromUnstructured(arena, merged, *place.type);
  if (typed) typed = schema::Conform(arena, *typed, *place.type, report);
  if (!typed) {
    return Fault("unable to convert unstructured object to " + schema::KindText(place.kind) + ": " + typed.error().message());
  }
  return Completed(attributes, place, *typed);
}

// The patch that a list of JSONPatch{…} stands for, or why there is none.
std::expected<Value, std::string> PatchOf(object::Arena& arena, const cel::Value& list) {
  object::ListBuilder operations(arena);
  for (uint64_t i = 0; i < list.list().size(); ++i) {
    cel::Value item = list.list().At(i);
    if (!item.IsMap()) return std::unexpected("type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch");
    object::ObjectBuilder operation(arena);
    for (std::string_view field : {"op", "path", "from"}) {
      std::optional<cel::Value> text = item.map().Find(cel::Value::String(field));
      bool said = text && text->IsString() && !(field == "from" && text->text().empty());
      if (said) operation.Append(field, Value::String(arena, text->text()));
      else if (field != "from") operation.Append(field, Value::StringRef(""));
    }
    if (std::optional<cel::Value> value = item.map().Find(cel::Value::String("value"))) {
      if (std::string why = NamesFault(*value); !why.empty()) return std::unexpected(std::move(why));
      cel::JsonResult json = cel::ToJson(arena, *value);
      if (!json.error.empty()) {
        return std::unexpected("JSONPath valueExpression evaluated to a type that could not marshal to JSON: " + json.error);
      }
      operation.Append("value", json.value);
    }
    operations.Append(operation.Build());
  }
  return operations.Build();
}

Outcome ApplyPatch(const Attributes& attributes, const Place& place, const Value& object, const cel::Value& made) {
  object::Arena& arena = attributes.request().arena();
  if (!made.IsList()) return Fault("type mismatch: JSONPatchType.expression should evaluate to array");
  auto operations = PatchOf(arena, made);
  if (!operations) return Fault(operations.error());
  patch::JsonPatchFault fault;
  patch::JsonPatchOptions options;
  options.fault = &fault;
  auto patched = patch::ApplyJsonPatch(arena, object, *operations, options);
  if (!patched && fault.test_failed) return object;
  if (!patched) return Fault("JSON Patch: " + (fault.text.empty() ? patched.error().message() : fault.text));
  schema::ConformReport report;
  report.collect = !place.type->structural;
  auto typed = schema::Conform(arena, *patched, *place.type, report);
  if (!typed) return Final(InternalError(typed.error().message()));
  if (report.HasProblems()) return Final(InternalError(report.StrictMessage()));
  return Completed(attributes, place, *typed);
}

}  // namespace

Task<Outcome> ApplyMutation(const Mutation& mutation, const Attributes& attributes, const Place& place, Value object,
                            const ExpressionInput& input) {
  if (place.type == nullptr) co_return Final(InternalError("unknown kind " + schema::KindText(place.kind)));
  if (!mutation.expression.expression.program) co_return Fault(mutation.expression.expression.error);
  auto evaluate = EvaluateAll({&mutation.expression, 1}, input, kExpressionBudget);
  ExpressionOutcomes result = co_await std::move(evaluate);
  if (!result.fault.empty()) co_return Fault(result.fault);
  const ExpressionOutcome& outcome = result.outcomes.front();
  if (!outcome.error.empty()) co_return Fault(outcome.error);
  co_return mutation.json_patch ? ApplyPatch(attributes, place, object, outcome.value)
                                : ApplyConfiguration(attributes, place, object, outcome.value);
}

Task<Result<Value>> FromPlace(const Attributes& attributes, const Place& place, Value form) {
  object::Arena& arena = attributes.request().arena();
  schema::ConformReport report;
  report.collect = false;
  CO_TRY_ASSIGN(Value typed, schema::Conform(arena, form, *place.type, report));
  if (!attributes.IsOfResource(place)) co_return typed;
  auto convert = attributes.served().ConvertElsewhere(arena, typed, *place.resource_kind, attributes.request().kind);
  co_return co_await std::move(convert);
}

}  // namespace homeostat::admission
