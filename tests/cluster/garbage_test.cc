// Owners and dependents through faults: objects of one kind that own each other at random, deleted in every way. What has
// a living owner must never go, what has none must go in the end, orphans stay, and who is deleted in the foreground goes
// after those who block it.
#include <algorithm>
#include <map>
#include <set>

#include "controllers/garbage_collector.h"
#include "homeostat/api/core/v1_builders.h"
#include "simulated_cluster.h"

namespace homeostat {
namespace {

using api::core::v1::ConfigMap;
using api::core::v1::ConfigMapBuilder;
using api::core::v1::Secret;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const std::string kNamespace = "default";

class Scenario {
 public:
  explicit Scenario(uint64_t seed) : cluster_(seed), observer_(*cluster_.runtime, *cluster_.admin) {
    for (sdk::Informer* informer : {&observer_.For<ConfigMap>(), &observer_.For<Secret>()}) {
      informer->AddHandler([this](const sdk::Change& change) {
        if (!change.current) Gone(change.previous->root());
      });
    }
    observer_.Start();
    Step(seconds(1));
  }

  std::vector<std::string> Run() {
    cluster_.faults = {.refuse = 60, .lose_answer = 60, .cut = 20, .repeat = 30, .stall = 5, .delay = milliseconds(900)};
    Start();
    for (int i = 0; i < 120 && broken_.empty(); ++i) {
      Act();
      Step(milliseconds(cluster_.Draw(3000)));
      if (cluster_.Draw(15) == 0) {
        Crash();
        Step(milliseconds(cluster_.Draw(10'000)));
        Start();
      }
    }
    if (broken_.empty()) Heal();
    return broken_;
  }

 private:
  // What is expected of an object, told by what was asked for.
  struct Model {
    const schema::Kind* kind;
    std::string name;
    std::map<std::string, bool> owners;   // uid, and whether it blocks
    bool deleted = false;                 // by people
    std::string policy;
  };

  void Start() {
    informers_ = std::make_unique<sdk::InformerFactory>(*cluster_.runtime, cluster_.Reader());
    controllers::GarbageCollectorOptions options;
    options.kinds = {&ConfigMap::SchemaKind(), &Secret::SchemaKind()};
    std::shared_ptr<FaultyTransport> transport;
    sdk::Client client = cluster_.Controller("generic-garbage-collector", &transport);
    transport->before = [this](const http::Request& request) { return Look(request); };
    transport->after = [this](const http::Request& request, int code) { Answered(request, code); };
    collector_ = std::make_unique<controllers::GarbageCollector>(*cluster_.runtime, client, *informers_, options);
    collector_->Start();
    informers_->Start();
  }
  void Crash() {
    collector_.reset();
    informers_.reset();
  }
  void Step(Duration time) { cluster_.runtime->RunFor(time); }

  // --- What the collector deletes must have no living owner.

  Task<void> Look(const http::Request& request) {
    living_owner_.clear();
    if (request.method != "DELETE") co_return;
    const schema::Kind& kind = request.path.find("/secrets/") != std::string::npos ? Secret::SchemaKind() : ConfigMap::SchemaKind();
    auto get = cluster_.admin->Get(kind, kNamespace, request.path.substr(request.path.rfind('/') + 1));
    Result<object::DocumentPtr> object = co_await get;
    if (!object) co_return;
    for (const object::Value& reference : (*object)->root().Path({"metadata", "ownerReferences"}).items()) {
      std::string uid(reference.Get("uid").AsString());
      auto model = models_.find(uid);
      bool alive = model != models_.end() && !gone_.contains(uid) && !model->second.deleted && Exists(uid);
      if (alive) living_owner_ = "the collector deleted " + request.path + " while its owner " + model->second.name + " lives";
    }
  }
  void Answered(const http::Request& request, int code) {
    if (request.method == "DELETE" && code < 300 && !living_owner_.empty()) Broke(living_owner_);
  }
  bool Exists(const std::string& uid) {
    const Model& model = models_[uid];
    sdk::Informer& informer = observer_.For(*model.kind);
    object::DocumentPtr object = informer.Get(kNamespace + "/" + model.name);
    return object && sdk::meta::Uid(object->root()) == uid && !sdk::meta::IsDeleting(object->root());
  }

  // --- What people do.

  void Act() {
    if (models_.size() < 6 || cluster_.Draw(3) != 0) return Make();
    auto victim = std::next(models_.begin(), static_cast<ptrdiff_t>(cluster_.Draw(models_.size())));
    if (victim->second.deleted || gone_.contains(victim->first)) return;
    static constexpr const char* kPolicies[] = {"Background", "Foreground", "Orphan"};
    sdk::DeleteOptions options;
    options.propagation_policy = kPolicies[cluster_.Draw(3)];
    options.precondition_uid = victim->first;
    // Not one that the collector is at already: what became of its dependents by then is not for this to decide.
    auto found = cluster_.Await(cluster_.admin->Get(*victim->second.kind, kNamespace, victim->second.name));
    if (!found || sdk::meta::IsDeleting((*found)->root())) return;
    options.precondition_resource_version = sdk::meta::ResourceVersion((*found)->root());
    auto deleted = cluster_.Await(cluster_.admin->Delete(*victim->second.kind, kNamespace, victim->second.name, options));
    if (!deleted) return;
    victim->second.deleted = true;
    victim->second.policy = options.propagation_policy;
  }
  void Make() {
    Model model{cluster_.Draw(2) == 0 ? &ConfigMap::SchemaKind() : &Secret::SchemaKind(), "o" + std::to_string(++made_), {}, false, {}};
    std::string references;
    for (auto& [uid, other] : models_) {
      // Owners that are there, or were lately: both happen.
      bool chosen = cluster_.Draw(models_.size() + 2) < 2 && model.owners.size() < 3 && (!gone_.contains(uid) || cluster_.Draw(10) == 0);
      if (!chosen) continue;
      bool blocks = cluster_.Draw(2) == 0;
      references += std::string(references.empty() ? "" : ",") + R"({"apiVersion":"v1","kind":")" + std::string(other.kind->gvk.kind) + R"(","name":")" +
                    other.name + R"(","uid":")" + uid + R"(","blockOwnerDeletion":)" + (blocks ? "true}" : "false}");
      model.owners[uid] = blocks;
      // An owner that is being orphaned right now may or may not still release it.
      if (other.deleted) doubtful_.insert(model.name);
    }
    std::string json = R"({"metadata":{"name":")" + model.name + R"(","ownerReferences":[)" + references + "]}}";
    std::string uid;
    if (model.kind == &ConfigMap::SchemaKind()) {
      auto created = cluster_.Create<ConfigMap>(kNamespace, json);
      if (created) uid = (*created)->metadata().uid();
    } else {
      auto created = cluster_.Create<Secret>(kNamespace, json);
      if (created) uid = (*created)->metadata().uid();
    }
    if (uid.empty()) return Broke("could not create " + model.name);
    models_.emplace(uid, std::move(model));
  }

  // --- What goes.

  void Gone(const object::Value& object) {
    std::string uid(sdk::meta::Uid(object));
    gone_.insert(uid);
    auto model = models_.find(uid);
    if (model == models_.end() || model->second.policy != "Foreground") return;
    for (const auto& [other, dependent] : models_) {
      auto owner = dependent.owners.find(uid);
      bool blocks = owner != dependent.owners.end() && owner->second && !doubtful_.contains(dependent.name);
      if (!blocks || !NamesOwner(other, uid)) continue;
      Broke(model->second.name + " was deleted in the foreground and went before " + dependent.name);
    }
  }
  // The object still is there and names the owner as one that waits for it.
  bool NamesOwner(const std::string& uid, const std::string& owner) {
    const Model& model = models_[uid];
    object::DocumentPtr object = observer_.For(*model.kind).Get(kNamespace + "/" + model.name);
    if (!object || sdk::meta::Uid(object->root()) != uid) return false;
    return std::ranges::any_of(object->root().Path({"metadata", "ownerReferences"}).items(), [&](const object::Value& reference) {
      return reference.Get("uid").AsString() == owner && reference.Get("blockOwnerDeletion").AsBool();
    });
  }
  void Broke(std::string what) { broken_.push_back(std::move(what)); }

  // --- The end.

  void Heal() {
    cluster_.faults = {.delay = milliseconds(5)};  // time must pass while controllers answer each other
    MonotonicTime end = cluster_.runtime->Now() + minutes(40);
    std::vector<std::string> open = Open();
    while (!open.empty() && cluster_.runtime->Now() < end) {
      Step(seconds(2));
      open = Open();
    }
    for (std::string& what : open) Broke("in the end: " + what);
  }
  std::vector<std::string> Open() {
    // Everyone's fate, owners first: they were made first.
    std::map<std::string, bool> lives;
    std::set<std::string> unsure;
    std::vector<std::string> open;
    std::vector<std::pair<std::string, const Model*>> order;
    for (const auto& [uid, model] : models_) order.emplace_back(uid, &model);
    std::ranges::sort(order, {}, [](const auto& entry) { return std::stoi(entry.second->name.substr(1)); });
    for (const auto& [uid, model] : order) {
      bool any_lives = false, any_collects = false, any_releases = false, owner_unsure = doubtful_.contains(model->name);
      for (const auto& [owner, blocks] : model->owners) {
        owner_unsure |= unsure.contains(owner);
        if (lives[owner]) any_lives = true;
        else if (models_[owner].deleted && models_[owner].policy == "Orphan") any_releases = true;
        else any_collects = true;
      }
      // Released by one and left by another: which came first decides.
      owner_unsure |= any_releases && any_collects && !any_lives;
      lives[uid] = !model->deleted && (model->owners.empty() || any_lives || !any_collects);
      if (owner_unsure && !model->deleted) unsure.insert(uid);
      bool there = Exists(uid), going = false;
      object::DocumentPtr object = observer_.For(*model->kind).Get(kNamespace + "/" + model->name);
      going = object && sdk::meta::IsDeleting(object->root());
      if (going) open.push_back(model->name + " does not go");
      if (!unsure.contains(uid) && there != lives[uid]) open.push_back(model->name + (there ? " is still there" : " is gone and should live"));
    }
    return open;
  }

  SimulatedCluster cluster_;
  sdk::InformerFactory observer_;
  std::unique_ptr<sdk::InformerFactory> informers_;
  std::unique_ptr<controllers::GarbageCollector> collector_;
  std::map<std::string, Model> models_;   // by uid
  std::set<std::string> gone_, doubtful_;
  std::string living_owner_;
  int made_ = 0;
  std::vector<std::string> broken_;
};

TEST(GarbageTest, CollectsWhatItMustAndNothingElse) {
  ForEachSeed(20, [](uint64_t seed) {
    Scenario scenario(seed);
    return scenario.Run();
  });
}

}  // namespace
}  // namespace homeostat
