#include "homeostat/sdk/informer.h"

#include <gtest/gtest.h>

#include "sdk/fake_api_test.h"

namespace homeostat::sdk {
namespace {

using api::core::v1::ConfigMap;
using api::core::v1::ConfigMapBuilder;

const schema::Kind& Kind() { return ConfigMap::SchemaKind(); }

object::DocumentPtr Map(std::string_view name, std::string_view value) {
  ConfigMapBuilder map;
  map.mutable_metadata().set_namespace("default").set_name(name);
  map.set_data("value", value);
  return map.Freeze();
}

std::map<std::string, std::string> Versions(const std::map<std::string, object::DocumentPtr>& objects) {
  std::map<std::string, std::string> versions;
  for (const auto& [key, object] : objects) versions[key] = meta::ResourceVersion(object->root());
  return versions;
}

// What a handler was told, kept as the handler must be able to keep it.
struct Follower {
  std::map<std::string, object::DocumentPtr> objects;
  int changes = 0;
  bool identities = false;  // previous states are told by their metadata alone

  void Take(const Change& change) {
    ++changes;
    std::string key = meta::Key((change.current ? change.current : change.previous)->root());
    auto known = objects.find(key);
    ASSERT_EQ(known != objects.end(), static_cast<bool>(change.previous)) << key;
    if (change.previous && change.current) {
      EXPECT_EQ(meta::ResourceVersion(known->second->root()), meta::ResourceVersion(change.previous->root()));
      EXPECT_TRUE(identities || known->second == change.previous) << "the previous state is the one that was told";
      EXPECT_TRUE(ReachedVersion(meta::ResourceVersion(change.current->root()), meta::ResourceVersion(change.previous->root())));
      EXPECT_EQ(meta::Uid(change.current->root()), meta::Uid(change.previous->root()));
    }
    if (change.current) objects[key] = change.current;
    else objects.erase(key);
  }
};

// A world that changes while the informer follows it through faults, and one that is quiet at the end.
struct World {
  explicit World(uint64_t seed, InformerOptions options = {})
      : runtime(SimulatedRuntime::Make(seed)), api(std::make_shared<FakeApi>(*runtime)), informer(*runtime, Client(api), Kind(), options) {
    informer.AddIndex("value", [](const object::Value& object, std::vector<std::string>& values) {
      values.emplace_back(ConfigMap(object).data().Get("value"));
    });
    informer.AddHandler([this](const Change& change) { follower.Take(change); });
  }

  void ChangeSomething() {
    std::string name = "m" + std::to_string(runtime->Random() % 12);
    switch (runtime->Random() % 8) {
      case 0:
      case 1: api->Erase(Kind(), "default", name); break;
      case 2:
        // Replaced by another object of the same name, perhaps unseen.
        api->Erase(Kind(), "default", name);
        [[fallthrough]];
      default: api->Put(Kind(), Map(name, "v" + std::to_string(runtime->Random() % 4))); break;
    }
    if (runtime->Random() % 10 == 0) api->Compact();
  }
  bool InStep() { return informer.synced() && Versions(Followed()) == Versions(api->Objects(Kind())) && Versions(follower.objects) == Versions(Followed()); }
  std::map<std::string, object::DocumentPtr> Followed() {
    std::map<std::string, object::DocumentPtr> objects;
    for (object::DocumentPtr& object : informer.List()) objects[meta::Key(object->root())] = object;
    return objects;
  }

  std::unique_ptr<SimulatedRuntime> runtime;
  std::shared_ptr<FakeApi> api;
  Follower follower;
  Informer informer;
};

TEST(InformerTest, FollowsThroughFaults) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    InformerOptions options;
    options.stream_list = seed % 3 != 0;
    World world(seed, options);
    world.api->faults = {.refuse = 150, .lose_answer = 50, .cut = 100, .repeat = 100, .delay = std::chrono::milliseconds(300)};
    constexpr FakeApi::StreamedLists kLists[] = {FakeApi::StreamedLists::kRefused, FakeApi::StreamedLists::kIgnored, FakeApi::StreamedLists::kCut};
    if (seed % 5 < 3) world.api->streamed_lists = kLists[seed % 5];
    world.api->protobuf = seed % 4 != 0;
    world.informer.Start();
    for (int i = 0; i < 120; ++i) {
      world.ChangeSomething();
      world.runtime->RunFor(std::chrono::milliseconds(world.runtime->Random() % 1500));
    }
    world.api->faults = {};
    ASSERT_TRUE(world.runtime->RunUntil([&] { return world.InStep(); }, std::chrono::minutes(2)));
    // The index agrees with the objects.
    size_t indexed = 0;
    for (int v = 0; v < 4; ++v) {
      for (const object::DocumentPtr& object : world.informer.ByIndex("value", "v" + std::to_string(v))) {
        EXPECT_EQ(ConfigMap(object->root()).data().Get("value"), "v" + std::to_string(v));
        EXPECT_EQ(world.informer.Get(meta::Key(object->root())), object);
        ++indexed;
      }
    }
    EXPECT_EQ(indexed, world.informer.size());
    if (HasFailure()) return;
  }
}

TEST(InformerTest, ListsWhereNoListIsStreamed) {
  struct Case {
    std::string_view name;
    FakeApi::StreamedLists lists;
    int refusal;
    Duration within;
  };
  for (const Case& c : {Case{"refused as it was until 1.26", FakeApi::StreamedLists::kRefused, 400, std::chrono::seconds(1)},
                        Case{"refused", FakeApi::StreamedLists::kRefused, 422, std::chrono::seconds(1)},
                        Case{"refused for now", FakeApi::StreamedLists::kRefused, 503, std::chrono::seconds(1)},
                        Case{"ignored", FakeApi::StreamedLists::kIgnored, 0, std::chrono::seconds(15)},
                        Case{"cut", FakeApi::StreamedLists::kCut, 0, std::chrono::seconds(1)}}) {
    SCOPED_TRACE(c.name);
    World world(5);
    world.api->streamed_lists = c.lists;
    world.api->refusal = c.refusal;
    world.api->Put(Kind(), Map("a", "v"));
    world.api->Put(Kind(), Map("b", "v"));
    world.api->Erase(Kind(), "default", "a");
    world.informer.Start();
    EXPECT_TRUE(world.runtime->RunUntil([&] { return world.InStep(); }, c.within));
    world.api->Put(Kind(), Map("c", "v"));
    EXPECT_TRUE(world.runtime->RunUntil([&] { return world.InStep(); }, std::chrono::seconds(1)));
  }
}

TEST(InformerTest, TellsOfADeletionThatNoWatchHasShown) {
  World world(1);
  world.api->Put(Kind(), Map("a", "v"));
  world.informer.Start();
  ASSERT_TRUE(world.runtime->RunUntil([&] { return world.follower.objects.contains("default/a"); }, std::chrono::seconds(10)));
  std::string version(meta::ResourceVersion(world.follower.objects["default/a"]->root()));
  world.api->faults.refuse = 1000;
  world.api->faults.cut = 1000;
  world.api->Erase(Kind(), "default", "a");
  world.api->Compact();
  world.runtime->RunFor(std::chrono::minutes(2));
  ASSERT_TRUE(world.follower.objects.contains("default/a"));
  world.api->Put(Kind(), Map("b", "v"));
  world.api->Compact();
  world.api->faults = {};
  ASSERT_TRUE(world.runtime->RunUntil([&] { return world.InStep(); }, std::chrono::minutes(2)));
  EXPECT_FALSE(world.follower.objects.contains("default/a"));
}

TEST(InformerTest, AsksSeldomWhileNobodyAnswers) {
  World world(7);
  world.api->faults.refuse = 1000;
  world.informer.Start();
  world.runtime->RunFor(std::chrono::minutes(30));
  EXPECT_FALSE(world.informer.synced());
  EXPECT_GT(world.api->requests, 20);
  EXPECT_LT(world.api->requests, 90) << "the pause grows to half a minute or more";
}

TEST(InformerTest, OpensAWatchAgainWithoutListing) {
  World world(3);
  world.api->Put(Kind(), Map("a", "v"));
  world.informer.Start();
  world.runtime->RunFor(std::chrono::minutes(60));
  // Each watch lives for five to ten minutes.
  EXPECT_GE(world.api->requests, 6);
  EXPECT_LE(world.api->requests, 13);
  EXPECT_EQ(world.follower.changes, 1);
}

TEST(InformerTest, ResyncTellsEverythingAgain) {
  InformerOptions options;
  options.resync = std::chrono::seconds(30);
  World world(3, options);
  world.api->Put(Kind(), Map("a", "v"));
  world.api->Put(Kind(), Map("b", "v"));
  world.informer.Start();
  world.runtime->RunFor(std::chrono::seconds(100));
  EXPECT_EQ(world.follower.changes, 2 + 3 * 2);
}

// One that keeps identities tells the same: what is new, what changed, what is gone.
TEST(InformerTest, IdentitiesFollowThroughFaults) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(seed + 1000, {.identities_only = true});
    world.follower.identities = true;
    world.api->faults = {.refuse = 150, .lose_answer = 50, .cut = 100, .repeat = 100, .delay = std::chrono::milliseconds(300)};
    world.informer.Start();
    for (int i = 0; i < 120; ++i) {
      world.ChangeSomething();
      world.runtime->RunFor(std::chrono::milliseconds(world.runtime->Random() % 1500));
    }
    world.api->faults = {};
    ASSERT_TRUE(world.runtime->RunUntil([&] { return world.InStep(); }, std::chrono::minutes(2)));
    ASSERT_EQ(world.informer.size(), world.api->Objects(Kind()).size());
    for (const object::DocumentPtr& object : world.informer.List()) {
      EXPECT_EQ(meta::Namespace(object->root()), "default");
      EXPECT_EQ(meta::Uid(object->root()), meta::Uid(world.follower.objects.at(meta::Key(object->root()))->root()));
      EXPECT_TRUE(world.informer.Get(meta::Key(object->root())));
    }
    EXPECT_TRUE(world.informer.List("other").empty());
    EXPECT_EQ(world.informer.List("default").size(), world.informer.size());
    if (HasFailure()) return;
  }
}

TEST(InformerTest, LateHandlersHearOfWhatIsThere) {
  World world(3);
  world.api->Put(Kind(), Map("a", "v"));
  world.informer.Start();
  ASSERT_TRUE(world.runtime->RunUntil([&] { return world.InStep(); }, std::chrono::seconds(10)));
  Follower late;
  world.informer.AddHandler([&](const Change& change) { late.Take(change); });
  EXPECT_TRUE(late.objects.contains("default/a"));
}

TEST(InformerTest, ComparesVersionsAsNumbers) {
  struct Case {
    std::string_view version, other;
    bool reached;
  };
  for (const Case& c : {Case{"10", "9", true}, Case{"9", "10", false}, Case{"10", "10", true}, Case{"", "1", false}, Case{"1", "", false},
                        Case{"x", "1", false}, Case{"18446744073709551616", "18446744073709551615", true}}) {
    EXPECT_EQ(ReachedVersion(c.version, c.other), c.reached) << c.version << " " << c.other;
  }
}

TEST(InformerFactoryTest, SharesInformers) {
  auto runtime = SimulatedRuntime::Make(1);
  InformerFactory factory(*runtime, Client(std::make_shared<FakeApi>(*runtime)));
  Informer& metadata = factory.ForMetadata(Kind());
  EXPECT_EQ(&factory.ForMetadata(Kind()), &metadata);
  Informer& whole = factory.For<ConfigMap>();
  EXPECT_NE(&whole, &metadata) << "metadata alone is not enough";
  EXPECT_EQ(&factory.For(Kind()), &whole);
  EXPECT_EQ(&factory.ForMetadata(Kind()), &whole);
}

}  // namespace
}  // namespace homeostat::sdk
