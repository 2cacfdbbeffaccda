// ResourceQuota: what a namespace uses stays within its quotas; a write that needs more is charged to their status before it is stored.
//
// Writes of one namespace are decided on together while a charge to it is under way: all that fit are charged with one write, as many
// creations at once would otherwise meet in conflicts. A charge whose object is then not stored stays until the quota controller
// counts anew.
// Source of the rules and texts: apiserver's admission/plugin/resourcequota.
#include <algorithm>
#include <map>
#include <utility>

#include "admission/plugins.h"
#include "homeostat/api/core/v1.h"
#include "kinds/edit.h"
#include "quota/charge.h"

namespace homeostat::admission {
namespace {

namespace types = api::core::v1::types;
using kinds::Edit;
using object::Value;

constexpr int kRetries = 3;
constexpr Duration kPatience = std::chrono::seconds(10);

class ClusterAround : public quota::Surroundings {
 public:
  ClusterAround(Runtime& runtime, const kinds::ObjectReader& objects) : runtime_(runtime), objects_(objects) {}
  WallTime Now() const override { return runtime_.WallNow(); }
  object::DocumentPtr Get(std::string_view group, std::string_view plural, std::string_view ns, std::string_view name) const override {
    return objects_.Get(group, plural, ns, name);
  }
  std::vector<object::DocumentPtr> List(std::string_view group, std::string_view plural, std::string_view ns) const override {
    return objects_.List(group, plural, ns);
  }

 private:
  Runtime& runtime_;
  const kinds::ObjectReader& objects_;
};

object::DocumentPtr WithUsed(const quota::Balance& balance) {
  auto changed = std::make_shared<object::Document>();
  changed->arena().Keep(balance.document);
  changed->set_root(kinds::Edited(changed->arena(), types::kResourceQuota, balance.document->root(), [&](Edit& edit) {
    edit.In("status", [&](Edit& status) { status.Set("used", quota::ToValue(status.arena(), balance.used)); });
  }));
  return changed;
}

// A write that waits for its charge. Leaves the queue when its request is dropped.
struct Waiter {
  const quota::Evaluator& evaluator;
  quota::Attempt attempt;
  bool dry_run;
  Signal done;
  bool finished = false;
  std::string refusal;   // the object can't be named before it is the request's turn again
  Result<void> result;
  std::vector<Waiter*>* queue = nullptr;

  Waiter(Runtime& runtime, const quota::Evaluator& by, quota::Attempt what, bool dry)
      : evaluator(by), attempt(std::move(what)), dry_run(dry), done(runtime) {}
  ~Waiter() {
    if (queue != nullptr) std::ranges::replace(*queue, this, nullptr);
  }
  Waiter(const Waiter&) = delete;

  void Finish(Result<void> outcome) {
    finished = true;
    result = std::move(outcome);
    queue = nullptr;
    done.Notify();
  }
  void Refuse(std::string why) {
    refusal = std::move(why);
    Finish({});
  }
};

class ResourceQuota : public Plugin {
 public:
  explicit ResourceQuota(const PluginParts& parts)
      : runtime_(parts.runtime), objects_(parts.objects), around_(parts.runtime, parts.objects), update_(parts.update_quota_status), group_(parts.runtime) {}
  std::string_view name() const override { return "ResourceQuota"; }

  bool Handles(const Request& request) const override {
    return (request.creates() || request.updates()) && !request.ns.empty() && request.kind.namespaced;
  }

  Task<Result<void>> Validate(const Request& request) override {
    // Mostly there are none, and nothing more to do.
    if (objects_.List("", "resourcequotas", request.ns).empty()) co_return Done();
    auto evaluator = quota::MakeEvaluator(request.kind.gvk.group, request.kind.plural);
    quota::Attempt attempt{request.updates(), request.subresource, request.object, request.old_object};
    if (!evaluator || !evaluator->Handles(attempt)) co_return Done();
    Waiter waiter(runtime_, *evaluator, attempt, request.context.dry_run);
    Enqueue(std::string(request.ns), waiter);
    auto wait = waiter.done.WaitFor(kPatience);
    bool told = co_await std::move(wait);
    if (!told && !waiter.finished) co_return Fail(InternalError("resource quota evaluation timed out"));
    if (!waiter.refusal.empty()) co_return Fail(Forbid(request, waiter.refusal));
    co_return std::move(waiter.result);
  }

 private:
  struct Space {
    std::vector<Waiter*> queue;
    bool busy = false;
  };

  void Enqueue(std::string ns, Waiter& waiter) {
    Space& space = spaces_[ns];
    space.queue.push_back(&waiter);
    waiter.queue = &space.queue;
    if (!std::exchange(space.busy, true)) group_.Spawn(Work(std::move(ns)));
  }

  // Owned by the plugin: a charge that is on its way is not broken off with the request that began it.
  Task<void> Work(std::string ns) {
    Space& space = spaces_[ns];
    while (!space.queue.empty()) {
      std::vector<Waiter*> batch = std::exchange(space.queue, {});
      for (Waiter* waiter : batch) if (waiter != nullptr) waiter->queue = &batch;
      auto charge = ChargeAll(ns, batch);
      co_await std::move(charge);
    }
    spaces_.erase(ns);
  }

  std::vector<quota::Balance> Balances(const std::string& ns) const {
    std::vector<quota::Balance> balances;
    for (object::DocumentPtr& document : objects_.List("", "resourcequotas", ns)) balances.push_back(quota::ReadBalance(std::move(document)));
    return balances;
  }

  Task<void> ChargeAll(std::string ns, std::vector<Waiter*>& batch) {
    std::vector<std::string> again;  // quotas that others changed meanwhile; empty: all are looked at
    for (int attempt = 0;; ++attempt) {
      std::vector<quota::Balance> balances = Balances(ns);
      // Those written before have these writes charged already.
      std::erase_if(balances, [&](const quota::Balance& balance) { return !again.empty() && std::ranges::find(again, balance.name) == again.end(); });
      Decide(balances, batch);
      again.clear();
      Status last = InternalError("no quota");
      for (const quota::Balance& balance : balances) {
        if (!balance.changed) continue;
        auto update = update_(WithUsed(balance));
        Result<void> updated = co_await std::move(update);
        if (updated) continue;
        again.push_back(balance.name);
        last = updated.error();
      }
      if (again.empty() || attempt == kRetries) {
        for (Waiter*& waiter : batch) {
          if (waiter != nullptr) std::exchange(waiter, nullptr)->Finish(again.empty() ? Result<void>() : Fail(last));
        }
        co_return;
      }
    }
  }

  // Tells those that are refused, or need no charge; the others stay in the batch.
  void Decide(std::vector<quota::Balance>& balances, std::vector<Waiter*>& batch) const {
    for (Waiter*& waiter : batch) {
      if (waiter == nullptr) continue;
      std::vector<quota::Balance> before = balances;
      auto fits = quota::Charge(balances, waiter->evaluator, waiter->attempt, around_);
      bool changed = false;
      for (size_t i = 0; i < balances.size(); ++i) changed = changed || !quota::IsEqual(before[i].used, balances[i].used);
      if (!fits) {
        std::exchange(waiter, nullptr)->Refuse(std::move(fits).error());
      } else if (waiter->dry_run || !changed) {
        if (waiter->dry_run) balances = std::move(before);
        std::exchange(waiter, nullptr)->Finish({});
      }
    }
  }

  Runtime& runtime_;
  const kinds::ObjectReader& objects_;
  ClusterAround around_;
  std::function<Task<Result<void>>(object::DocumentPtr)> update_;
  std::map<std::string, Space> spaces_;  // those with writes under way
  TaskGroup group_;
};

}  // namespace

std::unique_ptr<Plugin> MakeResourceQuota(const PluginParts& parts) { return std::make_unique<ResourceQuota>(parts); }

}  // namespace homeostat::admission
