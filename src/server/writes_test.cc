// What every write meets whatever its kind: checks of metadata, strictness, versions, managed fields; through the whole server.
#include <algorithm>

#include "server/internal/test_server.h"

namespace homeostat::server {
namespace {

class WritesTest : public internal::TestServer {
 protected:
  static constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";
  static constexpr const char* kStrategic = "Content-Type: application/strategic-merge-patch+json";
  using TestAnswer = internal::TestAnswer;

  void Make(const std::string& path, const std::string& body) { EXPECT_EQ(Ask("POST", path, body).code, 201) << body; }
  static std::vector<std::string> Faults(const TestAnswer& answer) {
    std::vector<std::string> faults;
    for (const Value& cause : answer.Get({"details", "causes"}).items()) {
      faults.push_back(std::string(cause.Get("field").AsString()) + ": " + std::string(cause.Get("message").AsString()));
    }
    return faults;
  }
  static std::string Warning(const TestAnswer& answer) { return std::string(answer.headers.Get("Warning")); }
  using Value = object::Value;
};

TEST_F(WritesTest, MetadataIsCheckedAsOftenAsUpstreamDoes) {
  Make(kMaps, R"({"metadata":{"name":"m"}})");
  Make("/apis/apps/v1/namespaces/default/controllerrevisions", R"({"metadata":{"name":"r"},"revision":1,"data":{}})");
  Make("/apis/storage.k8s.io/v1/csinodes", R"({"metadata":{"name":"n"},"spec":{"drivers":[]}})");
  const std::string body = R"({"metadata":{"labels":{"a":"b c"}}})";
  EXPECT_EQ(Faults(Ask("PATCH", std::string(kMaps) + "/m", body)).size(), 4u);
  EXPECT_EQ(Faults(Ask("PATCH", "/apis/apps/v1/namespaces/default/controllerrevisions/r", body)).size(), 4u);
  EXPECT_EQ(Faults(Ask("PATCH", "/apis/storage.k8s.io/v1/csinodes/n", body)).size(), 3u);
  EXPECT_EQ(Faults(Ask("POST", kMaps, R"({"metadata":{"name":"x","finalizers":["x"]}})")),
            std::vector<std::string>{"metadata.finalizers[0]: Invalid value: \"x\": name is neither a standard finalizer name nor is it fully "
                                     "qualified"});
}

// Neither what its last write made on the way nor the states before.
TEST_F(WritesTest, WhatIsKeptOfAnObjectIsItsTree) {
  Make(kMaps, R"({"metadata":{"name":"m"},"data":{"text":")" + std::string(1000, 'x') + "\"}}");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Ask("PATCH", std::string(kMaps) + "/m", R"({"data":{"n":")" + std::to_string(i) + "\"}}").code, 200);
  auto document = control_plane->cache().Get("/registry/configmaps/default/m")->document();
  ASSERT_TRUE(document);
  EXPECT_EQ((*document)->root().Path({"data", "n"}).AsString(), "2");
  EXPECT_LT((*document)->arena().capacity(), 5000u);
}

TEST_F(WritesTest, OnlyTheServerMarksObjects) {
  Make(kMaps, R"({"metadata":{"name":"m"}})");
  TestAnswer marked = Ask("PATCH", std::string(kMaps) + "/m", R"({"metadata":{"deletionTimestamp":"2020-01-01T00:00:00Z"}})");
  EXPECT_EQ(marked.code, 422);
  EXPECT_EQ(Faults(marked).front(), "metadata.deletionTimestamp: Invalid value: \"2020-01-01T00:00:00Z\": field is immutable");
  EXPECT_EQ(Ask("PATCH", std::string(kMaps) + "/m", R"({"metadata":{"creationTimestamp":"2020-01-01T00:00:00Z"}})").code, 200);
}

TEST_F(WritesTest, VersionsThatAreNone) {
  EXPECT_EQ(Ask("POST", kMaps, R"({"metadata":{"name":"m","resourceVersion":"0"}})").code, 201);
  EXPECT_EQ(Ask("POST", kMaps, R"({"metadata":{"name":"n","resourceVersion":"7"}})").message(),
            "resourceVersion should not be set on objects to be created");
  TestAnswer update = Ask("PUT", std::string(kMaps) + "/m", R"({"metadata":{"name":"m","resourceVersion":"x"}})");
  EXPECT_EQ(update.code, 500);
  EXPECT_EQ(update.message(), "strconv.ParseUint: parsing \"x\": invalid syntax");
  EXPECT_EQ(Ask("GET", std::string(kMaps) + "?resourceVersion=x").message(),
            "invalid resource version: resourceVersion: Invalid value: \"x\": strconv.ParseUint: parsing \"x\": invalid syntax");
  EXPECT_EQ(Ask("GET", std::string(kMaps) + "/m?resourceVersion=x").code, 500);
}

TEST_F(WritesTest, DryRunsShowTheVersionThatWasSent) {
  TestAnswer made = Ask("POST", std::string(kMaps) + "?dryRun=All", R"({"metadata":{"name":"n","resourceVersion":"7"}})");
  EXPECT_EQ(made.code, 201);
  EXPECT_EQ(made.Text({"metadata", "resourceVersion"}), "7");
}

TEST_F(WritesTest, WhatIsOnItsWayAlreadyIsNotMarkedAgain) {
  Make(kMaps, R"({"metadata":{"name":"m","finalizers":["a.b/c"]}})");
  TestAnswer first = Ask("DELETE", std::string(kMaps) + "/m");
  EXPECT_EQ(first.code, 200);
  EXPECT_FALSE(first.Text({"metadata", "deletionTimestamp"}).empty());
  TestAnswer again = Ask("DELETE", std::string(kMaps) + "/m?gracePeriodSeconds=0");
  EXPECT_EQ(again.code, 200);
  EXPECT_EQ(again.Text({"metadata", "resourceVersion"}), first.Text({"metadata", "resourceVersion"}));
  EXPECT_EQ(Ask("GET", std::string(kMaps) + "/m").Text({"metadata", "resourceVersion"}), first.Text({"metadata", "resourceVersion"}));
}

TEST_F(WritesTest, AnExpiredListCanBeTakenUpAgain) {
  for (const char* name : {"a", "b", "c"}) Make(kMaps, R"({"metadata":{"name":")" + std::string(name) + R"("}})");
  std::string token = Ask("GET", std::string(kMaps) + "?limit=1").Text({"metadata", "continue"});
  for (const char* name : {"d", "e", "f"}) {
    Make(kMaps, R"({"metadata":{"name":")" + std::string(name) + R"("}})");
    runtime->RunFor(std::chrono::minutes(5));
  }
  TestAnswer expired = Ask("GET", std::string(kMaps) + "?limit=1&continue=" + token);
  EXPECT_EQ(expired.code, 410);
  EXPECT_EQ(expired.Text({"reason"}), "Expired");
  EXPECT_FALSE(expired.Get({"details"}));
  EXPECT_EQ(Ask("GET", std::string(kMaps) + "?limit=1&continue=" + expired.Text({"metadata", "continue"})).Get({"items"}).size(), 1u);
  EXPECT_EQ(Ask("GET", std::string(kMaps) + "?limit=1&resourceVersion=0&continue=" + expired.Text({"metadata", "continue"})).Get({"items"}).size(), 5u);
  TestAnswer rest = Ask("GET", std::string(kMaps) + "?continue=" + expired.Text({"metadata", "continue"}));
  ASSERT_EQ(rest.Get({"items"}).size(), 5u);
  EXPECT_EQ(rest.Get({"items"}).At(0).Path({"metadata", "name"}).AsString(), "b");
}

TEST_F(WritesTest, DiscoveryIsTheSameWithASlashAtTheEnd) {
  EXPECT_EQ(Ask("GET", "/api/").Text({"kind"}), "APIVersions");
  EXPECT_EQ(Ask("GET", "/apis/").Text({"kind"}), "APIGroupList");
  EXPECT_EQ(Ask("GET", "/api/v1/").Text({"kind"}), "APIResourceList");
  EXPECT_EQ(Ask("GET", "/apis/apps/").Text({"kind"}), "APIGroup");
}

TEST_F(WritesTest, ObjectsOfAnotherLifeAreLeftAlone) {
  Make(kMaps, R"({"metadata":{"name":"m"}})");
  std::string uid = Ask("GET", std::string(kMaps) + "/m").Text({"metadata", "uid"});
  const std::string body = R"({"metadata":{"name":"m","uid":"x"}})", end = "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in "
                                                                           "precondition: x, UID in object meta: " + uid;
  const std::string start = "Operation cannot be fulfilled on configmaps \"m\": StorageError: invalid object, Code: 4, Key: ";
  EXPECT_EQ(Ask("PUT", std::string(kMaps) + "/m", body).message(), start + "/registry/configmaps/default/m, " + end);
  EXPECT_EQ(Ask("PUT", std::string(kMaps) + "/m?dryRun=All", body).message(), start + "/configmaps/default/m, " + end);
}

TEST_F(WritesTest, FaultsComeInTheOrderOfTheDocument) {
  const std::string json = R"({"metadata":{"name":"n","name":"m"},"bogus":1})";
  EXPECT_EQ(Ask("POST", std::string(kMaps) + "?fieldValidation=Strict", json).message(),
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: duplicate field \"metadata.name\", unknown "
            "field \"bogus\"");
}

TEST_F(WritesTest, UnknownFieldsAreToldOfOnce) {
  EXPECT_EQ(Ask("POST", std::string(kMaps) + "?fieldValidation=Strict", R"({"metadata":{"name":"n"},"bogus":1,"bogus":2})").message(),
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: unknown field \"bogus\"");
}

TEST_F(WritesTest, KeysThatStandTwice) {
  constexpr const char* kRevisions = "/apis/apps/v1/namespaces/default/controllerrevisions?fieldValidation=Strict";
  EXPECT_EQ(Ask("POST", kRevisions, R"({"metadata":{"name":"r"},"revision":1,"data":{"a":1,"a":2}})").code, 201);
  const std::string yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: twice}\ndata:\n  a: \"1\"\n  a: \"2\"\n";
  EXPECT_EQ(Ask("POST", std::string(kMaps) + "?fieldValidation=Strict", yaml, {"Content-Type: application/yaml"}).message(),
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: yaml: unmarshal errors:\n  line 6: key \"a\" "
            "already set in map");
  EXPECT_EQ(Warning(Ask("POST", kMaps, yaml, {"Content-Type: application/yaml"})), "299 - \"line 6: key \\\"a\\\" already set in map\"");
  const std::string json = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"z"},"data":{"a":"1","a":"2"}})";
  TestAnswer applied = Ask("PATCH", std::string(kMaps) + "/z?fieldManager=m", json, {"Content-Type: application/apply-patch+yaml"});
  EXPECT_EQ(applied.code, 201);
  EXPECT_EQ(Warning(applied), "299 - \"line 1: key \\\"a\\\" already set in map\"");
  EXPECT_EQ(Ask("PATCH", std::string(kMaps) + "/z?fieldManager=m&fieldValidation=Strict", json, {"Content-Type: application/apply-patch+yaml"}).code,
            400);
}

TEST_F(WritesTest, StrategicPatchesAreConvertedNotDecoded) {
  Make(kMaps, R"({"metadata":{"name":"m"}})");
  TestAnswer answer = Ask("PATCH", std::string(kMaps) + "/m", R"({"data":{"a":5}})", {kStrategic});
  EXPECT_EQ(answer.message(), " \"\" is invalid: patch: Invalid value: \"map[data:map[a:5]]\": cannot convert int64 to string");
  TestAnswer unknown = Ask("PATCH", std::string(kMaps) + "/m?fieldValidation=Strict", R"({"z":1,"b":2})", {kStrategic});
  EXPECT_EQ(unknown.message(), " \"\" is invalid: patch: Invalid value: \"map[b:2 z:1]\": strict decoding error: unknown field \"b\", unknown field "
                               "\"z\"");
}

TEST_F(WritesTest, PatchesThatMakeSomethingElse) {
  Make(kMaps, R"({"metadata":{"name":"m"},"data":{"a":"1"}})");
  std::vector<std::string> json = {"Content-Type: application/json-patch+json"};
  TestAnswer secret = Ask("PATCH", std::string(kMaps) + "/m", R"([{"op":"replace","path":"/kind","value":"Secret"}])", json);
  EXPECT_NE(secret.message().find("illegal base64 data at input byte 0"), std::string::npos) << secret.message();
  EXPECT_EQ(Ask("PATCH", std::string(kMaps) + "/m?fieldValidation=Ignore", R"([{"op":"remove","path":"/apiVersion"}])", json).message(),
            "the name of the object (m based on URL) was undeterminable: name must be provided");
  EXPECT_NE(Ask("PATCH", std::string(kMaps) + "/m", R"([{"op":"replace","path":"/apiVersion","value":[]}])", json)
                .message()
                .find("couldn't get version/kind; json parse error: json: cannot unmarshal array into Go struct field .apiVersion of type string"),
            std::string::npos);
  // What the patch touched is shown sorted, the rest as it was: the first of metadata is the name.
  EXPECT_NE(Ask("PATCH", std::string(kMaps) + "/m", R"({"immutable":"x"})").message().find(R"(\"metadata\":{\"name\":\"m\",)"), std::string::npos);
  EXPECT_NE(Ask("PATCH", std::string(kMaps) + "/m", R"({"metadata":{"labels":5}})").message().find(R"(\"metadata\":{\"creationTimestamp\":)"),
            std::string::npos);
  EXPECT_EQ(Warning(Ask("PATCH", std::string(kMaps) + "/m", R"([{"op":"test","path":"/kind","value":"ConfigMap","x":1}])", json)),
            "299 - \"json patch unknown field \\\"[0].x\\\"\"");
}

TEST_F(WritesTest, ManagedFieldsKnowOfEmptyListsAndCanBeForgotten) {
  TestAnswer role = Ask("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", R"({"metadata":{"name":"r"},"rules":[]})");
  EXPECT_TRUE(role.Get({"metadata", "managedFields"}).At(0).Get("fieldsV1").Get("f:rules")) << role.code;
  Make(kMaps, R"({"metadata":{"name":"m"},"data":{"a":"1"}})");
  TestAnswer forgotten = Ask("PUT", std::string(kMaps) + "/m", R"({"metadata":{"name":"m","managedFields":[]},"data":{"a":"1"}})");
  EXPECT_EQ(forgotten.code, 200);
  EXPECT_TRUE(forgotten.Get({"metadata", "managedFields"}).IsAbsent());
}

TEST_F(WritesTest, OwnersThatStandTwiceAreNamed) {
  TestAnswer made = Ask("POST", kMaps,
                        R"({"metadata":{"name":"m","ownerReferences":[{"apiVersion":"v1","kind":"A","name":"x","uid":"u1"},)"
                        R"({"apiVersion":"v1","kind":"A","name":"x","uid":"u1"}]}})");
  EXPECT_NE(Warning(made).find("duplicate UID(s) observed: u1"), std::string::npos) << Warning(made);
}

TEST_F(WritesTest, ScalesCanBeApplied) {
  const std::string sets = "/apis/apps/v1/namespaces/default/replicasets";
  Make(sets, R"({"metadata":{"name":"s"},"spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},)"
             R"("template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  const std::string scale = R"({"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"s","namespace":"default"},"spec":{"replicas":4}})";
  std::vector<std::string> apply = {"Content-Type: application/apply-patch+yaml"};
  EXPECT_EQ(Ask("PATCH", sets + "/s/scale?fieldManager=m", scale, apply).code, 409);
  TestAnswer applied = Ask("PATCH", sets + "/s/scale?fieldManager=m&force=true", scale, apply);
  EXPECT_EQ(applied.code, 200) << applied.message();
  EXPECT_EQ(Ask("GET", sets + "/s").Get({"spec", "replicas"}).AsInt(), 4);
  EXPECT_TRUE(applied.Get({"metadata", "managedFields"}).IsAbsent());
  TestAnswer set = Ask("GET", sets + "/s");
  Value owners = set.Get({"metadata", "managedFields"});
  EXPECT_TRUE(std::ranges::any_of(owners.items(), [](const Value& owner) {
    return owner.Get("manager").AsString() == "m" && owner.Get("subresource").AsString() == "scale";
  })) << object::JsonText(owners);
  // Who puts another number has it from then on.
  const std::string put = R"({"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"s"},"spec":{"replicas":3}})";
  EXPECT_EQ(Ask("PUT", sets + "/s/scale?fieldManager=p", put).code, 200);
  set = Ask("GET", sets + "/s");
  owners = set.Get({"metadata", "managedFields"});
  EXPECT_TRUE(std::ranges::any_of(owners.items(), [](const Value& owner) { return owner.Get("manager").AsString() == "p"; }))
      << object::JsonText(owners);
  // What doesn't say that it is a Scale takes the number from its owner and gives it to nobody; the name alone is enough.
  EXPECT_EQ(Ask("PUT", sets + "/s/scale?fieldManager=p", R"({"metadata":{"name":"s"},"spec":{"replicas":0}})").code, 200);
  set = Ask("GET", sets + "/s");
  EXPECT_EQ(set.Get({"spec", "replicas"}).AsInt(), 0);
  owners = set.Get({"metadata", "managedFields"});
  for (const Value& owner : owners.items()) EXPECT_EQ(owner.Get("manager").AsString(), "unknown") << object::JsonText(owners);
}

TEST_F(WritesTest, KindsStoredInAVersionThatIsNotServedCanBeReadAgain) {
  const std::string bindings = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings";
  Make(bindings, R"({"metadata":{"name":"b"},"spec":{"policyName":"none"}})");
  auto entry = control_plane->cache().Get("/registry/mutatingadmissionpolicybindings/b");
  ASSERT_TRUE(entry);
  object::Arena arena;
  EXPECT_EQ(Ask("GET", bindings).Get({"items"}).size(), 1u);
}

TEST_F(WritesTest, DeletionsSayWhatTheyLeave) {
  const std::string jobs = "/apis/batch/v1/namespaces/default/jobs";
  Make(jobs, R"({"metadata":{"name":"j"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}})");
  EXPECT_NE(Warning(Ask("DELETE", jobs + "/j")).find("child pods are preserved by default"), std::string::npos);
  EXPECT_EQ(Ask("DELETE", "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical").message(),
            "priorityclasses.scheduling.k8s.io \"system-node-critical\" is forbidden: this is a system priority class and cannot be deleted");
}

TEST_F(WritesTest, ComponentStatusesAreMadeUpAtEveryRead) {
  EXPECT_EQ(Ask("GET", "/api/v1/componentstatuses").Get({"items"}).size(), 1u);
  EXPECT_EQ(Ask("GET", "/api/v1/componentstatuses/etcd-0").Text({"metadata", "name"}), "etcd-0");
  EXPECT_EQ(Ask("GET", "/api/v1/componentstatuses/none").message(), "componentstatus \"none\" not found");
  EXPECT_EQ(Ask("POST", "/api/v1/componentstatuses", "{}").code, 405);
}

TEST_F(WritesTest, WhatIsPutAndNotThereIsMade) {
  const std::string path = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
  auto lease = [](const std::string& metadata) { return R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"l")" + metadata + "}}"; };
  TestAnswer other = Ask("PUT", path + "/l", lease(R"(,"uid":"x")"));
  EXPECT_EQ(other.code, 409);
  EXPECT_TRUE(other.message().ends_with("Precondition failed: UID in precondition: x, UID in object meta: ")) << other.message();
  TestAnswer none = Ask("PUT", path + "/l", lease(R"(,"resourceVersion":"x")"));
  EXPECT_EQ(none.code, 500);
  EXPECT_EQ(none.message(), "strconv.ParseUint: parsing \"x\": invalid syntax");
  EXPECT_EQ(Ask("PUT", path + "/l?dryRun=All", lease(R"(,"deletionTimestamp":"2020-01-01T00:00:00Z")")).Text({"metadata", "deletionTimestamp"}),
            "2020-01-01T00:00:00Z") << "only those who post lose it";
  EXPECT_EQ(Ask("PUT", path + "/l?dryRun=All", lease(R"(,"resourceVersion":"7")")).Text({"metadata", "resourceVersion"}), "7");
  EXPECT_EQ(Ask("PUT", path + "/l", lease(R"(,"resourceVersion":"1")")).code, 201);
  EXPECT_EQ(Ask("PUT", path + "/l", lease(R"(,"resourceVersion":"1")")).code, 409);
}

TEST_F(WritesTest, APartMayMakeTheWhole) {
  const std::string services = "/api/v1/namespaces/default/services/s/status?dryRun=All";
  EXPECT_EQ(Ask("PUT", services, R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s"}})").message(), "Service \"s\" is invalid: spec.ports: Required value");
  EXPECT_EQ(Ask("PUT", services, R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}})").code, 201);
  EXPECT_EQ(Ask("PATCH", services, R"({"status":{}})").code, 404);
  EXPECT_EQ(Ask("PUT", "/api/v1/namespaces/default/pods/p/status", R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}})").code, 404);
}

TEST_F(WritesTest, WhatIsNotStoredHasNoVersion) {
  TestAnswer table = Ask("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", R"({"metadata":{"name":"c"}})",
                         {"Accept: application/json;as=Table;v=v1;g=meta.k8s.io"});
  EXPECT_EQ(table.Text({"kind"}), "Table");
  EXPECT_FALSE(table.Get({"metadata", "resourceVersion"}));
}

TEST_F(WritesTest, WritesOfAPartAreFilledFromTheRest) {
  const std::string path = "/apis/batch/v1/namespaces/default/jobs";
  ASSERT_EQ(Ask("POST", path, R"({"metadata":{"name":"j"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}})").code, 201);
  EXPECT_EQ(Ask("GET", path + "/j").Get({"metadata", "labels", "job-name"}).AsString(), "j");
  EXPECT_EQ(Ask("POST", path, R"({"metadata":{"name":"x:y"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}})").message()
                .find("metadata.labels"), std::string::npos) << "it has them only once it is stored";
  std::string body = R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}})";
  TestAnswer answer = Ask("PUT", path + "/j/status", body);
  ASSERT_EQ(answer.code, 200) << answer.message();
  EXPECT_EQ(answer.Get({"metadata", "labels", "job-name"}).AsString(), "j");
}

// Also of kinds that are stored in another version: what they say of themselves is no change.
TEST_F(WritesTest, ApplyingWhatIsThereIsNoChange) {
  const std::string path = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings";
  const std::string body = R"({"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingAdmissionPolicyBinding","metadata":{"name":"b"},"spec":{"policyName":"n"}})";
  ASSERT_EQ(Ask("POST", path, body).code, 201);
  TestAnswer applied = Ask("PATCH", path + "/b?fieldManager=m", body, {"Content-Type: application/apply-patch+yaml"});
  EXPECT_EQ(applied.Get({"metadata", "managedFields"}).At(0).Get("manager").AsString(), "m");
  EXPECT_FALSE(applied.Get({"metadata", "managedFields"}).At(0).Get("time"));
}

}  // namespace
}  // namespace homeostat::server
