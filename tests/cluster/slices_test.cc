// Endpoint slices through faults: of Services with a selector, and of Endpoints that somebody keeps by hand. However answers are
// lost and watches late, nothing is listed twice; and in the end the slices say what is there.
#include <algorithm>
#include <map>
#include <set>

#include "controllers/endpoint_slice.h"
#include "controllers/endpoint_slice_mirroring.h"
#include "controllers/endpoints.h"
#include "controllers/garbage_collector.h"
#include "homeostat/api/discovery/v1.h"
#include "simulated_cluster.h"

namespace homeostat {
namespace {

using api::core::v1::Endpoints;
using api::core::v1::Node;
using api::core::v1::Pod;
using api::core::v1::Service;
using api::discovery::v1::EndpointSlice;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const std::string kNamespace = "default";
constexpr uint64_t kServices = 3, kPods = 9;   // the first services have selectors, the last one has Endpoints by hand

class Scenario {
 public:
  explicit Scenario(uint64_t seed) : cluster_(seed), observer_(*cluster_.runtime, *cluster_.admin) {
    cluster_.Create<api::core::v1::ServiceAccount>(kNamespace, R"({"metadata":{"name":"default"}})");
    cluster_.Create<Node>("", R"({"metadata":{"name":"node"}})");
    for (sdk::Informer* informer : {&observer_.For<Service>(), &observer_.For<Endpoints>(), &observer_.For<Pod>()}) informer->AddHandler([](const sdk::Change&) {});
    observer_.For<EndpointSlice>().AddHandler([this](const sdk::Change&) { CheckSlices(); });
    observer_.Start();
    Step(seconds(1));
  }

  std::vector<std::string> Run() {
    cluster_.faults = {.refuse = 40, .lose_answer = 120, .cut = 20, .repeat = 30, .stall = 40, .delay = milliseconds(900), .stall_time = seconds(20)};
    StartAll();
    for (int i = 0; i < 200 && broken_.empty(); ++i) {
      Act();
      Step(milliseconds(cluster_.Draw(3000)));
      if (cluster_.Draw(25) == 0) CrashSomething();
    }
    if (broken_.empty()) Heal();
    return broken_;
  }

 private:
  void StartAll() {
    slices_.Start(cluster_, "endpointslice-controller");
    mirrors_.Start(cluster_, "endpointslicemirroring-controller");
    StartCollector();
  }
  void StartCollector() {
    controllers::GarbageCollectorOptions options;
    options.kinds = {&Service::SchemaKind(), &Endpoints::SchemaKind(), &EndpointSlice::SchemaKind()};
    collector_.Start(cluster_, "generic-garbage-collector", options);
  }
  void CrashSomething() {
    uint64_t which = cluster_.Draw(3);
    if (which == 0) slices_.Crash();
    if (which == 1) mirrors_.Crash();
    if (which == 2) collector_.Crash();
    Step(milliseconds(cluster_.Draw(10'000)));
    if (which == 0) slices_.Start(cluster_, "endpointslice-controller");
    if (which == 1) mirrors_.Start(cluster_, "endpointslicemirroring-controller");
    if (which == 2) StartCollector();
  }
  void Step(Duration time) { cluster_.runtime->RunFor(time); }

  // --- What people do.

  void Act() {
    uint64_t number = cluster_.Draw(kServices);
    std::string service = "s" + std::to_string(number);
    bool by_hand = number + 1 == kServices;
    if (!observer_.For<Service>().Get(kNamespace + "/" + service)) return CreateService(service, by_hand);
    switch (cluster_.Draw(12)) {
      case 0: return PatchSpec<Service>(service, "spec", R"({"ports":[{"port":80,"targetPort":)" + std::to_string(8080 + cluster_.Draw(3)) + "}]}");
      case 1:
        if (cluster_.Draw(3) != 0) return;
        if (by_hand) Delete<Endpoints>(service);
        return Delete<Service>(service);
      default: return by_hand ? WriteEndpoints(service) : ChangePod();
    }
  }
  void CreateService(const std::string& name, bool by_hand) {
    std::string selector = by_hand ? "" : R"("selector":{"app":")" + name + R"("},)";
    cluster_.Create<Service>(kNamespace, R"({"metadata":{"name":")" + name + R"("},"spec":{)" + selector + R"("ports":[{"port":80}]}})");
  }
  void WriteEndpoints(const std::string& name) {
    std::string addresses;
    for (int i = 1; i < 8; ++i) {
      if (cluster_.Draw(2) == 0) addresses += (addresses.empty() ? "" : ",") + std::string(R"({"ip":"10.1.0.)") + std::to_string(i) + "\"}";
    }
    std::string subsets = addresses.empty() ? "[]" : R"([{"addresses":[)" + addresses + R"(],"ports":[{"port":)" + std::to_string(80 + cluster_.Draw(2)) + "}]}]";
    if (observer_.For<Endpoints>().Get(kNamespace + "/" + name)) return PatchSpec<Endpoints>(name, "subsets", subsets);
    cluster_.Create<Endpoints>(kNamespace, R"({"metadata":{"name":")" + name + R"("},"subsets":)" + subsets + "}");
  }
  void ChangePod() {
    uint64_t number = cluster_.Draw(kPods);
    std::string name = "p" + std::to_string(number);
    if (!observer_.For<Pod>().Get(kNamespace + "/" + name)) {
      cluster_.Create<Pod>(kNamespace, R"({"metadata":{"name":")" + name + R"(","labels":{"app":"s)" + std::to_string(number % (kServices - 1)) +
                                           R"("}},"spec":{"nodeName":"node","containers":[{"name":"c","image":"i"}]}})");
    } else if (cluster_.Draw(4) == 0) {
      return Delete<Pod>(name);
    }
    std::string ip = "10.0.0." + std::to_string(number + 1), ready = cluster_.Draw(3) == 0 ? "False" : "True";
    PatchSpec<Pod>(name, "status", R"({"phase":"Running","podIP":")" + ip + R"(","podIPs":[{"ip":")" + ip +
                                       R"("}],"conditions":[{"type":"Ready","status":")" + ready + R"("}]})", "status");
  }
  template <class T>
  void PatchSpec(const std::string& name, const std::string& member, const std::string& value, const std::string& subresource = {}) {
    cluster_.Await(cluster_.admin->Patch(T::SchemaKind(), kNamespace, name, sdk::PatchType::kMerge, Bytes("{\"" + member + "\":" + value + "}"), subresource, {}));
  }
  template <class T>
  void Delete(const std::string& name) {
    sdk::DeleteOptions options;
    options.grace_period_seconds = 0;
    cluster_.Await(cluster_.admin->Delete<T>(kNamespace, name, options));
  }

  // --- What must hold all the time: there are never so many endpoints that one slice does not hold them.

  void CheckSlices() {
    std::map<std::string, int> slices;
    for (const object::DocumentPtr& slice : observer_.For<EndpointSlice>().List()) {
      std::string owner(sdk::meta::ControllerOf(slice->root()).Get("uid").AsString());
      if (++slices[owner] == 2) broken_.push_back("two slices like " + std::string(sdk::meta::Name(slice->root())));
    }
  }

  // --- The end.

  void Heal() {
    cluster_.faults = {.delay = milliseconds(5)};
    MonotonicTime end = cluster_.runtime->Now() + minutes(30);
    std::vector<std::string> open = Open();
    while (!open.empty() && cluster_.runtime->Now() < end) {
      Step(seconds(1));
      open = Open();
    }
    for (std::string& what : open) broken_.push_back("in the end: " + what);
    if (open.empty()) StaysQuiet();
  }
  // Addresses, those that are ready with a star, and the port.
  static std::set<std::string> AddressesOf(const EndpointSlice& slice) {
    std::set<std::string> addresses;
    for (auto endpoint : slice.endpoints()) {
      addresses.insert(std::string(endpoint.addresses()[0]) + (endpoint.conditions().ready() ? "*:" : ":") + std::to_string(slice.ports()[0].port()));
    }
    return addresses;
  }
  std::set<std::string> WantedFor(const Service& service) {
    std::set<std::string> wanted;
    std::string_view app = service.spec().selector().Get("app");
    if (!app.empty()) {
      for (const object::DocumentPtr& document : observer_.For<Pod>().List()) {
        Pod pod(document->root());
        if (pod.metadata().labels().Get("app") != app || pod.status().pod_ip().empty()) continue;
        int64_t port = service.spec().ports()[0].target_port().AsInt();
        bool ready = pod.status().conditions()[0].status() == "True";
        wanted.insert(std::string(pod.status().pod_ip()) + (ready ? "*:" : ":") + std::to_string(port));
      }
      return wanted;
    }
    sdk::Object<Endpoints> endpoints(observer_.For<Endpoints>().Get(sdk::meta::Key(service.Raw())));
    if (!endpoints) return wanted;
    for (auto subset : endpoints->subsets()) {
      for (auto address : subset.addresses()) wanted.insert(std::string(address.ip()) + "*:" + std::to_string(subset.ports()[0].port()));
    }
    return wanted;
  }
  std::vector<std::string> Open() {
    std::vector<std::string> open;
    std::map<std::string, std::set<std::string>> listed;
    for (const object::DocumentPtr& document : observer_.For<EndpointSlice>().List()) {
      EndpointSlice slice(document->root());
      std::string service(slice.metadata().labels().Get("kubernetes.io/service-name"));
      if (!observer_.For<Service>().Get(kNamespace + "/" + service)) open.push_back("a slice of " + service + " is left");
      listed[service].merge(AddressesOf(slice));
    }
    for (const object::DocumentPtr& document : observer_.For<Service>().List()) {
      Service service(document->root());
      std::string name(service.metadata().name());
      if (listed[name] != WantedFor(service)) open.push_back("slices of " + name + " list other endpoints");
    }
    return open;
  }
  void StaysQuiet() {
    Step(minutes(1));
    std::map<std::string, std::string> before = Versions();
    Step(minutes(10));
    if (Versions() != before) broken_.push_back("in the end: something is still written where nothing is to be done");
  }
  std::map<std::string, std::string> Versions() {
    std::map<std::string, std::string> versions;
    for (const object::DocumentPtr& slice : observer_.For<EndpointSlice>().List()) versions[std::string(sdk::meta::Uid(slice->root()))] = sdk::meta::ResourceVersion(slice->root());
    return versions;
  }

  SimulatedCluster cluster_;
  sdk::InformerFactory observer_;
  Component<controllers::EndpointSliceController> slices_;
  Component<controllers::EndpointSliceMirroringController> mirrors_;
  Component<controllers::GarbageCollector> collector_;
  std::vector<std::string> broken_;
};

// The world without faults, for what happens when.
class EndpointsTest : public testing::Test {
 protected:
  EndpointsTest() : cluster_(1), observer_(*cluster_.runtime, *cluster_.admin) {
    cluster_.Create<api::core::v1::ServiceAccount>(kNamespace, R"({"metadata":{"name":"default"}})");
    for (sdk::Informer* informer : {&observer_.For<Endpoints>(), &observer_.For<EndpointSlice>(), &observer_.For<api::core::v1::Event>()}) informer->AddHandler([](const sdk::Change&) {});
    observer_.Start();
    endpoints_.Start(cluster_, "endpoint-controller");
    slices_.Start(cluster_, "endpointslice-controller");
  }
  void Step() { cluster_.runtime->RunFor(seconds(2)); }
  bool Told(std::string_view reason, std::string_view message) {
    return std::ranges::any_of(observer_.For<api::core::v1::Event>().List(), [&](const object::DocumentPtr& document) {
      api::core::v1::Event event(document->root());
      return event.reason() == reason && event.message() == message;
    });
  }

  SimulatedCluster cluster_;
  sdk::InformerFactory observer_;
  Component<controllers::EndpointsController> endpoints_;
  Component<controllers::EndpointSliceController> slices_;
};

TEST_F(EndpointsTest, GoWithTheirServiceAlsoIfTheyWereMadeByHand) {
  for (const char* name : {"with", "alone"}) {
    cluster_.Create<Endpoints>(kNamespace, std::string(R"({"metadata":{"name":")") + name + R"("},"subsets":[{"addresses":[{"ip":"10.1.0.1"}],"ports":[{"port":80}]}]})");
  }
  cluster_.Create<Service>(kNamespace, R"({"metadata":{"name":"with"},"spec":{"ports":[{"port":80}]}})");
  Step();
  EXPECT_TRUE(observer_.For<Endpoints>().Get("default/with"));
  cluster_.Await(cluster_.admin->Delete<Service>(kNamespace, "with"));
  Step();
  EXPECT_FALSE(observer_.For<Endpoints>().Get("default/with"));
  EXPECT_TRUE(observer_.For<Endpoints>().Get("default/alone")) << "it never had a Service";
}

TEST_F(EndpointsTest, SayWhenTheChangeWasAndWhatIsMissing) {
  auto service = cluster_.Create<Service>(kNamespace, R"({"metadata":{"name":"s"},"spec":{"selector":{"app":"s"},"ports":[{"port":80}]}})");
  ASSERT_TRUE(service);
  Step();
  object::DocumentPtr endpoints = observer_.For<Endpoints>().Get("default/s");
  ASSERT_TRUE(endpoints);
  EXPECT_EQ(sdk::meta::Annotations(endpoints->root()).Get("endpoints.kubernetes.io/last-change-trigger-time").AsString(), (*service)->metadata().creation_timestamp());
  cluster_.Create<Pod>(kNamespace, R"({"metadata":{"name":"p","labels":{"app":"s"}},"spec":{"nodeName":"nowhere","containers":[{"name":"c","image":"i"}]}})");
  std::string status = R"({"status":{"podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.1"}],"conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z"}]}})";
  cluster_.Await(cluster_.admin->Patch(Pod::SchemaKind(), kNamespace, "p", sdk::PatchType::kMerge, Bytes(status), "status", {}));
  Step();
  endpoints = observer_.For<Endpoints>().Get("default/s");
  EXPECT_EQ(sdk::meta::Annotations(endpoints->root()).Get("endpoints.kubernetes.io/last-change-trigger-time").AsString(), "2026-01-02T03:04:05Z");
  EXPECT_TRUE(Told("FailedToUpdateEndpointSlices",
                   "Error updating Endpoint Slices for Service default/s: skipping Pod p for Service default/s: Node nowhere Not Found"));
  ASSERT_EQ(observer_.For<EndpointSlice>().size(), 1u);
  EXPECT_TRUE(EndpointSlice(observer_.For<EndpointSlice>().List()[0]->root()).endpoints().empty());
  cluster_.Create<Node>("", R"({"metadata":{"name":"nowhere"}})");
  cluster_.runtime->RunFor(seconds(30));
  EXPECT_EQ(EndpointSlice(observer_.For<EndpointSlice>().List()[0]->root()).endpoints().size(), 1u);
}

TEST(SlicesTest, ListNothingTwiceThroughFaultsAndComeToRest) {
  ForEachSeed(10, [](uint64_t seed) {
    Scenario scenario(seed);
    return scenario.Run();
  });
}

}  // namespace
}  // namespace homeostat
