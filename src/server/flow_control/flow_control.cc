#include "server/flow_control/flow_control.h"

#include <algorithm>
#include <cmath>

#include "homeostat/api/flowcontrol/v1_builders.h"
#include "homeostat/object/json.h"
#include "homeostat/object/time.h"
#include "sdk/apply.h"

namespace homeostat::server {
namespace {

using object::Value;

constexpr std::string_view kGroup = "flowcontrol.apiserver.k8s.io";
constexpr std::string_view kFieldManager = "api-priority-and-fairness-config-consumer-v1";
constexpr std::string_view kExempt = "exempt", kCatchAll = "catch-all";
constexpr int kMostRetryAfter = 32;
constexpr int64_t kCatchAllShares = 5;

// What a server without any configuration has.
constexpr std::string_view kMandatoryRules = R"([
{"metadata":{"name":"exempt"},"spec":{"matchingPrecedence":1,"priorityLevelConfiguration":{"name":"exempt"},
 "rules":[{"subjects":[{"kind":"Group","group":{"name":"system:masters"}}],
  "resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"clusterScope":true,"namespaces":["*"]}],
  "nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]}]}},
{"metadata":{"name":"catch-all"},"spec":{"matchingPrecedence":10000,"priorityLevelConfiguration":{"name":"catch-all"},
 "distinguisherMethod":{"type":"ByUser"},
 "rules":[{"subjects":[{"kind":"Group","group":{"name":"*"}}],
  "resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"clusterScope":true,"namespaces":["*"]}],
  "nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]}]}}])";

bool ComesBefore(const std::shared_ptr<const FlowRules>& a, const std::shared_ptr<const FlowRules>& b) {
  return std::pair(a->precedence(), std::string_view(a->name())) < std::pair(b->precedence(), std::string_view(b->name()));
}

uint64_t HashOf(std::string_view schema, std::string_view flow) {
  uint64_t hash = 0xcbf29ce484222325;
  auto add = [&hash](std::string_view text) {
    for (unsigned char c : text) hash = (hash ^ c) * 0x100000001b3;
  };
  add(schema);
  hash *= 0x100000001b3;
  add(flow);
  // The low bits decide most: stir the high ones in.
  hash ^= hash >> 32;
  return hash * 0x9e3779b97f4a7c15;
}

struct LevelSpec {
  bool exempt = false;
  int64_t shares = 0, lendable = 0;
  std::optional<int64_t> borrowing;
  int queues = 0, hand_size = 1, queue_length = 0;
};

LevelSpec SpecOf(const Value& level) {
  LevelSpec spec;
  spec.exempt = level.Path({"spec", "type"}).AsString() == "Exempt";
  Value part = level.Get("spec").Get(spec.exempt ? "exempt" : "limited");
  spec.shares = part.Get("nominalConcurrencyShares").AsInt();
  spec.lendable = part.Get("lendablePercent").AsInt();
  if (Value percent = part.Get("borrowingLimitPercent")) spec.borrowing = percent.AsInt();
  Value queuing = part.Path({"limitResponse", "queuing"});
  if (part.Path({"limitResponse", "type"}).AsString() != "Queue" || !queuing) return spec;
  spec.queues = static_cast<int>(queuing.Get("queues").AsInt());
  spec.hand_size = static_cast<int>(queuing.Get("handSize").AsInt());
  spec.queue_length = static_cast<int>(queuing.Get("queueLengthLimit").AsInt());
  return spec;
}

FlowLimits LimitsOf(const LevelSpec& spec, int server_seats, int64_t all_shares) {
  FlowLimits limits;
  limits.exempt = spec.exempt;
  limits.nominal_seats = NominalSeats(server_seats, spec.shares, all_shares);
  limits.kept_seats = limits.nominal_seats - static_cast<int>(std::lround(static_cast<double>(limits.nominal_seats * spec.lendable) / 100));
  limits.most_seats = server_seats;
  if (spec.borrowing) {
    int borrowed = static_cast<int>(std::lround(static_cast<double>(limits.nominal_seats) * static_cast<double>(*spec.borrowing) / 100));
    limits.most_seats = std::min(server_seats, limits.nominal_seats + borrowed);
  }
  limits.queues = spec.queues;
  limits.hand_size = spec.hand_size;
  limits.queue_length = spec.queue_length;
  return limits;
}

// Rows of cells as Go's tabwriter sets them: each but the last padded to its column.
class Table {
 public:
  explicit Table(std::vector<std::string> heads) { rows_.push_back(std::move(heads)); }
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string Text() const {
    constexpr size_t kNarrowest = 8;
    std::vector<size_t> widths(rows_[0].size());
    for (const auto& row : rows_) {
      for (size_t i = 0; i + 1 < row.size(); ++i) widths[i] = std::max({widths[i], row[i].size() + 2, kNarrowest});
    }
    std::string out;
    for (const auto& row : rows_) {
      for (size_t i = 0; i + 1 < row.size(); ++i) {
        out += row[i] + ",";
        out.append(widths[i] - row[i].size() - 1, ' ');
      }
      out += row.back() + "\n";
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string Number(auto number) { return std::to_string(number); }

std::string SeatSeconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.8fss", seconds);
  return text;
}

std::string NanoTime(WallTime time) { return object::FormatTime(object::Timestamp::FromClock(time)); }

}  // namespace

FlowControl::FlowControl(Runtime& runtime, const kinds::ObjectReader& objects, FlowControlOptions options)
    : runtime_(runtime), objects_(objects), options_(std::move(options)), seats_{options_.seats, 0}, group_(runtime) {
  Digest();
}

FlowControl::~FlowControl() = default;

void FlowControl::Refresh() {
  if (std::exchange(refreshing_, true)) return;
  group_.Spawn(DigestLater());
}

Task<void> FlowControl::DigestLater() {
  auto turn = Yield(runtime_);
  co_await std::move(turn);
  refreshing_ = false;
  Digest();
  Dispatch();
  if (!client_) co_return;
  if (writing_) {
    write_again_ = true;
    co_return;
  }
  writing_ = true;
  do {
    write_again_ = false;
    auto write = WriteStatus();
    co_await std::move(write);
  } while (write_again_);
  writing_ = false;
}

void FlowControl::WriteStatusWith(sdk::Client client) {
  client_ = std::move(client);
  Refresh();
}

void FlowControl::Digest() {
  DigestLevels();
  DigestRules();
  // Once a rule leads to a level, it stays there; what no rule leads to goes when it is idle.
  std::erase_if(levels_, [](const auto& entry) { return entry.second->quiescing && entry.second->idle(); });
}

void FlowControl::DigestLevels() {
  std::map<std::string, LevelSpec, std::less<>> specs;
  std::map<std::string, std::string, std::less<>> uids;
  specs[std::string(kExempt)] = LevelSpec{.exempt = true};
  specs[std::string(kCatchAll)] = LevelSpec{.shares = kCatchAllShares};
  for (const object::DocumentPtr& document : objects_.List(kGroup, "prioritylevelconfigurations", "")) {
    std::string name(document->root().Path({"metadata", "name"}).AsString());
    specs[name] = SpecOf(document->root());
    uids[name] = document->root().Path({"metadata", "uid"}).AsString();
  }
  int64_t shares = 0;
  for (const auto& [name, spec] : specs) shares += spec.shares;
  for (const auto& [name, spec] : specs) {
    FlowLimits limits = LimitsOf(spec, options_.seats, shares);
    std::shared_ptr<FlowLevel>& level = levels_[name];
    if (level == nullptr) level = std::make_shared<FlowLevel>(name, seats_, limits);
    else if (level->limits() != limits) level->SetLimits(limits);
    level->quiescing = false;
    level->uid = uids[name];
  }
  for (auto& [name, level] : levels_) level->quiescing = !specs.contains(name);
}

void FlowControl::DigestRules() {
  rules_.clear();
  level_of_.clear();
  for (const object::DocumentPtr& document : objects_.List(kGroup, "flowschemas", "")) {
    auto rules = std::make_shared<const FlowRules>(document->root());
    auto level = levels_.find(rules->level());
    if (level != levels_.end() && !level->second->quiescing) rules_.push_back(std::move(rules));
  }
  object::Arena arena;
  auto mandatory = object::ParseJson(arena, kMandatoryRules);
  for (const Value& one : mandatory->items()) {
    auto rules = std::make_shared<const FlowRules>(one);
    auto has = [&rules](const std::shared_ptr<const FlowRules>& other) { return other->name() == rules->name(); };
    if (std::ranges::none_of(rules_, has)) rules_.push_back(std::move(rules));
  }
  std::ranges::sort(rules_, ComesBefore);
  for (const auto& rules : rules_) level_of_.push_back(levels_.find(rules->level())->second);
}

void FlowControl::Dispatch() {
  if (waiting_ == 0) return;
  for (auto& [name, level] : levels_) {
    while (FlowTicket* ticket = level->Dispatch(runtime_.Now())) {
      const Pass& pass = PassOf(*ticket);
      --waiting_;
      if (pass.turn_ != nullptr) pass.turn_->Notify();
    }
  }
}

bool FlowControl::Pass::Enter(const User& user, const RequestInfo& info) {
  if (flow_control_ == nullptr) return true;
  FlowControl& control = *flow_control_;
  user_ = &user;
  info_ = &info;
  for (size_t i = 0; i < control.rules_.size(); ++i) {
    if (i + 1 < control.rules_.size() && !control.rules_[i]->Matches(user, info)) continue;
    rules_ = control.rules_[i];
    level_ = control.level_of_[i];
    break;
  }
  arrived_ = control.runtime_.WallNow();
  refused_ = !level_->Arrive(*this, HashOf(rules_->name(), rules_->FlowOf(user, info)), control.runtime_.Now());
  if (refused_) control.NoteRefusal(level_->name());
  if (state() == FlowTicket::State::kWaiting) ++control.waiting_;
  return state() == FlowTicket::State::kRunning;
}

Task<bool> FlowControl::Pass::Wait() {
  if (refused_) co_return false;
  FlowControl& control = *flow_control_;
  Signal turn(control.runtime_);
  turn_ = &turn;
  auto wait = turn.WaitFor(control.options_.longest_wait);
  co_await std::move(wait);
  turn_ = nullptr;
  if (state() == FlowTicket::State::kRunning) co_return true;
  level_->Leave(*this, control.runtime_.Now(), true);
  --control.waiting_;
  control.NoteRefusal(level_->name());
  co_return false;
}

FlowControl::Pass::~Pass() {
  if (level_ == nullptr || state() == FlowTicket::State::kNone || alive_.expired()) return;
  if (state() == FlowTicket::State::kWaiting) --flow_control_->waiting_;
  level_->Leave(*this, flow_control_->runtime_.Now());
  flow_control_->Dispatch();
}

int FlowControl::Pass::retry_after() const {
  auto found = flow_control_->refusals_.find(level_->name());
  return found == flow_control_->refusals_.end() ? 1 : found->second.retry_after;
}

void FlowControl::Pass::Describe(http::Headers& headers) const {
  if (level_ == nullptr) return;
  headers.Set("X-Kubernetes-Pf-Flowschema-Uid", rules_->uid());
  headers.Set("X-Kubernetes-Pf-Prioritylevel-Uid", level_->uid);
}

void FlowControl::NoteRefusal(const std::string& level) {
  Refusals& refusals = refusals_[level];
  int64_t second = std::chrono::duration_cast<std::chrono::seconds>(runtime_.WallNow().time_since_epoch()).count();
  if (refusals.second == second) {
    ++refusals.count;
    return;
  }
  refusals.history.emplace_back(refusals.second, refusals.count);
  std::erase_if(refusals.history, [&](const auto& entry) { return second - entry.first > kMostRetryAfter; });
  refusals.second = second;
  refusals.count = 1;
  int64_t lately = 0;
  for (const auto& [when, count] : refusals.history) {
    if (second - when <= refusals.retry_after) lately += count;
  }
  // Doubles while many are refused, and goes down by one while few are.
  if (second - refusals.changed >= refusals.retry_after && lately >= 3 * refusals.retry_after) {
    refusals.retry_after = std::min(refusals.retry_after * 2, kMostRetryAfter);
    refusals.changed = second;
  } else if (lately < refusals.retry_after && refusals.retry_after > 1) {
    --refusals.retry_after;
  }
}

Task<void> FlowControl::WriteStatus() {
  for (const object::DocumentPtr& document : objects_.List(kGroup, "flowschemas", "")) {
    Value schema = document->root();
    std::string name(schema.Path({"metadata", "name"}).AsString());
    std::string level(schema.Path({"spec", "priorityLevelConfiguration", "name"}).AsString());
    bool dangling = objects_.Get(kGroup, "prioritylevelconfigurations", "", level) == nullptr;
    auto right = [&](const Value& condition) {
      return condition.Get("type").AsString() == "Dangling" && condition.Get("status").AsString() == (dangling ? "True" : "False") &&
             condition.Get("reason").AsString() == (dangling ? "NotFound" : "Found") &&
             condition.Get("message").AsString().find("\"" + level + "\"") != std::string_view::npos;
    };
    Value conditions = schema.Path({"status", "conditions"});
    if (std::ranges::any_of(conditions.items(), right)) continue;
    auto apply = ApplyStatus(name, level, dangling);
    auto applied = co_await std::move(apply);
    if (!applied) options_.log.Warning("status of a flow schema", {{"name", name}, {"error", applied.error()}});
  }
}

Task<Result<void>> FlowControl::ApplyStatus(std::string name, std::string level, bool dangling) {
  api::flowcontrol::v1::FlowSchemaBuilder wanted;
  wanted.mutable_metadata().set_name(name);
  auto condition = wanted.mutable_status().add_conditions();
  condition.set_type("Dangling").set_status(dangling ? "True" : "False").set_reason(dangling ? "NotFound" : "Found");
  condition.set_last_transition_time(object::FormatTime(object::Timestamp::FromClock(runtime_.WallNow())));
  condition.set_message("This FlowSchema references the PriorityLevelConfiguration object named \"" + level + "\" " +
                        (dangling ? "but there is no such object" : "and it exists"));
  auto apply = sdk::Apply(*client_, api::flowcontrol::v1::FlowSchema::SchemaKind(), wanted.Freeze(), "status", kFieldManager);
  CO_TRY(co_await std::move(apply));
  co_return Done();
}

std::string FlowControl::DumpLevels() const {
  Table table({"PriorityLevelName", "ActiveQueues", "IsIdle", "IsQuiescing", "WaitingRequests", "ExecutingRequests", "DispatchedRequests",
               "RejectedRequests", "TimedoutRequests", "CancelledRequests"});
  for (const auto& [name, level] : levels_) {
    auto active = std::ranges::count_if(level->queues(), [](const FlowLevel::Queue& queue) { return !queue.waiting.empty(); });
    const FlowCounts& counts = level->counts();
    table.Add({name, Number(active), level->idle() ? "true" : "false", level->quiescing ? "true" : "false", Number(level->waiting()),
               Number(level->running()), Number(counts.dispatched), Number(counts.rejected), Number(counts.timed_out), Number(counts.cancelled)});
  }
  return table.Text();
}

std::string FlowControl::DumpQueues() const {
  Table table({"PriorityLevelName", "Index", "PendingRequests", "ExecutingRequests", "SeatsInUse", "NextDispatchR", "InitialSeatsSum",
               "MaxSeatsSum", "TotalWorkSum"});
  for (const auto& [name, level] : levels_) {
    for (size_t i = 0; i < level->queues().size(); ++i) {
      const FlowLevel::Queue& queue = level->queues()[i];
      std::string waiting = Number(queue.waiting.size()), running = Number(queue.running.size());
      table.Add({name, Number(i), waiting, running, running, SeatSeconds(queue.next_service), waiting, waiting,
                 SeatSeconds(kGuessedService * queue.waiting.size())});
    }
  }
  return table.Text();
}

std::string FlowControl::DumpRequests(bool details) const {
  std::vector<std::string> heads = {"PriorityLevelName", "FlowSchemaName", "QueueIndex", "RequestIndexInQueue", "FlowDistingsher",
                                    "ArriveTime", "InitialSeats", "FinalSeats", "AdditionalLatency", "StartTime"};
  if (details) heads.insert(heads.end(), {"UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource"});
  Table table(std::move(heads));
  for (const auto& [name, level] : levels_) {
    auto add = [&](const FlowTicket& ticket, int index) {
      const Pass& pass = PassOf(ticket);
      bool running = ticket.state() == FlowTicket::State::kRunning;
      WallTime started = pass.arrived_ + std::chrono::duration_cast<WallTime::duration>(ticket.started() - ticket.arrived());
      std::vector<std::string> row = {name, pass.rules_->name(), Number(ticket.queue()), Number(index),
                                      std::string(pass.rules_->FlowOf(*pass.user_, *pass.info_)), NanoTime(pass.arrived_), "1", "0", "0s",
                                      running ? NanoTime(started) : "0001-01-01T00:00:00Z"};
      const RequestInfo& info = *pass.info_;
      std::string version = info.group.empty() ? info.version : info.group + "/" + info.version;
      if (details) row.insert(row.end(), {pass.user_->name, info.verb, info.path, info.ns, info.name, version, info.resource, info.subresource});
      table.Add(std::move(row));
    };
    for (const FlowLevel::Queue& queue : level->queues()) {
      int index = 0;
      for (const FlowTicket* ticket = queue.waiting.first(); ticket != nullptr; ticket = ticket->next()) add(*ticket, index++);
      for (const FlowTicket* ticket = queue.running.first(); ticket != nullptr; ticket = ticket->next()) add(*ticket, -1);
    }
    for (const FlowTicket* ticket = level->running_without_queue().first(); ticket != nullptr; ticket = ticket->next()) add(*ticket, -1);
  }
  return table.Text();
}

}  // namespace homeostat::server
