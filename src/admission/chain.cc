#include "admission/admission.h"

namespace homeostat::admission {

Task<Result<object::Value>> Chain::Mutate(const Request& request) {
  Request current = request;
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

}  // namespace homeostat::admission
