#include "server/admission_requests.h"

#include "homeostat/api/registry.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"

namespace homeostat::server {
namespace {

using object::ObjectBuilder;

ObjectBuilder Named(RequestContext& context, std::string_view kind) {
  ObjectBuilder options(context.arena());
  options.Append("kind", Value::StringRef(kind));
  options.Append("apiVersion", Value::StringRef("meta.k8s.io/v1"));
  return options;
}

Value AllOf(RequestContext& context) {
  object::ListBuilder all(context.arena());
  all.Append(Value::StringRef("All"));
  return all.Build();
}

// One field of options as the query says it; absent if it says nothing.
Result<Value> FromQuery(RequestContext& context, const schema::Field& field) {
  std::vector<std::string> texts;
  for (std::string_view text : context.query.GetAll(field.name)) texts.emplace_back(text);
  if (texts.empty()) return Value();
  object::Arena& arena = context.arena();
  auto integer = [&](const std::string& text) -> Result<Value> {
    auto parsed = object::ParseJson(arena, text);
    if (parsed && parsed->IsInt()) return *parsed;
    return Fail(BadRequestError("strconv.ParseInt: parsing " + object::JsonText(Value::StringRef(text)) + ": invalid syntax"));
  };
  switch (field.type->form) {
    case schema::Form::kBool: return Value::Bool(texts[0] != "0" && texts[0] != "false" && texts[0] != "False" && texts[0] != "FALSE");
    case schema::Form::kInt32: case schema::Form::kInt64: return integer(texts[0]);
    case schema::Form::kString: return Value::String(arena, texts[0]);
    case schema::Form::kList: {
      object::ListBuilder list(arena);
      bool numbers = field.type->element->form == schema::Form::kInt32;
      for (const std::string& text : texts) {
        Result<Value> item = numbers ? integer(text) : Result<Value>(Value::String(arena, text));
        if (!item) return item;
        list.Append(*item);
      }
      return list.Build();
    }
    default: return Value();
  }
}

Result<Value> ConnectOptions(RequestContext& context, const schema::Subresource& sub, const std::string& path) {
  const schema::Type* type = api::FindTypeOfKind(sub.kind.group, sub.kind.version, sub.kind.kind);
  if (type == nullptr) return Value();
  ObjectBuilder untyped(context.arena());
  for (const schema::Field& field : type->fields) {
    if (field.name == "kind" || field.name == "apiVersion") continue;
    TRY_ASSIGN(Value value, FromQuery(context, field));
    if (field.name == "path" && !path.empty()) value = Value::String(context.arena(), path);
    if (!value.IsAbsent()) untyped.Append(field.name, value);
  }
  schema::ConformReport report;
  report.collect = false;
  return schema::Conform(context.arena(), untyped.Build(), *type, report);
}

}  // namespace

Value WriteOptionsValue(RequestContext& context, admission::Operation operation, bool dry_run) {
  ObjectBuilder options = Named(context, operation == admission::Operation::kCreate ? "CreateOptions" : "UpdateOptions");
  if (dry_run) options.Append("dryRun", AllOf(context));
  for (std::string_view name : {"fieldManager", "fieldValidation"}) {
    std::string_view text = context.query.Get(name);
    if (!text.empty()) options.Append(name, Value::String(context.arena(), text));
  }
  return options.Build();
}

Value DeleteOptionsValue(RequestContext& context, const DeleteQuery& query) {
  object::Arena& arena = context.arena();
  ObjectBuilder options = Named(context, "DeleteOptions");
  if (query.grace_period_seconds) options.Append("gracePeriodSeconds", Value::Int(*query.grace_period_seconds));
  ObjectBuilder preconditions(arena);
  if (query.precondition_uid) preconditions.Append("uid", Value::String(arena, *query.precondition_uid));
  if (query.precondition_resource_version) {
    preconditions.Append("resourceVersion", Value::String(arena, *query.precondition_resource_version));
  }
  if (!preconditions.empty()) options.Append("preconditions", preconditions.Build());
  if (query.orphan_dependents) options.Append("orphanDependents", Value::Bool(*query.orphan_dependents));
  if (query.propagation_policy) options.Append("propagationPolicy", Value::String(arena, *query.propagation_policy));
  if (query.dry_run) options.Append("dryRun", AllOf(context));
  return options.Build();
}

Task<Result<void>> AdmitConnect(RequestContext& context, std::string path) {
  if (context.query.Has("dryRun")) co_return Fail(BadRequestError("dryRun is not supported"));
  const std::string& name = context.info.subresource;
  const schema::Subresource* sub = context.kind().FindSubresource(name);
  Value options;
  if (sub != nullptr) {
    CO_TRY_ASSIGN(options, ConnectOptions(context, *sub, path));
  }
  kinds::RuleContext rules = context.Rules(false, name);
  admission::Request admit{admission::Operation::kConnect, context.storage(), name, context.info.ns, context.info.name,
                           options, Value(), Value(), rules};
  auto mutate = context.parts.admission.Mutate(admit);
  CO_TRY_ASSIGN(admit.object, co_await std::move(mutate));
  auto validate = context.parts.admission.Validate(admit);
  co_return co_await std::move(validate);
}

}  // namespace homeostat::server
