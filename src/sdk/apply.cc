#include "sdk/apply.h"

#include <utility>

#include "homeostat/object/json.h"
#include "homeostat/schema/protobuf.h"

namespace homeostat::sdk {

Task<Result<object::DocumentPtr>> Apply(Client client, const schema::Kind& kind, object::DocumentPtr wanted, std::string subresource,
                                        std::string_view manager) {
  object::Arena arena;
  // Not as Go would write it: that has fields in it which nobody has set.
  std::string body = object::JsonText(schema::WithTypeMeta(arena, *kind.type, wanted->root(), kind.gvk.ApiVersion(), kind.gvk.kind));
  std::string ns(meta::Namespace(wanted->root())), name(meta::Name(wanted->root()));
  PatchOptions options{.field_manager = std::string(manager), .force = true};
  auto send = client.Patch(kind, std::move(ns), std::move(name), PatchType::kApply, Bytes(std::move(body)), std::move(subresource), std::move(options));
  Result<object::DocumentPtr> sent = co_await send;
  if (!sent && sent.error().IsNotFound()) co_return object::DocumentPtr();
  co_return sent;
}

}  // namespace homeostat::sdk
