// LeadWhileElected, declared in controller.h.
#include <optional>
#include <utility>

#include "homeostat/api/coordination/v1_builders.h"
#include "homeostat/base/log.h"
#include "homeostat/object/time.h"
#include "homeostat/sdk/controller.h"
#include "sdk/internal/lease_lock.h"

namespace homeostat::sdk {

using api::coordination::v1::Lease;
using api::coordination::v1::LeaseBuilder;

namespace {

LeaseRecord RecordOf(const Lease& lease) {
  auto spec = lease.spec();
  return {std::string(spec.holder_identity()), spec.lease_duration_seconds(), std::string(spec.acquire_time()),
          std::string(spec.renew_time()), spec.lease_transitions()};
}

Object<Lease> WithRecord(const LeaderElectionOptions& options, const Object<Lease>& current, const LeaseRecord& record) {
  LeaseBuilder lease;
  if (current) lease = LeaseBuilder(schema::Subtree(current.document()));
  lease.mutable_metadata().set_namespace(options.ns).set_name(options.name);
  auto spec = lease.mutable_spec();
  spec.set_holder_identity(record.holder).set_lease_duration_seconds(record.duration_seconds);
  spec.set_acquire_time(record.acquire_time).set_renew_time(record.renew_time).set_lease_transitions(record.transitions);
  return Object<Lease>(lease.Freeze());
}

class Elector {
 public:
  Elector(Runtime& runtime, Client client, LeaderElectionOptions options)
      : runtime_(runtime), client_(std::move(client)), options_(std::move(options)), lock_(options_.identity, options_.lease_duration) {}

  // One try to get or keep the Lease: whether we hold it now.
  Task<Result<bool>> Try();
  Task<Result<void>> Lead(const std::function<Task<void>()>& lead);
  Task<void> WaitToLead();

 private:
  std::string Timestamp() { return object::FormatMicroTime(object::Timestamp::FromClock(runtime_.WallNow())); }
  // As client-go spreads the tries of those that wait.
  Duration Jittered() {
    return options_.retry_period + options_.retry_period * static_cast<int64_t>(runtime_.Random() % 120) / 100;
  }
  Task<Result<void>> KeepRenewing();
  Task<void> GiveBack();

  Runtime& runtime_;
  Client client_;
  LeaderElectionOptions options_;
  LeaseLock lock_;
  MonotonicTime renewed_;   // when the try began that last succeeded
};

Task<Result<bool>> Elector::Try() {
  MonotonicTime begun = runtime_.Now();
  auto get = client_.Get<Lease>(options_.ns, options_.name);
  Result<Object<Lease>> got = co_await get;
  if (!got && !got.error().IsNotFound()) co_return Fail(got.error());
  Object<Lease> current = got ? *got : Object<Lease>();
  std::optional<LeaseRecord> record;
  if (current) record = RecordOf(*current);
  // Seen now: an answer that was long under way must not make the Lease look old.
  LeaseLock::Decision decision = lock_.Decide(record, runtime_.Now(), Timestamp());
  if (decision.action == LeaseLock::Action::kWait) co_return false;
  Object<Lease> next = WithRecord(options_, current, decision.next);
  auto write = decision.action == LeaseLock::Action::kCreate ? client_.Create<Lease>(options_.ns, next) : client_.Update<Lease>(next);
  CO_TRY(co_await write);
  renewed_ = begun;
  co_return true;
}

Task<void> Elector::WaitToLead() {
  while (true) {
    auto attempt = Try();
    Result<bool> held = co_await attempt;
    if (held && *held) co_return;
    if (!held) client_.options().log.V(2).Info("Could not get the lease", {{"lease", options_.name}, {"err", held.error()}});
    auto pause = Sleep(runtime_, Jittered());
    co_await pause;
  }
}

// Completes once the lease could not be renewed in time, or is another's.
Task<Result<void>> Elector::KeepRenewing() {
  Status last = TimeoutError("the lease was not renewed");
  while (true) {
    auto pause = Sleep(runtime_, options_.retry_period);
    co_await pause;
    Duration left = renewed_ + options_.renew_deadline - runtime_.Now();
    if (left <= Duration(0)) co_return Fail(last);
    auto attempt = Try();
    auto limited = Within(runtime_, left, std::move(attempt));
    std::optional<Result<bool>> held = co_await limited;
    if (held && *held && !**held) co_return Fail(SystemError("the lease is held by " + lock_.holder()));
    if (held && !*held) last = held->error();
  }
}

Task<void> Elector::GiveBack() {
  auto get = client_.Get<Lease>(options_.ns, options_.name);
  Result<Object<Lease>> current = co_await get;
  if (!current || (*current)->spec().holder_identity() != options_.identity) co_return;
  Object<Lease> next = WithRecord(options_, *current, lock_.GivenBack(RecordOf(**current), Timestamp()));
  auto update = client_.Update<Lease>(next);
  Result<Object<Lease>> updated = co_await update;
  if (!updated) client_.options().log.V(2).Info("Could not give the lease back", {{"lease", options_.name}, {"err", updated.error()}});
}

// What the two tasks of a leader share: whichever ends first ends the other.
struct Race {
  explicit Race(Runtime& runtime) : ended(runtime) {}
  Signal ended;
  bool work_done = false;
  std::optional<Status> lost;
};

Task<void> RunWork(Race& race, Task<void> work) {
  co_await work;
  race.work_done = true;
  race.ended.Notify();
}

Task<void> RunRenewal(Race& race, Task<Result<void>> renewal) {
  Result<void> outcome = co_await renewal;
  race.lost = outcome ? SystemError("the lease was lost") : outcome.error();
  race.ended.Notify();
}

Task<Result<void>> Elector::Lead(const std::function<Task<void>()>& lead) {
  Race race(runtime_);
  {
    TaskGroup group(runtime_);
    group.Spawn(RunRenewal(race, KeepRenewing()));
    group.Spawn(RunWork(race, lead()));
    while (!race.work_done && !race.lost) {
      auto wait = race.ended.Wait();
      co_await wait;
    }
  }
  if (race.lost) co_return Fail(*race.lost);
  auto release = GiveBack();
  co_await release;
  co_return Done();
}

}  // namespace

Task<Result<void>> LeadWhileElected(Runtime& runtime, Client client, LeaderElectionOptions options, std::function<Task<void>()> lead) {
  Elector elector(runtime, std::move(client), std::move(options));
  auto wait = elector.WaitToLead();
  co_await wait;
  auto leading = elector.Lead(lead);
  Result<void> outcome = co_await leading;
  co_return outcome;
}

}  // namespace homeostat::sdk
