#include "controllers/node_ttl.h"

#include <utility>

#include "homeostat/api/core/v1.h"

namespace homeostat::controllers {

using api::core::v1::Node;

namespace {

constexpr std::string_view kAnnotation = "node.alpha.kubernetes.io/ttl";

struct Step {
  size_t fewest, most;
  int seconds;
};
constexpr Step kSteps[] = {{0, 100, 0}, {90, 500, 15}, {450, 1000, 30}, {900, 2000, 60}, {1800, SIZE_MAX, 300}};

}  // namespace

int NodeTtl(size_t nodes, int before) {
  for (const Step& step : kSteps) {
    if (step.seconds == before && nodes >= step.fewest && nodes <= step.most) return before;
  }
  for (const Step& step : kSteps) {
    if (nodes <= step.most) return step.seconds;
  }
  return before;
}

NodeTtlController::NodeTtlController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers)
    : client_(std::move(client)),
      nodes_(informers.For<Node>()),
      controller_(runtime, {.name = "ttlcontroller", .workers = 2, .backoff = {}, .log = client_.options().log}, [this](std::string name) { return Reconcile(std::move(name)); }) {
  controller_.WatchMapped(nodes_, [this](const sdk::Change& change) {
    seconds_ = NodeTtl(nodes_.size(), seconds_);
    bool wrong = change.current && sdk::meta::Annotations(change.current->root()).Get(kAnnotation).AsString() != std::to_string(seconds_);
    return wrong ? std::vector<std::string>{std::string(sdk::meta::Name(change.current->root()))} : std::vector<std::string>();
  });
}

Task<Result<sdk::ReconcileOutcome>> NodeTtlController::Reconcile(std::string name) {
  object::DocumentPtr node = nodes_.Get(name);
  std::string wanted = std::to_string(seconds_);
  if (!node || sdk::meta::Annotations(node->root()).Get(kAnnotation).AsString() == wanted) co_return sdk::ReconcileOutcome();
  std::string body = "{\"metadata\":{\"annotations\":{\"" + std::string(kAnnotation) + "\":\"" + wanted + "\"}}}";
  auto patch = client_.Patch(Node::SchemaKind(), {}, name, sdk::PatchType::kStrategicMerge, Bytes(std::move(body)), {}, {});
  Result<object::DocumentPtr> patched = co_await patch;
  if (!patched && !patched.error().IsNotFound()) co_return Fail(patched.error());
  co_return sdk::ReconcileOutcome();
}

}  // namespace homeostat::controllers
