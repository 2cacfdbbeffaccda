// Custom resources from definition to removal: a definition is served before its create is answered, its versions, its
// changes, what becomes of its objects, and everything again after a restart.
#include "controllers/garbage_collector.h"
#include "controllers/namespace.h"
#include "homeostat/object/yaml.h"
#include "homeostat/sdk/custom_kinds.h"
#include "simulated_cluster.h"

namespace homeostat {
namespace {

using object::Value;
using std::chrono::seconds;

constexpr std::string_view kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

struct Answer {
  int code = 0;
  object::DocumentPtr document;
  Value body() const { return document ? document->root() : Value(); }
  std::string At(std::initializer_list<std::string_view> path) const { return object::JsonText(body().Path(path)); }
};

class CustomResources : public testing::Test {
 protected:
  Answer Call(std::string method, std::string path, std::string_view yaml = "", std::string_view type = "application/yaml",
              std::string_view accept = "application/json") {
    http::Request request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.headers.Set("Content-Type", type);
    request.headers.Set("Accept", accept);
    request.body = Bytes(std::string(yaml));
    http::Response response = cluster_.Await(transport_->Handle(std::move(request)));
    Answer answer{response.code, nullptr};
    if (!response.body.empty()) {
      auto parsed = object::ParseJsonDocument(response.body.front());
      if (parsed) answer.document = *parsed;
    }
    return answer;
  }
  Answer Merge(std::string path, std::string_view json) { return Call("PATCH", std::move(path), json, "application/merge-patch+json"); }
  static std::string Definition(std::string_view versions) {
    return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: boats.example.com}\n"
           "spec: {group: example.com, scope: Namespaced, names: {plural: boats, kind: Boat}, versions: [" + std::string(versions) + "]}";
  }
  static std::string Boat(std::string_view name, std::string_view spec, std::string_view version = "v1") {
    return "{apiVersion: example.com/" + std::string(version) + ", kind: Boat, metadata: {name: " + std::string(name) + "}, spec: " +
           std::string(spec) + "}";
  }

  SimulatedCluster cluster_{1};
  std::shared_ptr<http::Handler> transport_ = cluster_.control_plane->TransportFor("admin", {"system:masters"});
  const std::string boats_ = "/apis/example.com/v1/namespaces/default/boats";
};

constexpr std::string_view kV1 =
    "{name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, properties: {"
    "spec: {type: object, properties: {oars: {type: integer, maximum: 8}, keel: {type: string, default: oak}}}, status: {type: object, "
    "x-kubernetes-preserve-unknown-fields: true}}}}}";

TEST_F(CustomResources, AreServedBeforeTheirDefinitionsCreateIsAnswered) {
  EXPECT_EQ(Call("GET", boats_).code, 404);
  Answer made = Call("POST", std::string(kDefinitions), Definition(kV1));
  ASSERT_EQ(made.code, 201) << made.At({});
  EXPECT_EQ(Call("POST", boats_, Boat("a", "{oars: 2, wheels: 1}")).At({"spec"}), R"({"keel":"oak","oars":2})");
  EXPECT_EQ(Call("POST", boats_, Boat("b", "{oars: 9}")).code, 422);
  EXPECT_EQ(Call("GET", "/apis/example.com/v1").At({"groupVersion"}), "\"example.com/v1\"");
  EXPECT_EQ(Call("GET", "/apis/example.com/v1/boats").code, 200);
  EXPECT_EQ(Call("GET", "/apis/example.com/v1/namespaces/default/boats/a/scale").code, 404);
}

TEST_F(CustomResources, StatusAndGeneration) {
  ASSERT_EQ(Call("POST", std::string(kDefinitions), Definition(kV1)).code, 201);
  Call("POST", boats_, Boat("a", "{oars: 2}"));
  EXPECT_EQ(Merge(boats_ + "/a", R"({"status":{"afloat":true}})").At({"status"}), "null");
  Answer status = Merge(boats_ + "/a/status", R"({"status":{"afloat":true},"spec":{"oars":3},"metadata":{"labels":{"a":"b"}}})");
  EXPECT_EQ(status.At({"status"}), R"({"afloat":true})");
  EXPECT_EQ(status.At({"spec", "oars"}), "2");
  EXPECT_EQ(status.At({"metadata", "labels"}), "null");
  EXPECT_EQ(status.At({"metadata", "generation"}), "1");
  EXPECT_EQ(Merge(boats_ + "/a", R"({"spec":{"oars":3}})").At({"metadata", "generation"}), "2");
  EXPECT_EQ(Merge(boats_ + "/a", R"({"metadata":{"labels":{"a":"b"}}})").At({"metadata", "generation"}), "2");
}

TEST_F(CustomResources, SeveralVersionsShareTheirObjects) {
  const std::string kBoth = std::string(kV1) +
                            ", {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: "
                            "{spec: {type: object, properties: {oars: {type: integer, maximum: 4}, old: {type: string}}}}}}}";
  ASSERT_EQ(Call("POST", std::string(kDefinitions), Definition(kBoth)).code, 201);
  const std::string old_boats = "/apis/example.com/v1beta1/namespaces/default/boats";
  EXPECT_EQ(Call("POST", old_boats, Boat("a", "{oars: 6}", "v1beta1")).code, 422) << "checked in its own version";
  Answer made = Call("POST", old_boats, Boat("a", "{oars: 2, old: x}", "v1beta1"));
  EXPECT_EQ(made.code, 201);
  EXPECT_EQ(made.At({"apiVersion"}), "\"example.com/v1beta1\"");
  Answer now = Call("GET", boats_ + "/a");
  EXPECT_EQ(now.At({"apiVersion"}), "\"example.com/v1\"");
  EXPECT_EQ(now.At({"spec"}), R"({"keel":"oak","oars":2})") << "what the stored version does not know is not stored";
  EXPECT_EQ(Call("GET", old_boats + "/a").At({"spec"}), R"({"oars":2})");
  EXPECT_EQ(Call("GET", old_boats).body().Get("items").size(), 1u);
}

TEST_F(CustomResources, ChangesOfADefinitionApplyToWhatIsStored) {
  ASSERT_EQ(Call("POST", std::string(kDefinitions), Definition(kV1)).code, 201);
  Call("POST", boats_, Boat("a", "{oars: 2}"));
  Answer changed = Call("PATCH", std::string(kDefinitions) + "/boats.example.com",
                        R"([{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/colour","value":{"type":"string","default":"red"}}])",
                        "application/json-patch+json");
  ASSERT_EQ(changed.code, 200) << changed.At({});
  EXPECT_EQ(Call("GET", boats_ + "/a").At({"spec", "colour"}), "\"red\"");
  EXPECT_EQ(Call("GET", boats_ + "/a").At({"metadata", "generation"}), "1");
  Merge(std::string(kDefinitions) + "/boats.example.com", R"({"spec":{"names":{"shortNames":["bt"]}}})");
  EXPECT_EQ(Call("GET", "/apis/example.com/v1").body().Get("resources").At(0).Get("shortNames").size(), 1u);
}

TEST_F(CustomResources, GoBeforeTheirDefinition) {
  ASSERT_EQ(Call("POST", std::string(kDefinitions), Definition(kV1)).code, 201);
  Call("POST", boats_, Boat("a", "{}"));
  Call("POST", boats_, Boat("b", "{}"));
  Merge(boats_ + "/b", R"({"metadata":{"finalizers":["example.com/hold"]}})");
  Answer deleted = Call("DELETE", std::string(kDefinitions) + "/boats.example.com");
  EXPECT_EQ(deleted.code, 200);
  EXPECT_EQ(deleted.body().Path({"metadata", "finalizers"}).size(), 1u);
  cluster_.runtime->RunFor(seconds(10));
  EXPECT_EQ(Call("GET", boats_ + "/a").code, 404);
  EXPECT_EQ(Call("GET", boats_ + "/b").code, 200) << "held";
  EXPECT_EQ(Call("POST", boats_, Boat("c", "{}")).code, 403) << "nothing new is made";
  EXPECT_EQ(Call("GET", std::string(kDefinitions) + "/boats.example.com").code, 200);
  EXPECT_EQ(Merge(boats_ + "/b", R"({"metadata":{"finalizers":null}})").code, 200);
  cluster_.runtime->RunFor(seconds(10));
  EXPECT_EQ(Call("GET", std::string(kDefinitions) + "/boats.example.com").code, 404);
  EXPECT_EQ(Call("GET", boats_).code, 404);
  ASSERT_EQ(Call("POST", std::string(kDefinitions), Definition(kV1)).code, 201);
  EXPECT_EQ(Call("GET", boats_).body().Get("items").size(), 0u);
}

TEST_F(CustomResources, NamesBecomeFreeWithTheirDefinition) {
  ASSERT_EQ(Call("POST", std::string(kDefinitions), Definition(kV1)).code, 201);
  std::string other = Definition(kV1);
  other.replace(other.find("boats.example.com"), 17, "ships.example.com");
  other.replace(other.find("plural: boats"), 13, "plural: ships");
  EXPECT_EQ(Call("POST", std::string(kDefinitions), other).code, 201);
  EXPECT_EQ(Call("GET", "/apis/example.com/v1/ships").code, 404) << "its kind is taken";
  Call("DELETE", std::string(kDefinitions) + "/boats.example.com");
  cluster_.runtime->RunFor(seconds(10));
  EXPECT_EQ(Call("GET", "/apis/example.com/v1/ships").code, 200);
}

TEST_F(CustomResources, AreNoProtobufAndNoStrategicMerge) {
  ASSERT_EQ(Call("POST", std::string(kDefinitions), Definition(kV1)).code, 201);
  Call("POST", boats_, Boat("a", "{}"));
  EXPECT_EQ(Call("PATCH", boats_ + "/a", "{}", "application/strategic-merge-patch+json").code, 415);
  EXPECT_EQ(Call("POST", boats_, "k8s", "application/vnd.kubernetes.protobuf").code, 415);
  EXPECT_EQ(Call("GET", boats_, "", "", "application/vnd.kubernetes.protobuf").code, 406);
  EXPECT_EQ(Call("GET", boats_, "", "", "application/vnd.kubernetes.protobuf, application/json").code, 200);
  EXPECT_EQ(Call("GET", boats_, "", "", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1").code, 200);
}

TEST_F(CustomResources, AreSeenByWhatLooksAfterEverything) {
  sdk::InformerFactory informers(*cluster_.runtime, cluster_.Reader());
  sdk::CustomKinds kinds(informers);
  controllers::GarbageCollectorOptions collector_options;
  collector_options.custom_kinds = &kinds;
  controllers::GarbageCollector collector(*cluster_.runtime, cluster_.Controller("generic-garbage-collector"), informers, collector_options);
  controllers::NamespaceOptions namespace_options;
  namespace_options.custom_kinds = &kinds;
  controllers::NamespaceController namespaces(*cluster_.runtime, cluster_.Controller("namespace-controller"), informers, namespace_options);
  collector.Start();
  namespaces.Start();
  informers.Start();
  ASSERT_EQ(Call("POST", std::string(kDefinitions), Definition(kV1)).code, 201);
  Answer owner = Call("POST", boats_, Boat("owner", "{}"));
  std::string uid = owner.At({"metadata", "uid"});
  Call("POST", boats_, "{apiVersion: example.com/v1, kind: Boat, metadata: {name: owned, ownerReferences: [{apiVersion: example.com/v1, kind: Boat, "
                       "name: owner, uid: " + uid + "}]}}");
  cluster_.runtime->RunFor(seconds(5));
  Call("DELETE", boats_ + "/owner");
  cluster_.runtime->RunFor(seconds(20));
  EXPECT_EQ(Call("GET", boats_ + "/owned").code, 404) << "collected after its owner";
  Call("POST", "/api/v1/namespaces", "{apiVersion: v1, kind: Namespace, metadata: {name: sea}}");
  EXPECT_EQ(Call("POST", "/apis/example.com/v1/namespaces/sea/boats", Boat("a", "{}")).code, 201);
  Call("DELETE", "/api/v1/namespaces/sea");
  cluster_.runtime->RunFor(seconds(30));
  EXPECT_EQ(Call("GET", "/api/v1/namespaces/sea").code, 404);
  EXPECT_EQ(Call("GET", "/apis/example.com/v1/boats").body().Get("items").size(), 0u);
}

TEST_F(CustomResources, KeepTheirDependentsWhenAnotherVersionIsStored) {
  sdk::InformerFactory informers(*cluster_.runtime, cluster_.Reader());
  sdk::CustomKinds kinds(informers);
  controllers::GarbageCollectorOptions options;
  options.custom_kinds = &kinds;
  controllers::GarbageCollector collector(*cluster_.runtime, cluster_.Controller("generic-garbage-collector"), informers, options);
  collector.Start();
  informers.Start();
  const std::string kTwo = std::string(kV1) + ", {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, "
                           "x-kubernetes-preserve-unknown-fields: true}}}";
  ASSERT_EQ(Call("POST", std::string(kDefinitions), Definition(kTwo)).code, 201);
  std::string uid = Call("POST", boats_, Boat("owner", "{}")).At({"metadata", "uid"});
  const std::string maps = "/api/v1/namespaces/default/configmaps";
  ASSERT_EQ(Call("POST", maps, "{apiVersion: v1, kind: ConfigMap, metadata: {name: owned, ownerReferences: [{apiVersion: example.com/v1, "
                               "kind: Boat, name: owner, uid: " + uid + "}]}}").code, 201);
  cluster_.runtime->RunFor(seconds(5));
  Answer moved = Call("PATCH", std::string(kDefinitions) + "/boats.example.com",
                      R"([{"op":"replace","path":"/spec/versions/0/storage","value":false},{"op":"replace","path":"/spec/versions/1/storage","value":true}])",
                      "application/json-patch+json");
  ASSERT_EQ(moved.code, 200) << moved.At({});
  cluster_.runtime->RunFor(seconds(30));
  EXPECT_EQ(Call("GET", maps + "/owned").code, 200) << "its owner lives";
  EXPECT_EQ(Call("DELETE", boats_ + "/owner").code, 200);
  cluster_.runtime->RunFor(seconds(30));
  EXPECT_EQ(Call("GET", maps + "/owned").code, 404) << "and is still looked after";
}

TEST_F(CustomResources, ManyDefinitionsCostLittle) {
  for (int i = 0; i < 200; ++i) {
    std::string name = "things" + std::to_string(i);
    std::string fields;
    for (int f = 0; f < 50; ++f) fields += (f ? ", field" : "field") + std::to_string(f) + ": {type: string, maxLength: 9}";
    Answer made = Call("POST", std::string(kDefinitions),
                       "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + name + ".example.com}\n"
                       "spec: {group: example.com, scope: Cluster, names: {plural: " + name + ", kind: Thing" + std::to_string(i) +
                       "}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: "
                       "object, properties: {" + fields + "}}}}}}]}");
    ASSERT_EQ(made.code, 201) << made.At({});
  }
  EXPECT_EQ(Call("GET", "/apis/example.com/v1").body().Get("resources").size(), 200u);
}

}  // namespace
}  // namespace homeostat
