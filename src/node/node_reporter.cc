#include "node/node_reporter.h"

#include "homeostat/api/coordination/v1_builders.h"
#include "homeostat/api/core/v1_builders.h"
#include "node/values.h"

namespace homeostat::node {

namespace coordination = api::coordination::v1;

namespace {

// Upstream's defaults: the status is looked at every ten seconds and written when it changed, or after five minutes; the
// lease holds forty seconds and is renewed after a quarter of that.
constexpr Duration kStatusPeriod = std::chrono::seconds(10);
constexpr Duration kLongestSilence = std::chrono::minutes(5);
constexpr int32_t kLeaseSeconds = 40;
constexpr Duration kLeasePeriod = std::chrono::seconds(kLeaseSeconds / 4);
constexpr Duration kFirstRetry = std::chrono::milliseconds(200), kLongestRetry = std::chrono::seconds(7);
constexpr const char* kLeaseNamespace = "kube-node-lease";

}  // namespace

NodeReporter::NodeReporter(Runtime& runtime, sdk::Client client, Logger log, cri::Cri& cri, sdk::EventRecorder& recorder,
                           NodeDescription description)
    : runtime_(runtime), client_(std::move(client)), log_(std::move(log)), cri_(cri), recorder_(recorder),
      description_(std::move(description)), now_(runtime), group_(runtime) {}

Task<object::DocumentPtr> NodeReporter::Register() {
  for (Duration delay = kFirstRetry;; delay = std::min(delay * 2, kLongestRetry)) {
    std::vector<cri::Image> images;
    auto look = Look(&images);
    NodeCondition condition = co_await std::move(look);
    object::DocumentPtr wanted = MakeNode(description_, condition, runtime_.WallNow());
    auto create = client_.Create<core::Node>("", sdk::Object<core::Node>(wanted));
    Result<sdk::Object<core::Node>> node = co_await std::move(create);
    if (!node && node.error().IsAlreadyExists()) {
      auto get = client_.Get<core::Node>("", description_.name);
      node = co_await std::move(get);
    }
    if (node) {
      node_ = node->document();
      node_uid_ = (*node)->metadata().uid();
      for (core::NodeCondition known : (*node)->status().conditions()) {
        if (known.type() == "Ready") ready_ = known.status() == core::kConditionStatusTrue;
      }
      co_return node_;
    }
    log_.Warning("Can't register the node", {{"node", description_.name}, {"err", node.error()}});
    co_await Sleep(runtime_, delay);
  }
}

void NodeReporter::Start() {
  group_.Spawn(ReportStatus());
  group_.Spawn(RenewLease());
}

Task<NodeCondition> NodeReporter::Look(std::vector<cri::Image>* images) {
  auto status = cri_.Status();
  Result<std::vector<cri::RuntimeCondition>> conditions = co_await std::move(status);
  if (!conditions) co_return NodeCondition{false, "container runtime is down: " + conditions.error().message()};
  std::string trouble = RuntimeTrouble(*conditions);
  auto list = cri_.ListImages();
  Result<std::vector<cri::Image>> found = co_await std::move(list);
  if (found) *images = std::move(*found);
  co_return NodeCondition{trouble.empty(), trouble};
}

// What people see happening to the node.
void NodeReporter::TellChange(core::Node node, const NodeCondition& condition) {
  auto tell = [&](std::string reason) {
    recorder_.Record(core::Node::SchemaKind(), node.Raw(), "Normal", reason, "Node " + description_.name + " status is now: " + reason);
  };
  if (!std::exchange(told_, true)) {
    tell("NodeHasSufficientMemory");
    tell("NodeHasNoDiskPressure");
    tell("NodeHasSufficientPID");
  }
  if (condition.ready != ready_) tell(condition.ready ? "NodeReady" : "NodeNotReady");
  ready_ = condition.ready;
}

Task<Result<void>> NodeReporter::ReportOnce() {
  std::vector<cri::Image> images;
  auto look = Look(&images);
  NodeCondition condition = co_await std::move(look);
  auto get = client_.Get<core::Node>("", description_.name);
  Result<sdk::Object<core::Node>> current = co_await std::move(get);
  if (!current && current.error().IsNotFound()) {
    // Someone deleted it while we live: it registers again.
    auto again = Register();
    (void)co_await std::move(again);
    co_return Done();
  }
  if (!current) co_return Fail(current.error());
  WallTime now = runtime_.WallNow();
  node_ = current->document();
  node_uid_ = (*current)->metadata().uid();
  object::DocumentPtr next = UpdateNode(node_, description_, condition, images, now);
  bool due = !last_report_ || now - *last_report_ >= kLongestSilence;
  TellChange(**current, condition);
  if (!due && !NodeChanged(**current, core::Node(next->root()))) co_return Done();
  auto update = client_.UpdateStatus<core::Node>(sdk::Object<core::Node>(next));
  CO_TRY_ASSIGN(sdk::Object<core::Node> stored, co_await std::move(update));
  node_ = stored.document();
  last_report_ = now;
  co_return Done();
}

Task<void> NodeReporter::ReportStatus() {
  for (;;) {
    auto report = ReportOnce();
    Result<void> reported = co_await std::move(report);
    bool conflict = !reported && reported.error().IsConflict();
    if (!reported && !conflict) log_.Warning("Can't report the node's status", {{"node", description_.name}, {"err", reported.error()}});
    if (conflict) continue;
    // Not ready is a state that mostly ends soon: it is looked at more often.
    auto wait = now_.WaitFor(ready_ ? kStatusPeriod : kStatusPeriod / 10);
    co_await std::move(wait);
  }
}

Task<Result<void>> NodeReporter::RenewOnce() {
  std::string now = FormatMicroTime(runtime_.WallNow());
  auto get = client_.Get<coordination::Lease>(kLeaseNamespace, description_.name);
  Result<sdk::Object<coordination::Lease>> current = co_await std::move(get);
  if (current) {
    coordination::LeaseBuilder next(current->document());
    next.mutable_spec().set_holder_identity(description_.name).set_renew_time(now).set_lease_duration_seconds(kLeaseSeconds);
    auto update = client_.Update<coordination::Lease>(sdk::Object<coordination::Lease>(next.Freeze()));
    CO_TRY(co_await std::move(update));
    co_return Done();
  }
  if (!current.error().IsNotFound()) co_return Fail(current.error());
  coordination::LeaseBuilder lease;
  lease.mutable_metadata().set_name(description_.name).set_namespace(kLeaseNamespace);
  auto owner = lease.mutable_metadata().add_owner_references();
  owner.set_api_version("v1").set_kind("Node").set_name(description_.name).set_uid(node_uid_);
  lease.mutable_spec().set_holder_identity(description_.name).set_renew_time(now).set_lease_duration_seconds(kLeaseSeconds);
  auto create = client_.Create<coordination::Lease>(kLeaseNamespace, sdk::Object<coordination::Lease>(lease.Freeze()));
  CO_TRY(co_await std::move(create));
  co_return Done();
}

Task<void> NodeReporter::RenewLease() {
  for (Duration delay = kFirstRetry;;) {
    auto renew = RenewOnce();
    Result<void> renewed = co_await std::move(renew);
    if (renewed) {
      delay = kFirstRetry;
      co_await Sleep(runtime_, kLeasePeriod);
      continue;
    }
    log_.Warning("Can't renew the node's lease", {{"node", description_.name}, {"err", renewed.error()}});
    co_await Sleep(runtime_, delay);
    delay = std::min(delay * 2, kLongestRetry);
  }
}

}  // namespace homeostat::node
