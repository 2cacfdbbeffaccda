#include "controllers/apply.h"

#include <utility>

#include "homeostat/object/json.h"
#include "homeostat/schema/protobuf.h"

namespace homeostat::controllers {

Task<Result<object::DocumentPtr>> Apply(sdk::Client client, const schema::Kind& kind, object::DocumentPtr wanted, std::string subresource,
                                        std::string_view manager) {
  object::Arena arena;
  // Not as Go would write it: that has fields in it which nobody has set.
  std::string body = object::JsonText(schema::WithTypeMeta(arena, *kind.type, wanted->root(), kind.gvk.ApiVersion(), kind.gvk.kind));
  std::string ns(sdk::meta::Namespace(wanted->root())), name(sdk::meta::Name(wanted->root()));
  sdk::PatchOptions options{.field_manager = std::string(manager), .force = true};
  auto send = client.Patch(kind, std::move(ns), std::move(name), sdk::PatchType::kApply, Bytes(std::move(body)), std::move(subresource), std::move(options));
  Result<object::DocumentPtr> sent = co_await send;
  if (!sent && sent.error().IsNotFound()) co_return object::DocumentPtr();
  co_return sent;
}

}  // namespace homeostat::controllers
