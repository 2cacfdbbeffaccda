#include "controllers/owner_graph.h"

#include <gtest/gtest.h>

#include "controllers/json_object_test.h"
#include "homeostat/api/apps/v1.h"
#include "homeostat/api/core/v1.h"

namespace homeostat::controllers {
namespace {

using api::apps::v1::Deployment;
using api::apps::v1::ReplicaSet;
using api::core::v1::Pod;
using Uids = std::vector<std::string>;

std::string Owner(const std::string& api_version, const std::string& kind, const std::string& uid, bool blocks = true) {
  return R"({"apiVersion":")" + api_version + R"(","kind":")" + kind + R"(","name":")" + uid + R"(","uid":")" + uid +
         R"(","blockOwnerDeletion":)" + (blocks ? "true}" : "false}");
}
std::string Set(const std::string& uid, bool blocks = true) { return Owner("apps/v1", "ReplicaSet", uid, blocks); }

// Objects are named by their uids.
template <class T>
object::DocumentPtr Make(const std::string& uid, const std::string& owners = "", const std::string& finalizer = "", bool going = false,
                         const std::string& ns = "n") {
  return FromJson<T>(R"({"metadata":{"name":")" + uid + R"(","uid":")" + uid + R"(","namespace":")" + ns + R"(","ownerReferences":[)" + owners +
                     R"(],"finalizers":[)" + (finalizer.empty() ? "" : "\"" + finalizer + "\"") + "]" +
                     (going ? R"(,"deletionTimestamp":"2026-01-01T00:00:00Z"}})" : "}}"));
}

Uids Sorted(Uids uids) {
  std::ranges::sort(uids);
  auto [first, last] = std::ranges::unique(uids);
  uids.erase(first, last);
  return uids;
}

class OwnerGraphTest : public testing::Test {
 protected:
  template <class T>
  Uids See(const object::DocumentPtr& object) {
    return Sorted(graph_.Observe(T::SchemaKind(), object->root()));
  }
  OwnerGraph graph_;
};

TEST_F(OwnerGraphTest, OwnersThatAreKnownNeedNoLook) {
  EXPECT_EQ(See<Pod>(Make<Pod>("p1", Set("r"))), Uids{"p1"}) << "its owner has not been seen";
  EXPECT_EQ(See<ReplicaSet>(Make<ReplicaSet>("r")), Uids{});
  EXPECT_EQ(See<Pod>(Make<Pod>("p2", Set("r"))), Uids{});
  EXPECT_EQ(graph_.DependentsOf("r"), (Uids{"p1", "p2"}));
  EXPECT_EQ(Sorted(graph_.Forget("r")), (Uids{"p1", "p2"}));
  EXPECT_EQ(graph_.DependentsOf("r"), (Uids{"p1", "p2"})) << "they still name it";
  graph_.Forget("p1");
  EXPECT_EQ(graph_.DependentsOf("r"), Uids{"p2"});
}

TEST_F(OwnerGraphTest, AUidAloneIsNoOwner) {
  See<ReplicaSet>(Make<ReplicaSet>("r"));
  EXPECT_EQ(See<Pod>(Make<Pod>("p1", Owner("apps/v1", "Deployment", "r"))), Uids{"p1"}) << "another kind";
  EXPECT_EQ(See<Pod>(Make<Pod>("p2", Owner("example.com/v1", "ReplicaSet", "r"))), Uids{"p2"}) << "another group";
  EXPECT_EQ(See<Pod>(Make<Pod>("p3", Set("r"), "", false, "elsewhere")), Uids{"p3"}) << "another namespace";
  EXPECT_EQ(See<Pod>(Make<Pod>("p4", Owner("apps/v1beta2", "ReplicaSet", "r"))), Uids{}) << "another version is the same";
}

TEST_F(OwnerGraphTest, ForegroundWaitsForWhatBlocks) {
  See<ReplicaSet>(Make<ReplicaSet>("r"));
  See<Pod>(Make<Pod>("blocking", Set("r", true)));
  See<Pod>(Make<Pod>("free", Set("r", false)));
  EXPECT_EQ(See<ReplicaSet>(Make<ReplicaSet>("r", "", "foregroundDeletion", true)), (Uids{"blocking", "free", "r"}));
  EXPECT_EQ(graph_.BlockingDependentsOf("r"), Uids{"blocking"});
  // A dependent that starts going, stops blocking or is gone lets the owner look again.
  EXPECT_EQ(See<Pod>(Make<Pod>("blocking", Set("r", true), "", true)), Uids{"r"});
  EXPECT_EQ(Sorted(graph_.Forget("blocking")), Uids{"r"});
  EXPECT_TRUE(graph_.BlockingDependentsOf("r").empty());
  See<Pod>(Make<Pod>("late", Set("r", true)));
  EXPECT_EQ(See<Pod>(Make<Pod>("late", Set("r", false))), (Uids{"late", "r"}));
}

TEST_F(OwnerGraphTest, OrphaningAndPlainDeletion) {
  See<ReplicaSet>(Make<ReplicaSet>("r"));
  See<Pod>(Make<Pod>("p", Set("r")));
  EXPECT_EQ(See<ReplicaSet>(Make<ReplicaSet>("r", "", "orphan", true)), Uids{"r"});
  EXPECT_TRUE(graph_.Find("r")->WaitsForOrphaning());
  EXPECT_EQ(See<Pod>(Make<Pod>("going", Set("nobody"), "", true)), Uids{}) << "what goes by itself is left alone";
}

TEST_F(OwnerGraphTest, OwnersMayChange) {
  See<ReplicaSet>(Make<ReplicaSet>("r1"));
  See<ReplicaSet>(Make<ReplicaSet>("r2"));
  See<Pod>(Make<Pod>("p", Set("r1")));
  EXPECT_EQ(See<Pod>(Make<Pod>("p", Set("r2"))), Uids{});
  EXPECT_TRUE(graph_.DependentsOf("r1").empty());
  EXPECT_EQ(graph_.DependentsOf("r2"), Uids{"p"});
  EXPECT_EQ(See<Pod>(Make<Pod>("p", Set("r2") + "," + Set("r3"))), Uids{"p"});
  EXPECT_EQ(graph_.DependentsOf("r3"), Uids{"p"});
  See<Pod>(Make<Pod>("p"));
  EXPECT_TRUE(graph_.DependentsOf("r2").empty());
  EXPECT_TRUE(graph_.DependentsOf("r3").empty());
}

// Uids are kept packed, and references once for all that name an owner.
TEST_F(OwnerGraphTest, ShowsObjectsAsTheyCame) {
  const std::string set = "0b5a7c1e-1111-4222-8333-00000000000a", pod = "0b5a7c1e-1111-4222-8333-00000000000b";
  See<ReplicaSet>(Make<ReplicaSet>(set));
  for (const std::string& uid : {pod, std::string("another")}) {
    See<Pod>(Make<Pod>(uid, Set(set) + "," + Set(set, false), "foregroundDeletion", true));
    const std::optional<GraphNode> node = graph_.Find(uid);
    ASSERT_TRUE(node);
    EXPECT_EQ(node->kind, &Pod::SchemaKind());
    EXPECT_EQ(node->uid, uid);
    EXPECT_EQ(node->name, uid);
    EXPECT_EQ(node->ns, "n");
    ASSERT_EQ(node->owners.size(), 2u);
    EXPECT_EQ(node->owners[0], (OwnerReference{"apps/v1", "ReplicaSet", set, set, true}));
    EXPECT_FALSE(node->owners[1].blocks);
    EXPECT_TRUE(node->WaitsForDependents());
  }
  EXPECT_EQ(graph_.DependentsOf(set), (Uids{pod, "another"}));
  EXPECT_EQ(graph_.BlockingDependentsOf(set), (Uids{pod, "another"}));
  graph_.Forget(pod);
  EXPECT_EQ(graph_.Find("another")->owners.size(), 2u);
  graph_.Forget("another");
  EXPECT_TRUE(graph_.DependentsOf(set).empty());
  EXPECT_EQ(graph_.size(), 1u);
}

TEST(AbsentOwnersTest, RemembersTheNewest) {
  AbsentOwners absent;
  for (int i = 0; i < 600; ++i) absent.Add("u" + std::to_string(i), "n");
  absent.Add("u599", "n");
  EXPECT_FALSE(absent.Has("u99", "n"));
  EXPECT_TRUE(absent.Has("u100", "n"));
  EXPECT_TRUE(absent.Has("u599", "n"));
  EXPECT_FALSE(absent.Has("u599", "m"));
}

}  // namespace
}  // namespace homeostat::controllers
