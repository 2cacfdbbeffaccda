// Autoscalers with metrics that another server has: of objects and of what is outside the cluster; and those that can't be looked at.
#include <algorithm>

#include "controllers/horizontal_pod_autoscaler.h"
#include "homeostat/api/apps/v1.h"
#include "homeostat/api/autoscaling/v2.h"
#include "simulated_cluster.h"

namespace homeostat {
namespace {

using api::apps::v1::ReplicaSet;
using api::autoscaling::v2::HorizontalPodAutoscaler;
using api::core::v1::Event;
using api::core::v1::Pod;
using std::chrono::seconds;

const std::string kNamespace = "default";

// The metrics APIs in front of the server.
class Metrics : public http::Handler {
 public:
  explicit Metrics(std::shared_ptr<http::Handler> inner) : inner_(std::move(inner)) {}
  std::string external = "0", object = "0";   // values; empty: no items
  int conflicts = 0;                          // of scales, from now on
  std::vector<std::string> asked;

  Task<http::Response> Handle(http::Request request) override {
    std::string url = request.path + "?" + request.query;
    bool scale = request.method == "PUT" && request.path.ends_with("/scale");
    if (scale && conflicts > 0) {
      --conflicts;
      co_return Answer(409, R"({"kind":"Status","apiVersion":"v1","reason":"Conflict","code":409,"message":"it has changed"})");
    }
    bool is_external = url.starts_with("/apis/external.metrics.k8s.io/"), is_custom = url.starts_with("/apis/custom.metrics.k8s.io/");
    if (!is_external && !is_custom) {
      auto call = inner_->Handle(std::move(request));
      co_return co_await call;
    }
    asked.push_back(url);
    const std::string& value = is_external ? external : object;
    co_return Answer(200, "{\"items\":[" + (value.empty() ? "" : "{\"value\":\"" + value + "\"}") + "]}");
  }

 private:
  static http::Response Answer(int code, std::string body) {
    http::Response response;
    response.code = code;
    response.body.push_back(Bytes(std::move(body)));
    return response;
  }
  std::shared_ptr<http::Handler> inner_;
};

class AutoscalerTest : public testing::Test {
 protected:
  AutoscalerTest() : cluster_(1), observer_(*cluster_.runtime, *cluster_.admin), informers_(*cluster_.runtime, *cluster_.admin) {
    cluster_.Create<api::core::v1::ServiceAccount>(kNamespace, R"({"metadata":{"name":"default"}})");
    for (sdk::Informer* informer : {&observer_.For<HorizontalPodAutoscaler>(), &observer_.For<Event>()}) informer->AddHandler([](const sdk::Change&) {});
    observer_.Start();
    metrics_ = std::make_shared<Metrics>(cluster_.control_plane->TransportFor(
        "system:serviceaccount:kube-system:horizontal-pod-autoscaler", {"system:serviceaccounts", "system:serviceaccounts:kube-system"}));
    controller_.emplace(*cluster_.runtime, sdk::Client(metrics_, {.runtime = cluster_.runtime.get()}), informers_);
    controller_->Start();
    informers_.Start();
    cluster_.Create<ReplicaSet>(kNamespace, R"({"metadata":{"name":"web"},"spec":{"replicas":2,"selector":{"matchLabels":{"app":"web"}},
        "template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
    Patch<ReplicaSet>("web", R"({"status":{"replicas":2}})");
    for (const char* name : {"a", "b"}) {
      cluster_.Create<Pod>(kNamespace, std::string(R"({"metadata":{"name":")") + name + R"(","labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"i"}]}})");
      Patch<Pod>(name, R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})");
    }
  }
  template <class T>
  void Patch(const std::string& name, const std::string& body) {
    auto patched = cluster_.Await(cluster_.admin->Patch(T::SchemaKind(), kNamespace, name, sdk::PatchType::kMerge, Bytes(body), "status", {}));
    EXPECT_TRUE(patched) << patched.error().message();
  }
  void Scale(const std::string& name, const std::string& metrics, const std::string& api_version = "apps/v1") {
    auto made = cluster_.Create<HorizontalPodAutoscaler>(
        kNamespace, R"({"metadata":{"name":")" + name + R"("},"spec":{"minReplicas":1,"maxReplicas":10,"scaleTargetRef":{"apiVersion":")" + api_version +
                        R"(","kind":"ReplicaSet","name":"web"},"metrics":)" + metrics + "}}");
    ASSERT_TRUE(made) << made.error().message();
    cluster_.runtime->RunFor(seconds(3));
  }
  int32_t Size() { return (*cluster_.Await(cluster_.admin->Get<ReplicaSet>(kNamespace, "web")))->spec().replicas(); }
  // "True ValidMetricFound: the message".
  std::string ConditionOf(const std::string& name, std::string_view type) {
    HorizontalPodAutoscaler scaler(observer_.For<HorizontalPodAutoscaler>().Get("default/" + name)->root());
    for (auto condition : scaler.status().conditions()) {
      if (condition.type() == type) return std::string(condition.status()) + " " + std::string(condition.reason()) + ": " + std::string(condition.message());
    }
    return {};
  }
  std::string MetricsOf(const std::string& name) {
    return object::JsonText(HorizontalPodAutoscaler(observer_.For<HorizontalPodAutoscaler>().Get("default/" + name)->root()).status().current_metrics().Raw());
  }
  bool Told(std::string_view reason, std::string_view message) {
    return std::ranges::any_of(observer_.For<Event>().List(), [&](const object::DocumentPtr& document) {
      Event event(document->root());
      return event.reason() == reason && event.message() == message;
    });
  }

  SimulatedCluster cluster_;
  sdk::InformerFactory observer_, informers_;
  std::shared_ptr<Metrics> metrics_;
  std::optional<controllers::HorizontalPodAutoscalerController> controller_;
};

TEST_F(AutoscalerTest, SizesByExternalMetrics) {
  metrics_->external = "30";
  Scale("h", R"([{"type":"External","external":{"metric":{"name":"queue","selector":{"matchLabels":{"q":"x"}}},"target":{"type":"AverageValue","averageValue":"10"}}}])");
  EXPECT_EQ(Size(), 3);
  EXPECT_EQ(metrics_->asked.at(0), "/apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue?labelSelector=q%3Dx");
  EXPECT_EQ(ConditionOf("h", "ScalingActive"),
            "True ValidMetricFound: the HPA was able to successfully calculate a replica count from external metric "
            "queue(&LabelSelector{MatchLabels:map[string]string{q: x,},MatchExpressions:[]LabelSelectorRequirement{},})");
  EXPECT_EQ(MetricsOf("h"), R"([{"type":"External","external":{"metric":{"name":"queue","selector":{"matchLabels":{"q":"x"}}},"current":{"averageValue":"15"}}}])");
}

TEST_F(AutoscalerTest, SizesByMetricsOfObjects) {
  metrics_->object = "20";
  metrics_->conflicts = 2;
  Scale("h", R"([{"type":"Object","object":{"metric":{"name":"hits"},"describedObject":{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","name":"front"},
      "target":{"type":"Value","value":"10"}}}])", "apps/v1beta9");
  EXPECT_EQ(Size(), 4) << "twice what is wanted, and two pods are ready";
  EXPECT_EQ(metrics_->asked.at(0), "/apis/custom.metrics.k8s.io/v1beta2/namespaces/default/ingresses.networking.k8s.io/front/hits?");
  EXPECT_TRUE(Told("SuccessfulRescale", "New size: 4; reason: Ingress metric hits above target"));
  EXPECT_FALSE(Told("FailedRescale", "New size: 4; reason: Ingress metric hits above target; error: it has changed"));
}

TEST_F(AutoscalerTest, SaysWhatCanNotBeMeasured) {
  metrics_->external = "";
  Scale("h", R"([{"type":"External","external":{"metric":{"name":"queue"},"target":{"type":"Value","value":"10"}}}])");
  EXPECT_EQ(Size(), 2);
  EXPECT_EQ(ConditionOf("h", "ScalingActive"),
            "False FailedGetExternalMetric: the HPA was unable to compute the replica count: unable to get external metric default/queue/nil: "
            "no metrics returned from external metrics API");
  EXPECT_TRUE(Told("FailedComputeMetricsReplicas",
                   "invalid metrics (1 invalid out of 1), first error is: failed to get queue external metric value: failed to get external metric queue: "
                   "unable to get external metric default/queue/nil: no metrics returned from external metrics API"));
  HorizontalPodAutoscaler scaler(observer_.For<HorizontalPodAutoscaler>().Get("default/h")->root());
  EXPECT_EQ(scaler.status().current_metrics().size(), 1u) << "its place is kept";
}

TEST_F(AutoscalerTest, RefusesPodsThatAnotherScales) {
  std::string metrics = R"([{"type":"External","external":{"metric":{"name":"queue"},"target":{"type":"Value","value":"10"}}}])";
  metrics_->external = "10";
  Scale("one", metrics);
  Scale("two", metrics);
  EXPECT_EQ(ConditionOf("two", "ScalingActive"),
            "False AmbiguousSelector: pods by selector app=web are controlled by multiple HPAs: [{one default} {two default}]");
}

}  // namespace
}  // namespace homeostat
