// Apply to custom objects whose managers wrote in versions that don't know all fields of the version at hand.
#include <algorithm>

#include "server/internal/test_server.h"

namespace homeostat::server {
namespace {

class VersionsApplyTest : public internal::TestServer {
 protected:
  static std::string Version(const std::string& name, bool storage, const std::string& more, bool served = true) {
    return R"({"name":")" + name + R"(","served":)" + (served ? "true" : "false") + R"(,"storage":)" + (storage ? "true" : "false") +
           R"(,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string"})" + more + "}}}}}}";
  }
  static std::string Definition(const std::string& versions) {
    return R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com",)"
           R"("scope":"Cluster","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"versions":[)" + versions + "]}}";
  }
  // A definition with one version, and an object that "one" has applied in it.
  void SetUp() override {
    ASSERT_EQ(Ask("POST", kDefinitions, Definition(Version("v1beta1", true, ""))).code, 201);
    ASSERT_EQ(Apply("v1beta1", "one").code, 201);
  }
  void Change(const std::string& versions) { ASSERT_EQ(Ask("PATCH", kDefinition, Definition(versions)).code, 200); }
  // Stored in the new version, by somebody else; the first one's entry stays as it was.
  internal::TestAnswer Move() {
    Change(Version("v1beta1", false, "") + "," + Version("v1", true, ""));
    internal::TestAnswer moved = Ask("PATCH", "/apis/example.com/v1/widgets/w?fieldManager=mover", R"({"metadata":{"annotations":{"moved":"yes"}}})");
    EXPECT_EQ(moved.code, 200);
    return moved;
  }
  // The new version gets a field with a default.
  void Grow() { Change(Version("v1beta1", false, "") + "," + Version("v1", true, R"(,"b":{"type":"string","default":"x"})")); }

  static constexpr const char* kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  static constexpr const char* kDefinition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";

  // As manager "one", in v1beta1. more: members of the metadata after the name.
  internal::TestAnswer ApplySpec(const std::string& name, const std::string& spec, const std::string& more = "") {
    return Ask("PATCH", "/apis/example.com/v1beta1/widgets/" + name + "?fieldManager=one",
               R"({"apiVersion":"example.com/v1beta1","kind":"Widget","metadata":{"name":")" + name + "\"" + more + R"(},"spec":)" + spec + "}",
               {"Content-Type: application/apply-patch+yaml"});
  }
  internal::TestAnswer Apply(const std::string& version, const std::string& manager) {
    return Ask("PATCH", "/apis/example.com/" + version + "/widgets/w?force=true&fieldManager=" + manager,
               R"({"apiVersion":"example.com/)" + version + R"(","kind":"Widget","metadata":{"name":"w"},"spec":{"a":"1"}})",
               {"Content-Type: application/apply-patch+yaml"});
  }
};

TEST_F(VersionsApplyTest, AnEntryWrittenAnewInTheGrownVersionIsNoHindrance) {
  internal::TestAnswer moved = Move();
  ASSERT_EQ(moved.Get({"metadata", "managedFields"}).At(0).Get("apiVersion").AsString(), "example.com/v1beta1");
  ASSERT_EQ(Apply("v1", "one").code, 200);
  Grow();
  internal::TestAnswer again = Apply("v1", "two");
  // The first one's entry is in the new version by now, and the one that moved the object wrote in it.
  EXPECT_EQ(again.code, 200) << again.message();
}

TEST_F(VersionsApplyTest, EntriesInAnOlderVersion) {
  Move();
  Grow();
  internal::TestAnswer own = Apply("v1", "one"), other = Apply("v1", "two");
  EXPECT_EQ(own.code, 500);
  EXPECT_EQ(own.message(), ".spec.b: field not declared in schema");
  EXPECT_EQ(other.code, 500);
  EXPECT_EQ(other.message(), ".spec.b: field not declared in schema");
}

TEST_F(VersionsApplyTest, EntriesInAVersionThatIsNotServedOrGone) {
  Change(Version("v1beta1", false, "", false) + "," + Version("v1", true, ""));
  internal::TestAnswer two = Apply("v1", "two");
  EXPECT_EQ(two.code, 200);
  EXPECT_EQ(two.Get({"metadata", "managedFields"}).size(), 2u);
  ASSERT_EQ(Ask("PATCH", std::string(kDefinition) + "/status", R"({"status":{"storedVersions":["v1"]}})").code, 200);
  Change(Version("v1", true, ""));
  internal::TestAnswer three = Apply("v1", "three");
  EXPECT_EQ(three.code, 500);
  EXPECT_EQ(three.message(), "request to convert CR to an invalid group/version: example.com/v1beta1");
}

TEST_F(VersionsApplyTest, WhatApplyEmptiesIsNull) {
  Change(Version("v1beta1", true, R"(,"m":{"type":"object","additionalProperties":{"type":"string"}},"n":{"type":"object","nullable":true,"properties":{"x":{"type":"string"}}},)"
                                  R"("d":{"type":"object","default":{},"properties":{"x":{"type":"string"}}})"));
  struct Case {
    const char *before, *after, *fault;
  };
  const Case kCases[] = {
      {R"({"m":{"k":"v"}})", R"({"m":{}})", R"(spec.m: Invalid value: "null": spec.m in body must be of type object: "null")"},
      {R"({"n":{"x":"y"}})", R"({"n":{}})", nullptr},
      {R"({"d":{"x":"y"}})", R"({"d":{}})", nullptr},  // gets its default instead
      {R"({"a":"1"})", R"({})", nullptr},               // what is left has a default
  };
  int number = 0;
  for (const Case& c : kCases) {
    const std::string name = "w" + std::to_string(++number);
    ASSERT_EQ(ApplySpec(name, c.before).code, 201) << c.before;
    internal::TestAnswer answer = ApplySpec(name, c.after);
    EXPECT_EQ(answer.code, c.fault == nullptr ? 200 : 422) << c.before;
    if (c.fault != nullptr) {
      EXPECT_TRUE(answer.message().ends_with(c.fault)) << answer.message();
    }
  }
  EXPECT_TRUE(Ask("GET", "/apis/example.com/v1beta1/widgets/w2", "").Get({"spec", "n"}).IsNull());
}

// Only entries of the version that is written in are kept from losing a part that the write does not touch.
TEST_F(VersionsApplyTest, EntriesOfOtherVersionsLoseTheStatus) {
  auto with_status = [](const std::string& name, bool storage) {
    std::string version = Version(name, storage, R"(}},"status":{"type":"object","properties":{"x":{"type":"string"})");
    return version.insert(version.size() - 1, R"(,"subresources":{"status":{}})");
  };
  Change(with_status("v1beta1", true) + "," + with_status("v1", false));
  internal::TestAnswer status = Ask("PATCH", "/apis/example.com/v1beta1/widgets/w/status", R"({"status":{"x":"y"}})");
  ASSERT_EQ(status.code, 200) << status.message();
  auto has_status_entry = [](const internal::TestAnswer& answer) {
    auto entries = answer.Get({"metadata", "managedFields"});
    return std::ranges::any_of(entries.items(), [](const auto& entry) { return entry.Get("subresource").AsString() == "status"; });
  };
  EXPECT_TRUE(has_status_entry(status));
  EXPECT_TRUE(has_status_entry(Ask("PATCH", "/apis/example.com/v1beta1/widgets/w", R"({"spec":{"a":"2"}})")));
  internal::TestAnswer put = Ask("PUT", "/apis/example.com/v1/widgets/w", R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","resourceVersion":")" +
                                     std::string(Ask("GET", "/apis/example.com/v1/widgets/w", "").Get({"metadata", "resourceVersion"}).AsString()) + R"("},"spec":{"a":"3"}})");
  ASSERT_EQ(put.code, 200) << put.message();
  EXPECT_EQ(put.Get({"status", "x"}).AsString(), "y");
  EXPECT_FALSE(has_status_entry(put));
  // What a write of the status says of the rest takes nothing from anybody, whatever the version.
  internal::TestAnswer other = Ask("PATCH", "/apis/example.com/v1beta1/widgets/w/status", R"({"spec":{"a":"9"},"status":{"x":"z"}})");
  ASSERT_EQ(other.code, 200) << other.message();
  auto owns_spec = [](const auto& entry) { return entry.Get("apiVersion").AsString() == "example.com/v1" && !entry.Path({"fieldsV1", "f:spec", "f:a"}).IsAbsent(); };
  EXPECT_TRUE(std::ranges::any_of(other.Get({"metadata", "managedFields"}).items(), owns_spec));
}

TEST_F(VersionsApplyTest, FaultsOfResourcesWithinAreForValidation) {
  Change(Version("v1beta1", true, R"(,"e":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true})"));
  internal::TestAnswer late = ApplySpec("e", R"({"e":{"apiVersion":"v1","kind":"Pod","metadata":{"creationTimestamp":"x"}}})");
  EXPECT_EQ(late.code, 422);
  EXPECT_NE(late.message().find(R"(spec.e.metadata: Invalid value: {"creationTimestamp":"x"}: parsing time)"), std::string::npos) << late.message();
  internal::TestAnswer odd = ApplySpec("e", R"({"e":{"apiVersion":"v1","kind":null}})");
  EXPECT_EQ(odd.code, 422);
  EXPECT_NE(odd.message().find("spec.e.kind: Invalid value: null: must be a string"), std::string::npos) << odd.message();
}

TEST_F(VersionsApplyTest, TimesThatAreNoneAreNothing) {
  internal::TestAnswer made = ApplySpec("late", R"({"a":"1"})", R"(,"creationTimestamp":"x")");
  EXPECT_EQ(made.code, 201) << made.message();
}

}  // namespace
}  // namespace homeostat::server
