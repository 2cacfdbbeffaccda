#include <algorithm>

#include "admission/admission.h"
#include "patch/managed_fields.h"

namespace homeostat::admission {

Status Forbid(const Request& request, std::string_view why) {
  std::string_view name = request.name;
  object::Value metadata = request.object.Get("metadata");
  if (name.empty()) name = metadata.Get("name").AsString();
  if (name.empty()) name = metadata.Get("generateName").AsString();
  const schema::Kind& kind = request.context.requested != nullptr ? *request.context.requested : request.kind;
  return ForbiddenError(kind.gvk.group, kind.plural, name.empty() ? "Unknown" : name, why);
}

std::string JoinFaults(std::span<const std::string> faults) {
  std::vector<std::string_view> distinct;
  for (const std::string& fault : faults) {
    if (std::ranges::find(distinct, fault) == distinct.end()) distinct.push_back(fault);
  }
  if (distinct.size() == 1) return std::string(distinct.front());
  std::string joined = "[";
  for (size_t i = 0; i < distinct.size(); ++i) joined.append(i > 0 ? ", " : "").append(distinct[i]);
  return joined + "]";
}

namespace {

// Managed fields that nobody can read any more are as they were before; the client is told.
object::Value WithReadableManagedFields(const Request& request, const object::Value& object) {
  object::Value before = request.object.Path({"metadata", "managedFields"}), after = object.Path({"metadata", "managedFields"});
  if (!after || object::Equal(before, after)) return object;
  auto valid = patch::ValidateManagedFieldsList(after);
  if (valid) return object;
  if (request.context.warnings != nullptr) {
    request.context.warnings->push_back(
        ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission "
        "controller; please fix your requests: " + valid.error().message());
  }
  return object::WithPath(request.arena(), object, {"metadata", "managedFields"}, before);
}

}  // namespace

Task<Result<object::Value>> Chain::Mutate(const Request& request) {
  Reinvocation reinvocation;
  Request current = request;
  current.reinvocation = &reinvocation;
  auto first = RunMutating(current);
  CO_TRY_ASSIGN(current.object, co_await std::move(first));
  if (reinvocation.asked_for) {
    reinvocation.is_repeated = true;
    auto second = RunMutating(current);
    CO_TRY_ASSIGN(current.object, co_await std::move(second));
  }
  co_return WithReadableManagedFields(request, current.object);
}

Task<Result<object::Value>> Chain::RunMutating(Request current) {
  for (const std::unique_ptr<Plugin>& plugin : plugins_) {
    if (!plugin->Handles(current)) continue;
    auto mutate = plugin->Mutate(current);
    CO_TRY_ASSIGN(current.object, co_await std::move(mutate));
  }
  co_return current.object;
}

Task<Result<void>> Chain::Validate(const Request& request) {
  for (const std::unique_ptr<Plugin>& plugin : plugins_) {
    if (!plugin->Handles(request)) continue;
    auto validate = plugin->Validate(request);
    CO_TRY(co_await std::move(validate));
  }
  co_return Done();
}

std::vector<std::string_view> Chain::names() const {
  std::vector<std::string_view> names;
  for (const std::unique_ptr<Plugin>& plugin : plugins_) names.push_back(plugin->name());
  return names;
}

}  // namespace homeostat::admission
