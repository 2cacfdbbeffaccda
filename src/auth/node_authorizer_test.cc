#include "auth/node_authorizer.h"

#include <gtest/gtest.h>

#include "auth/internal/test_objects.h"

namespace homeostat::auth {
namespace {

class NodeAuthorizerTest : public ::testing::Test {
 protected:
  NodeAuthorizerTest() {
    objects.Put(R"({"kind":"Pod","metadata":{"name":"web","namespace":"a"},"spec":{"nodeName":"n1","serviceAccountName":"runner",
      "imagePullSecrets":[{"name":"pull"}],
      "initContainers":[{"name":"i","envFrom":[{"secretRef":{"name":"from"}},{"configMapRef":{"name":"all"}}]}],
      "containers":[{"name":"c","env":[{"name":"X","valueFrom":{"secretKeyRef":{"name":"key","key":"k"}}},
                                       {"name":"Y","valueFrom":{"configMapKeyRef":{"name":"conf","key":"k"}}}]}],
      "resourceClaims":[{"name":"gpu","resourceClaimName":"gpu-claim"}],
      "volumes":[{"name":"s","secret":{"secretName":"vol"}},{"name":"p","projected":{"sources":[{"secret":{"name":"proj"}},{"configMap":{"name":"projc"}}]}},
                 {"name":"d","persistentVolumeClaim":{"claimName":"data"}},{"name":"tmp","ephemeral":{"volumeClaimTemplate":{"spec":{}}}}]}})");
    objects.Put(R"({"kind":"Pod","metadata":{"name":"other","namespace":"a"},"spec":{"nodeName":"n2","containers":[],
      "volumes":[{"name":"s","secret":{"secretName":"theirs"}}]}})");
    objects.Put(R"({"kind":"Pod","metadata":{"name":"mirror","namespace":"a","annotations":{"kubernetes.io/config.mirror":"x"}},
      "spec":{"nodeName":"n1","containers":[],"volumes":[{"name":"s","secret":{"secretName":"stolen"}}]}})");
    objects.Put(R"({"kind":"PersistentVolumeClaim","metadata":{"name":"data","namespace":"a"},"spec":{"volumeName":"pv1"}})");
    objects.Put(R"({"kind":"PersistentVolume","metadata":{"name":"pv1"},"spec":{"claimRef":{"namespace":"a","name":"data"},
      "csi":{"driver":"d","volumeHandle":"h","nodeStageSecretRef":{"namespace":"store","name":"stage"},
             "controllerPublishSecretRef":{"namespace":"store","name":"control"}}}})");
    objects.Put(R"({"kind":"PersistentVolume","metadata":{"name":"pv2"},"spec":{"claimRef":{"namespace":"b","name":"data"}}})");
    objects.Put(R"({"kind":"VolumeAttachment","metadata":{"name":"va1"},"spec":{"attacher":"x","nodeName":"n1","source":{}}})");
    objects.Put(R"({"kind":"ResourceSlice","metadata":{"name":"slice1"},"spec":{"driver":"d","nodeName":"n1","pool":{"name":"p"}}})");
  }

  // "VERB GROUP RESOURCE[/SUB] NS NAME", with "-" for nothing.
  Verdict Ask(const std::string& text, std::vector<object::FieldRequirement> fields = {}) {
    std::vector<std::string> words(1);
    for (char c : text) if (c == ' ') words.emplace_back(); else words.back() += c;
    for (std::string& word : words) if (word == "-") word.clear();
    Attributes a;
    a.user = &user;
    a.resource_request = true;
    a.verb = words[0];
    a.group = words[1];
    size_t slash = words[2].find('/');
    a.resource = words[2].substr(0, slash);
    if (slash != std::string::npos) a.subresource = words[2].substr(slash + 1);
    a.ns = words[3];
    a.name = words[4];
    a.field_selector = std::move(fields);
    return nodes.Authorize(a);
  }
  bool May(const std::string& text, std::vector<object::FieldRequirement> fields = {}) {
    return Ask(text, std::move(fields)).decision == Decision::kAllow;
  }

  internal::TestObjects objects;
  NodeAuthorizer nodes{objects, [] {
                         internal::TestObjects role;
                         auto document = role.Put(R"({"kind":"ClusterRole","metadata":{"name":"system:node"},"rules":[
                           {"verbs":["get","list","watch"],"apiGroups":[""],"resources":["services"]}]})");
                         return object::OwnedValue{document, document->root().Get("rules")};
                       }};
  User user{.name = "system:node:n1", .groups = {"system:nodes", "system:authenticated"}};
};

TEST_F(NodeAuthorizerTest, GivesWhatPodsOfTheNodeUse) {
  for (const char* name : {"pull", "from", "key", "vol", "proj"}) EXPECT_TRUE(May(std::string("get - secrets a ") + name)) << name;
  for (const char* name : {"all", "conf", "projc"}) EXPECT_TRUE(May(std::string("watch - configmaps a ") + name)) << name;
  EXPECT_TRUE(May("get - persistentvolumeclaims a data"));
  EXPECT_TRUE(May("get - persistentvolumeclaims a web-tmp"));
  EXPECT_TRUE(May("patch - persistentvolumeclaims/status a data"));
  EXPECT_TRUE(May("get - persistentvolumes - pv1"));
  EXPECT_TRUE(May("get - secrets store stage"));
  EXPECT_TRUE(May("get resource.k8s.io resourceclaims a gpu-claim"));
  EXPECT_TRUE(May("create - serviceaccounts/token a runner"));
  EXPECT_TRUE(May("get - serviceaccounts a runner"));
  EXPECT_TRUE(May("get storage.k8s.io volumeattachments - va1"));
  EXPECT_TRUE(May("get - pods a web"));
  EXPECT_TRUE(May("get - services a any"));
}

TEST_F(NodeAuthorizerTest, GivesNothingElse) {
  EXPECT_EQ(Ask("get - secrets a theirs").reason, "no relationship found between node 'n1' and this object");
  for (const char* text :
       {"get - secrets a stolen", "get - secrets b vol", "get - secrets store control", "get - persistentvolumes - pv2", "get - pods a other",
        "create - serviceaccounts/token a default", "patch - persistentvolumeclaims a data", "get - configmaps a vol",
        "get apps deployments a x", "update - pods a web", "get - pods/log a web", "delete - nodes - n1"}) {
    EXPECT_FALSE(May(text)) << text;
  }
  EXPECT_EQ(Ask("list - secrets a -").reason, "No Object name found");
  EXPECT_EQ(Ask("list - secrets - x").reason, "can only read namespaced object of this type");
  EXPECT_EQ(Ask("update - secrets a vol").reason, "can only read resources of this type");
  EXPECT_EQ(Ask("list - persistentvolumes - -").reason, "can only get individual resources of this type");
}

TEST_F(NodeAuthorizerTest, GivesItsOwnObjects) {
  EXPECT_TRUE(May("get - nodes - n1"));
  EXPECT_TRUE(May("watch - nodes - n1"));
  EXPECT_TRUE(May("patch - nodes/status - n1"));
  EXPECT_EQ(Ask("get - nodes - n2").reason, "node 'n1' cannot read 'n2', only its own Node object");
  EXPECT_EQ(Ask("list - nodes - -").reason, "node 'n1' cannot read all nodes, only its own Node object");
  EXPECT_TRUE(May("update coordination.k8s.io leases kube-node-lease n1"));
  EXPECT_TRUE(May("create coordination.k8s.io leases kube-node-lease -"));
  EXPECT_EQ(Ask("update coordination.k8s.io leases kube-node-lease n2").reason,
            "can only access node lease with the same name as the requesting node");
  EXPECT_EQ(Ask("get coordination.k8s.io leases a n1").reason, "can only access leases in the \"kube-node-lease\" system namespace");
  EXPECT_TRUE(May("delete storage.k8s.io csinodes - n1"));
  EXPECT_FALSE(May("delete storage.k8s.io csinodes - n2"));
}

TEST_F(NodeAuthorizerTest, ListsByItsNameOnly) {
  EXPECT_TRUE(May("list - pods - -", {{"spec.nodeName", "n1", true}}));
  EXPECT_FALSE(May("list - pods - -", {{"spec.nodeName", "n2", true}}));
  EXPECT_FALSE(May("list - pods - -", {{"spec.nodeName", "n1", false}}));
  EXPECT_EQ(Ask("watch - pods - -").reason, "can only list/watch pods with spec.nodeName field selector");
  EXPECT_TRUE(May("deletecollection resource.k8s.io resourceslices - -", {{"spec.nodeName", "n1", true}}));
  EXPECT_FALSE(May("list resource.k8s.io resourceslices - -"));
  EXPECT_TRUE(May("get resource.k8s.io resourceslices - slice1"));
  EXPECT_TRUE(May("create resource.k8s.io resourceslices - -"));
}

TEST_F(NodeAuthorizerTest, KnowsOnlyNodes) {
  user.groups.clear();
  EXPECT_FALSE(May("get - nodes - n1"));
  user.groups = {"system:nodes"};
  user.name = "system:node:";
  EXPECT_EQ(Ask("get - nodes - n1").reason, "unknown node for user \"system:node:\"");
  EXPECT_TRUE(nodes.RulesFor(user, "a").incomplete);
  user.name = "mira";
  EXPECT_FALSE(nodes.RulesFor(user, "a").incomplete);
}

TEST_F(NodeAuthorizerTest, FollowsPodsThatComeAndGo) {
  EXPECT_FALSE(May("get - secrets a late"));
  auto pod = objects.Put(R"({"kind":"Pod","metadata":{"name":"new","namespace":"a"},"spec":{"nodeName":"n1","containers":[],
      "volumes":[{"name":"s","secret":{"secretName":"late"}}]}})");
  nodes.pods().PodStored(pod->root());
  EXPECT_TRUE(May("get - secrets a late"));
  objects.Remove("", "pods", "a", "new");
  nodes.pods().PodRemoved(pod->root());
  EXPECT_FALSE(May("get - secrets a late"));
}

}  // namespace
}  // namespace homeostat::auth
