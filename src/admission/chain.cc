#include <algorithm>

#include "admission/admission.h"
#include "admission/admission_metrics.h"
#include "patch/managed_fields.h"

namespace homeostat::admission {

std::string_view OperationName(Operation operation) {
  switch (operation) {
    case Operation::kCreate: return "CREATE";
    case Operation::kUpdate: return "UPDATE";
    case Operation::kDelete: return "DELETE";
    case Operation::kConnect: return "CONNECT";
  }
  return "";
}

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

void Chain::Count(Entry* entry, const Request& request, Hooks hook, bool rejected, MonotonicTime start) {
  if (metrics_ == nullptr) return;
  Step step = hook == Hooks::kAdmit ? Step::kAdmit : Step::kValidate;
  size_t place = static_cast<size_t>(step) * 8 + static_cast<size_t>(request.operation) * 2 + (rejected ? 1 : 0);
  Histogram*& series = (entry == nullptr ? steps_ : entry->series)[place];
  if (series == nullptr) {
    series = entry == nullptr ? &metrics_->OfStep(step, request.operation, rejected)
                              : &metrics_->OfPlugin(entry->plugin->name(), step, request.operation, rejected);
  }
  series->Observe(std::chrono::duration<double>(request.context.runtime.Now() - start).count());
}

Task<Result<object::Value>> Chain::Mutate(const Request& request) {
  MonotonicTime start = request.context.runtime.Now();
  auto mutate = MutateTwice(request);
  auto mutated = co_await std::move(mutate);
  Count(nullptr, request, Hooks::kAdmit, !mutated, start);
  co_return mutated;
}

Task<Result<object::Value>> Chain::MutateTwice(const Request& request) {
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
  Runtime& runtime = current.context.runtime;
  for (Entry& entry : plugins_) {
    if (!entry.Has(Hooks::kAdmit) || !entry.plugin->Handles(current)) continue;
    MonotonicTime start = runtime.Now();
    auto mutate = entry.plugin->Mutate(current);
    auto mutated = co_await std::move(mutate);
    Count(&entry, current, Hooks::kAdmit, !mutated, start);
    if (!mutated) co_return mutated;
    current.object = *mutated;
  }
  co_return current.object;
}

Task<Result<void>> Chain::Validate(const Request& request) {
  MonotonicTime start = request.context.runtime.Now();
  auto validate = RunValidating(request);
  auto valid = co_await std::move(validate);
  Count(nullptr, request, Hooks::kValidate, !valid, start);
  co_return valid;
}

Task<Result<void>> Chain::RunValidating(const Request& request) {
  Runtime& runtime = request.context.runtime;
  for (Entry& entry : plugins_) {
    if (!entry.Has(Hooks::kValidate) || !entry.plugin->Handles(request)) continue;
    MonotonicTime start = runtime.Now();
    auto validate = entry.plugin->Validate(request);
    auto valid = co_await std::move(validate);
    Count(&entry, request, Hooks::kValidate, !valid, start);
    if (!valid) co_return valid;
  }
  co_return Done();
}

std::vector<std::string_view> Chain::names() const {
  std::vector<std::string_view> names;
  for (const Entry& entry : plugins_) names.push_back(entry.plugin->name());
  return names;
}

}  // namespace homeostat::admission
