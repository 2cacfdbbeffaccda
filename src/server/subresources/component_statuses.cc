// ComponentStatus: the health of what a cluster consists of, asked anew at every read. Deprecated, but clients still ask.
// Of the components upstream names, the store is the one whose health an API server can tell by itself.
#include "homeostat/api/core/v1.h"
#include "homeostat/api/core/v1_builders.h"
#include "server/encode.h"
#include "server/options.h"
#include "server/selection.h"
#include "server/subresources/subresources.h"

namespace homeostat::server {
namespace {

constexpr std::string_view kStore = "etcd-0";
constexpr std::string_view kHealthy = "Healthy";

void FillStore(api::core::v1::ComponentStatusBuilder& component, const HealthFunction& health) {
  std::optional<std::string> problem = health();
  component.mutable_metadata().set_name(kStore);
  auto condition = component.add_conditions();
  condition.set_type(kHealthy);
  condition.set_status(problem ? "False" : "True");
  if (problem) condition.set_error(*problem);
  else condition.set_message("ok");
}

Result<http::Response> GetComponent(RequestContext& context, const HealthFunction& health) {
  if (context.info.name != kStore) return Fail(NotFoundError("", "componentstatus", context.info.name));
  api::core::v1::ComponentStatusBuilder component;
  FillStore(component, health);
  return EncodeAnswer(context, Answer{200, context.work, component.FreezeInto(context.arena()), &context.kind(), nullptr});
}

Result<http::Response> ListComponents(RequestContext& context, const HealthFunction& health) {
  TRY_ASSIGN(ListQuery query, ParseListQuery(context.query));
  TRY_ASSIGN(Selection selection, Selection::Make(query, *context.resource));
  api::core::v1::ComponentStatusBuilder component;
  FillStore(component, health);
  Value store = component.FreezeInto(context.arena());
  std::vector<Value> components;
  if (selection.Matches(store)) components.push_back(store);
  return EncodeComputedList(context, components);
}

Task<Result<http::Response>> Ready(Result<http::Response> response) { co_return response; }

}  // namespace

void ServeComponentStatuses(ApiServer& server, HealthFunction store_health) {
  server.HandleResource("", "componentstatuses", "", "get",
                        [store_health](RequestContext& context) { return Ready(GetComponent(context, store_health)); });
  server.HandleResource("", "componentstatuses", "", "list",
                        [store_health](RequestContext& context) { return Ready(ListComponents(context, store_health)); });
}

}  // namespace homeostat::server
