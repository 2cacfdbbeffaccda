#include "store/internal/log_engine.h"

#include <coroutine>
#include <deque>

#include "store/internal/reader.h"
#include "store/internal/sequencer.h"

namespace homeostat::store::internal {
namespace {

// Bounds of one group: what fits well into one write of the log.
constexpr size_t kGroupWrites = 1024;
constexpr size_t kGroupBytes = 4 << 20;
// Revisions that one step of compaction looks at; commits wait for a step at most.
constexpr uint64_t kCompactionStep = 512;
// How long the note of what was acknowledged may be behind on the disk itself (never behind a kill -9).
constexpr Duration kSettleDelay = std::chrono::seconds(1);
// A store rests when fewer revisions than this have come in such a time: what a cluster writes that has nothing to do.
constexpr Duration kRestDelay = std::chrono::seconds(10);
constexpr uint64_t kRestingRevisions = 100;

// A write on its way, shared with the task that waits for it; that may go first.
struct Pending {
  Write write;
  std::optional<Result<CommitOutcome>> outcome;
  std::coroutine_handle<> waiting;
};
using PendingPtr = std::shared_ptr<Pending>;

// All that outlives a call: what runs off the loop holds it.
struct State : std::enable_shared_from_this<State> {
  State(Runtime& the_runtime, std::unique_ptr<LogStore> the_log)
      : runtime(the_runtime), log(std::move(the_log)), changed(the_runtime) {}

  void Enqueue(PendingPtr pending) {
    queue.push_back(std::move(pending));
    Wake();
  }

  // Starts what is due in a later turn, so that all writes of this turn share a group.
  void Wake() {
    if (busy || waking) return;
    waking = true;
    runtime.Post([weak = weak_from_this()] {
      auto state = weak.lock();
      if (!state) return;
      state->waking = false;
      state->StartNext();
    });
  }

  bool CompactionDue() const { return compaction_target > compacted && !closed; }

  void StartNext() {
    if (busy) return;
    if (CompactionDue() && (queue.empty() || !compacted_last)) {
      compacted_last = true;
      StartCompactionStep();
    } else if (!queue.empty()) {
      compacted_last = false;
      StartGroup();
    } else {
      changed.Notify();  // idle
    }
  }

  // After one is done. A log that does not block would take the next within this call, ahead of this one's answers.
  void GoOn() {
    if (log->blocking()) {
      StartNext();
    } else {
      Wake();
    }
  }

  // Runs the first off the loop if the log blocks, then the second on it.
  void Run(Callback work, Callback done) {
    busy = true;
    if (log->blocking()) {
      runtime.RunBlocking(std::move(work), std::move(done));
    } else {
      work();
      done();
    }
  }

  struct Group {
    std::vector<PendingPtr> members;
    std::vector<Write> writes;
    OrderedGroup ordered;
  };

  void StartGroup() {
    auto group = std::make_shared<Group>();
    size_t bytes = 0;
    while (!queue.empty() && group->members.size() < kGroupWrites && bytes < kGroupBytes) {
      PendingPtr pending = std::move(queue.front());
      queue.pop_front();
      bytes += pending->write.key.size() + (pending->write.value ? pending->write.value->size() : 0);
      group->writes.push_back(std::move(pending->write));
      group->members.push_back(std::move(pending));
    }
    auto self = shared_from_this();
    Run(
        [self, group, from = published] {
          auto view = self->log->Newest();
          group->ordered = OrderGroup(*view, from, group->writes, self->log->keeps_records());
          if (!group->ordered.batch.records.empty()) self->log->Apply(group->ordered.batch);
        },
        [self, group] { self->Publish(*group); });
  }

  void Publish(Group& group) {
    busy = false;
    published = group.ordered.revision;
    if (!group.ordered.events.empty()) {
      if (observer) observer(group.ordered.events);
      SettleLater();
      RestLater();
    }
    GoOn();  // before the answers: the disk works while they are written
    for (size_t i = 0; i < group.members.size(); ++i) {
      Pending& pending = *group.members[i];
      pending.outcome.emplace(std::move(group.ordered.outcomes[i]));
      if (auto waiting = std::exchange(pending.waiting, {})) waiting.resume();
    }
  }

  void StartCompactionStep() {
    const uint64_t upto = std::min(compaction_target, compacted + kCompactionStep);
    auto failure = std::make_shared<Result<void>>();
    auto self = shared_from_this();
    Run(
        [self, failure, from = compacted, upto] {
          auto view = self->log->Newest();
          auto batch = PlanCompaction(*view, from, upto);
          if (batch) {
            self->log->Apply(*batch);
          } else {
            *failure = Fail(batch.error());
          }
        },
        [self, failure, upto] {
          self->busy = false;
          if (*failure) {
            self->compacted = upto;
          } else {
            self->compaction_failure = failure->error();
            self->compaction_target = self->compacted;
          }
          self->changed.Notify();
          self->GoOn();
        });
  }

  void SettleLater() {
    if (!log->blocking() || settle_timer) return;
    settle_timer = runtime.After(kSettleDelay, [weak = weak_from_this()] {
      auto state = weak.lock();
      if (!state) return;
      state->settle_timer.reset();
      if (state->closed) return;
      state->runtime.RunBlocking([state] { state->log->Settle(); }, [] {});
    });
  }

  // Waits as long as much is written.
  void RestLater() {
    if (!log->blocking() || rest_timer) return;
    rest_timer = runtime.After(kRestDelay, [weak = weak_from_this(), before = published] {
      auto state = weak.lock();
      if (!state) return;
      state->rest_timer.reset();
      if (state->closed) return;
      if (state->published - before >= kRestingRevisions) return state->RestLater();
      state->runtime.RunBlocking([state] { state->log->Rest(); }, [] {});
    });
  }

  Runtime& runtime;
  std::unique_ptr<LogStore> log;
  std::function<void(const std::vector<Event>&)> observer;
  std::deque<PendingPtr> queue;
  bool busy = false, waking = false, closed = false, compacted_last = false;
  uint64_t published = kFirstRevision;
  uint64_t compacted = kFirstRevision;
  uint64_t compaction_target = 0;
  std::optional<Status> compaction_failure;
  std::optional<TimerId> settle_timer, rest_timer;
  Signal changed;  // a compaction step is done, or the engine is idle
};
using StatePtr = std::shared_ptr<State>;

class CommitAwaiter {
 public:
  CommitAwaiter(StatePtr state, Write write) : state_(std::move(state)), pending_(std::make_shared<Pending>()) {
    pending_->write = std::move(write);
  }
  CommitAwaiter(const CommitAwaiter&) = delete;
  ~CommitAwaiter() { pending_->waiting = {}; }
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    pending_->waiting = handle;
    state_->Enqueue(pending_);
  }
  Result<CommitOutcome> await_resume() { return std::move(*pending_->outcome); }

 private:
  StatePtr state_;
  PendingPtr pending_;
};

// Reads through a view, off the loop if the log blocks.
template <class T>
Task<Result<T>> Read(StatePtr state, std::move_only_function<Result<T>(LogView&)> read) {
  if (state->closed) co_return Fail(SystemError("the store is closed"));
  if (!state->log->blocking()) {
    auto view = state->log->View();
    co_return read(*view);
  }
  std::move_only_function<Result<T>()> work = [state, read = std::move(read)]() mutable {
    auto view = state->log->View();
    return read(*view);
  };
  auto running = RunOffLoop<Result<T>>(state->runtime, std::move(work));
  co_return co_await running;
}

class LogEngine : public Engine {
 public:
  LogEngine(Runtime& runtime, std::unique_ptr<LogStore> log)
      : state_(std::make_shared<State>(runtime, std::move(log))) {}
  ~LogEngine() override {
    state_->closed = true;
    state_->observer = nullptr;
    CancelTimers(*state_);
  }

  Task<Result<void>> Open() override {
    auto state = state_;
    std::move_only_function<Result<LogPosition>()> work = [state, store_id = state->runtime.Random()] {
      return state->log->Open(store_id);
    };
    auto opening = RunOffLoop<Result<LogPosition>>(state->runtime, std::move(work));
    CO_TRY_ASSIGN(LogPosition position, co_await opening);
    state->published = position.revision;
    state->compacted = position.compacted_revision;
    co_return Result<void>();
  }

  Task<void> Close() override {
    auto state = state_;
    if (std::exchange(state->closed, true)) co_return;
    while (state->busy || !state->queue.empty()) {
      auto idle = state->changed.Wait();
      co_await idle;
    }
    CancelTimers(*state);
    std::move_only_function<bool()> work = [state] {
      state->log->Close();
      return true;
    };
    auto closing = RunOffLoop<bool>(state->runtime, std::move(work));
    co_await closing;
  }

  Task<Result<CommitOutcome>> Commit(Write write) override {
    auto state = state_;
    if (state->closed) co_return Fail(SystemError("the store is closed"));
    if (write.info.time == WallTime{}) write.info.time = state->runtime.WallNow();
    CommitAwaiter commit(state, std::move(write));
    co_return co_await commit;
  }

  Task<Result<RangeResult>> Range(std::string start, std::string end, uint64_t revision, size_t limit) override {
    auto state = state_;
    if (revision > state->published) co_return Fail(FutureRevisionError(revision, state->published));
    if (revision == 0) revision = state->published;
    auto reading =
        Read<RangeResult>(state, [start = std::move(start), end = std::move(end), revision, limit](LogView& view) {
          return ReadRange(view, start, end, revision, limit);
        });
    co_return co_await reading;
  }

  Task<Result<std::vector<Event>>> History(std::string key) override {
    auto state = state_;
    auto reading = Read<std::vector<Event>>(state, [key = std::move(key), published = state->published](LogView& view) {
      return ReadHistory(view, key, published);
    });
    co_return co_await reading;
  }

  Task<Result<std::vector<Event>>> EventsSince(std::string prefix, uint64_t revision) override {
    auto state = state_;
    if (revision > state->published) co_return Fail(FutureRevisionError(revision, state->published));
    auto reading =
        Read<std::vector<Event>>(state, [prefix = std::move(prefix), revision, published = state->published](
                                            LogView& view) { return ReadEvents(view, prefix, revision, published); });
    co_return co_await reading;
  }

  Task<Result<void>> Compact(uint64_t revision) override {
    auto state = state_;
    if (state->closed) co_return Fail(SystemError("the store is closed"));
    if (revision > state->published) co_return Fail(FutureRevisionError(revision, state->published));
    if (revision <= state->compacted) co_return Result<void>();
    state->compaction_failure.reset();
    state->compaction_target = std::max(state->compaction_target, revision);
    state->Wake();
    while (state->compacted < revision) {
      auto step = state->changed.Wait();
      co_await step;
      if (state->compaction_failure) co_return Fail(*state->compaction_failure);
      if (state->closed) co_return Fail(SystemError("the store was closed during the compaction"));
    }
    co_return Result<void>();
  }

  uint64_t revision() const override { return state_->published; }
  uint64_t compacted_revision() const override { return state_->compacted; }
  void SetObserver(std::function<void(const std::vector<Event>&)> observer) override {
    state_->observer = std::move(observer);
  }

 private:
  static void CancelTimers(State& state) {
    for (std::optional<TimerId>* timer : {&state.settle_timer, &state.rest_timer}) {
      if (auto set = std::exchange(*timer, std::nullopt)) state.runtime.CancelTimer(*set);
    }
  }

  StatePtr state_;
};

}  // namespace

std::unique_ptr<Engine> MakeLogEngine(Runtime& runtime, std::unique_ptr<LogStore> log) {
  return std::make_unique<LogEngine>(runtime, std::move(log));
}

}  // namespace homeostat::store::internal

namespace homeostat::store {

Status FutureRevisionError(uint64_t wanted, uint64_t current) {
  StatusDetails details;
  details.causes.push_back({"ResourceVersionTooLarge", "Too large resource version", ""});
  details.retry_after_seconds = 1;
  return TimeoutError("Too large resource version: " + std::to_string(wanted) + ", current: " + std::to_string(current),
                      1)
      .WithDetails(std::move(details));
}

}  // namespace homeostat::store
