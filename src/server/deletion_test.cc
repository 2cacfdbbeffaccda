// Kinds whose first deletion is one of its own, and what of the options is looked at when.
#include "server/internal/test_server.h"

namespace homeostat::server {
namespace {

using internal::TestAnswer;

class DeletionTest : public internal::TestServer {
 protected:
  static std::string Finalizers(const TestAnswer& answer) {
    std::string text;
    for (const object::Value& name : answer.Get({"metadata", "finalizers"}).items()) text += (text.empty() ? "" : " ") + std::string(name.AsString());
    return text;
  }
  static bool HasPeriod(const TestAnswer& answer) { return static_cast<bool>(answer.Get({"metadata", "deletionGracePeriodSeconds"})); }
};

TEST_F(DeletionTest, WhatIsGoneIsShownAsOfItsRemoval) {
  const std::string path = "/api/v1/namespaces/default/serviceaccounts";
  auto version = [](const TestAnswer& answer) { return std::stoull("0" + answer.Text({"metadata", "resourceVersion"})); };
  const uint64_t made = version(Ask("POST", path, R"({"metadata":{"name":"a"}})"));
  EXPECT_EQ(version(Ask("DELETE", path + "/a?dryRun=All")), made);
  TestAnswer gone = Ask("DELETE", path + "/a");
  EXPECT_EQ(gone.Text({"kind"}), "ServiceAccount");
  EXPECT_GT(version(gone), made);
  EXPECT_EQ(version(gone), version(Ask("GET", path)));
}

TEST_F(DeletionTest, AVersionDoesNotHoldOfWhatLosesItsFinalizers) {
  const std::string maps = "/api/v1/namespaces/default/configmaps";
  TestAnswer made = Ask("POST", maps, R"({"metadata":{"name":"a","finalizers":["orphan"]}})");
  const std::string options = R"({"propagationPolicy":"Background","preconditions":{"resourceVersion":")" + made.Text({"metadata", "resourceVersion"}) + "\"}}";
  TestAnswer refused = Ask("DELETE", maps + "/a", options);
  EXPECT_EQ(refused.code, 409);
  EXPECT_TRUE(refused.message().ends_with("Precondition failed: ResourceVersion in precondition: , ResourceVersion in object meta: " +
                                          made.Text({"metadata", "resourceVersion"}))) << refused.message();
  TestAnswer dry = Ask("DELETE", maps + "/a?dryRun=All", R"({"propagationPolicy":"Background","dryRun":["All"]})");
  EXPECT_EQ(dry.code, 200);
  EXPECT_EQ(dry.Text({"kind"}), "ConfigMap");
  EXPECT_EQ(dry.Text({"metadata", "name"}), "") << "upstream shows the object that it has not filled in";
  EXPECT_EQ(Ask("DELETE", maps + "/a", R"({"propagationPolicy":"Background"})").code, 200);
}

TEST_F(DeletionTest, NamespacesAreHeldAsTheyWereFirstDeleted) {
  const std::string path = "/api/v1/namespaces/n";
  ASSERT_EQ(Ask("POST", "/api/v1/namespaces", R"({"metadata":{"name":"n","finalizers":["example.com/f"]}})").code, 201);
  TestAnswer first = Ask("DELETE", path, R"({"propagationPolicy":"Orphan"})");
  EXPECT_EQ(Finalizers(first), "example.com/f orphan");
  EXPECT_FALSE(HasPeriod(first));
  TestAnswer second = Ask("DELETE", path, R"({"propagationPolicy":"Background"})");
  EXPECT_EQ(second.code, 200);
  EXPECT_EQ(Finalizers(second), "example.com/f orphan");
  EXPECT_EQ(second.Text({"metadata", "resourceVersion"}), first.Text({"metadata", "resourceVersion"}));
}

TEST_F(DeletionTest, DefinitionsAreMarkedWithoutALookAtDependents) {
  const std::string path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  ASSERT_EQ(Ask("POST", path, R"({"metadata":{"name":"foos.example.com","finalizers":["example.com/f"]},"spec":{"group":"example.com","scope":"Namespaced",)"
                              R"("names":{"plural":"foos","kind":"Foo"},"versions":[{"name":"v1","served":true,"storage":true,)"
                              R"("schema":{"openAPIV3Schema":{"type":"object"}}}]}})").code, 201);
  TestAnswer first = Ask("DELETE", path + "/foos.example.com", R"({"propagationPolicy":"Orphan"})");
  EXPECT_EQ(Finalizers(first), "example.com/f customresourcecleanup.apiextensions.k8s.io");
  EXPECT_FALSE(HasPeriod(first));
  TestAnswer second = Ask("DELETE", path + "/foos.example.com", R"({"propagationPolicy":"Foreground"})");
  EXPECT_TRUE(Finalizers(second).ends_with(" foregroundDeletion")) << "the definition's own finalizer may be gone by now";
  EXPECT_TRUE(HasPeriod(second));
}

TEST_F(DeletionTest, AnEvictionNotesItsReasonBeforeItLooksAtOptions) {
  const std::string pod = "/api/v1/namespaces/default/pods/p";
  ASSERT_EQ(Ask("POST", "/api/v1/namespaces/default/pods", R"({"metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}})").code, 201);
  std::string body = R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"},"deleteOptions":{"propagationPolicy":"Bogus"}})";
  EXPECT_EQ(Ask("POST", pod + "/eviction?dryRun=All", body).code, 422);
  EXPECT_EQ(Ask("GET", pod).Get({"status", "conditions"}).size(), 0u);
  EXPECT_EQ(Ask("POST", pod + "/eviction", body).code, 422);
  EXPECT_EQ(Ask("GET", pod).Get({"status", "conditions"}).At(0).Get("type").AsString(), "DisruptionTarget");
}

}  // namespace
}  // namespace homeostat::server
