// SimulatedCluster: an API server on simulated time, clients of it that meet faults, and what tests of that kind share.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/await_for_tests.h"
#include "homeostat/api/core/v1_builders.h"
#include "homeostat/base/http.h"
#include "homeostat/object/json.h"
#include "homeostat/object/time.h"
#include "homeostat/schema/conform.h"
#include "homeostat/sdk/client.h"
#include "homeostat/sdk/informer.h"
#include "server/control_plane.h"

namespace homeostat {

// Chances in a thousand for each request, or for each piece of a watch.
struct Faults {
  int refuse = 0;        // answered with 503, and not done
  int lose_answer = 0;   // done, and answered with 503
  int cut = 0;           // the watch breaks, perhaps within an event
  int repeat = 0;        // a piece comes twice
  int stall = 0;         // the watch stands still for `stall_time`
  Duration delay{0};     // at most so late are answers and events
  Duration stall_time = std::chrono::minutes(6);
};

// A way to the server that has the faults, drawn from the runtime's seed.
class FaultyTransport : public http::Handler {
 public:
  FaultyTransport(Runtime& runtime, std::shared_ptr<http::Handler> inner, const Faults& faults)
      : runtime_(runtime), inner_(std::move(inner)), faults_(faults) {}
  // Sees requests that reach the server, and their answers' codes.
  std::function<Task<void>(const http::Request&)> before;
  std::function<void(const http::Request&, int code)> after;

  Task<http::Response> Handle(http::Request request) override {
    auto pause = Sleep(runtime_, Delay());
    co_await pause;
    if (Chance(faults_.refuse)) {
      Trace(request, "refused");
      co_return Unavailable();
    }
    if (before) {
      auto look = before(request);
      co_await look;
    }
    auto call = inner_->Handle(request);
    http::Response response = co_await call;
    if (after) after(request, response.code);
    Trace(request, std::to_string(response.code));
    if (response.stream) {
      response.stream = std::make_unique<FaultyBody>(*this, std::move(response.stream));
      co_return response;
    }
    auto again = Sleep(runtime_, Delay());
    co_await again;
    if (Chance(faults_.lose_answer)) {
      Trace(request, "answer lost");
      co_return Unavailable();
    }
    co_return response;
  }

 private:
  class FaultyBody : public http::BodyReader {
   public:
    FaultyBody(FaultyTransport& transport, std::unique_ptr<http::BodyReader> inner) : transport_(transport), inner_(std::move(inner)) {}
    Task<Result<Bytes>> Read() override {
      if (broken_) co_return Fail(SystemError("connection reset by peer"));
      if (!repeated_.empty()) co_return std::exchange(repeated_, Bytes());
      auto read = inner_->Read();
      CO_TRY_ASSIGN(Bytes piece, co_await read);
      if (piece.empty()) co_return piece;
      auto late = Sleep(transport_.runtime_, transport_.Delay());
      co_await late;
      if (transport_.Chance(transport_.faults_.stall)) {
        auto stall = Stall();
        co_await stall;
      }
      if (transport_.Chance(transport_.faults_.cut)) {
        broken_ = true;
        piece = piece.Slice(0, transport_.runtime_.Random() % piece.size());
        if (piece.empty()) co_return Fail(SystemError("connection reset by peer"));
      } else if (transport_.Chance(transport_.faults_.repeat)) {
        repeated_ = piece;
      }
      co_return piece;
    }

   private:
    // Ends early when the faults end, or two watches could be minutes apart in a world without delays, where controllers
    // that answer each other take no time at all.
    Task<void> Stall() {
      const MonotonicTime end = transport_.runtime_.Now() + transport_.faults_.stall_time;
      while (transport_.faults_.stall > 0 && transport_.runtime_.Now() < end) {
        auto pause = Sleep(transport_.runtime_, std::chrono::seconds(1));
        co_await pause;
      }
    }

    FaultyTransport& transport_;
    std::unique_ptr<http::BodyReader> inner_;
    Bytes repeated_;
    bool broken_ = false;
  };

  bool Chance(int in_thousand) { return in_thousand > 0 && static_cast<int>(runtime_.Random() % 1000) < in_thousand; }
  Duration Delay() {
    if (faults_.delay <= Duration(0)) return Duration(0);
    return Duration(static_cast<int64_t>(runtime_.Random() % static_cast<uint64_t>(faults_.delay.count())));
  }
  // HOMEOSTAT_TRACE=1 shows what was asked, and what became of it.
  void Trace(const http::Request& request, const std::string& what) {
    static const bool on = std::getenv("HOMEOSTAT_TRACE") != nullptr;
    if (!on) return;
    std::fprintf(stderr, "%8.3f %-28s %s %s?%s: %s\n", std::chrono::duration<double>(runtime_.Now().time_since_epoch()).count(),
                 std::string(request.headers.Get("User-Agent")).c_str(), request.method.c_str(), request.path.c_str(),
                 request.query.c_str(), what.c_str());
  }
  static http::Response Unavailable() {
    http::Response response;
    response.code = 503;
    response.body.push_back("no server there\n");
    return response;
  }

  Runtime& runtime_;
  std::shared_ptr<http::Handler> inner_;
  const Faults& faults_;
};

class SimulatedCluster {
 public:
  explicit SimulatedCluster(uint64_t seed) : runtime(SimulatedRuntime::Make(seed)) {
    server::ControlPlaneOptions options;
    options.engine = store::MakeMemoryEngine(*runtime);
    options.admission_plugins.disable = {"TaintNodesByCondition"};  // nobody here takes the taint away again
    control_plane = std::make_unique<server::ControlPlane>(*runtime, std::move(options));
    auto started = Await(control_plane->Start());
    EXPECT_TRUE(started.has_value());
    admin.emplace(control_plane->TransportFor("admin", {"system:masters"}));
  }

  // A client as that controller's service account, through the faults.
  sdk::Client Controller(const std::string& name, std::shared_ptr<FaultyTransport>* transport = nullptr) {
    auto faulty = Faulty("system:serviceaccount:kube-system:" + name, {"system:serviceaccounts", "system:serviceaccounts:kube-system"});
    if (transport != nullptr) *transport = faulty;
    return sdk::Client(faulty, {.user_agent = name, .runtime = runtime.get()});
  }
  // For informers.
  sdk::Client Reader() { return sdk::Client(Faulty("system:kube-controller-manager", {"system:masters"})); }

  template <class T>
  T Await(Task<T> task) {
    return homeostat::Await(*runtime, std::move(task), std::chrono::minutes(2));
  }
  template <class T>
  Result<sdk::Object<T>> Create(const std::string& ns, const std::string& json) {
    auto document = object::ParseJsonDocument(json).value();
    schema::ConformReport report;
    document->set_root(schema::Conform(document->arena(), document->root(), T::SchemaType(), report).value());
    EXPECT_TRUE(report.problems.empty()) << report.problems.front();
    return Await(admin->Create<T>(ns, sdk::Object<T>(document)));
  }
  uint64_t Draw(uint64_t limit) { return runtime->Random() % limit; }

  std::unique_ptr<SimulatedRuntime> runtime;
  Faults faults;
  std::unique_ptr<server::ControlPlane> control_plane;
  std::optional<sdk::Client> admin;

 private:
  std::shared_ptr<FaultyTransport> Faulty(std::string user, std::vector<std::string> groups) {
    return std::make_shared<FaultyTransport>(*runtime, control_plane->TransportFor(std::move(user), std::move(groups)), faults);
  }
};

// A controller with informers of its own, so that each is behind in its own way.
template <class C>
struct Component {
  std::unique_ptr<sdk::InformerFactory> informers;
  std::unique_ptr<C> controller;

  template <class... Options>
  void Start(SimulatedCluster& cluster, const std::string& user, Options... options) {
    informers = std::make_unique<sdk::InformerFactory>(*cluster.runtime, cluster.Reader());
    controller = std::make_unique<C>(*cluster.runtime, cluster.Controller(user), *informers, options...);
    controller->Start();
    informers->Start();
  }
  void Crash() {
    controller.reset();
    informers.reset();
  }
};

// Scheduler and nodes in one: binds pods, has them run, and removes those that are deleted.
class PodLife {
 public:
  using Pod = api::core::v1::Pod;
  // node_of: where a pod goes. end_of: the phase that one that runs ends in now; "" if it goes on. All must outlive it.
  PodLife(SimulatedCluster& cluster, const sdk::Informer& pods, std::function<std::string(const Pod&)> node_of,
          std::function<std::string(const Pod&)> end_of)
      : cluster_(cluster), pods_(pods), node_of_(std::move(node_of)), end_of_(std::move(end_of)) {}

  // For ever.
  Task<void> Run() {
    while (true) {
      auto pause = Sleep(*cluster_.runtime, std::chrono::milliseconds(50 + cluster_.Draw(400)));
      co_await pause;
      for (const object::DocumentPtr& pod : pods_.List()) {
        auto turn = RunOne(sdk::Object<Pod>(pod));
        co_await turn;
      }
    }
  }

 private:
  Task<void> RunOne(sdk::Object<Pod> pod) {
    std::string ns(pod->metadata().namespace_()), name(pod->metadata().name()), phase(pod->status().phase());
    if (sdk::meta::IsDeleting(pod->Raw())) {
      if (cluster_.Draw(3) != 0) co_return;
      sdk::DeleteOptions options;
      options.grace_period_seconds = 0;
      auto deletion = cluster_.admin->Delete<Pod>(ns, name, options);
      co_await deletion;
      co_return;
    }
    if (pod->spec().node_name().empty()) {
      api::core::v1::BindingBuilder binding;
      binding.mutable_metadata().set_name(name).set_namespace(ns);
      binding.mutable_target().set_kind("Node").set_name(node_of_(*pod));
      auto bind = cluster_.admin->CreateSubresource(Pod::SchemaKind(), ns, name, "binding", api::core::v1::Binding::SchemaKind(), binding.Freeze());
      co_await bind;
      co_return;
    }
    if (phase == "Succeeded" || phase == "Failed") co_return;
    std::string end = phase == "Running" ? end_of_(*pod) : "Running";
    if (end.empty()) co_return;
    api::core::v1::PodBuilder next{schema::Subtree(pod.document())};
    auto status = next.mutable_status();
    status.set_phase(end).clear_conditions();
    std::string now = object::FormatTime(object::Timestamp::FromClock(cluster_.runtime->WallNow()));
    status.add_conditions().set_type("Ready").set_status(end == "Running" ? "True" : "False").set_last_transition_time(now);
    auto update = cluster_.admin->UpdateStatus<Pod>(sdk::Object<Pod>(next.Freeze()));
    co_await update;
  }

  SimulatedCluster& cluster_;
  const sdk::Informer& pods_;
  const std::function<std::string(const Pod&)> node_of_, end_of_;
};

// Runs the test for each seed: HOMEOSTAT_SEED alone, or as many as HOMEOSTAT_SEEDS says. It gives the promises that were
// broken; a failure prints how to run it again.
inline void ForEachSeed(int count, const std::function<std::vector<std::string>(uint64_t seed)>& run) {
  uint64_t first = 1, last = static_cast<uint64_t>(count);
  if (const char* seeds = std::getenv("HOMEOSTAT_SEEDS")) last = std::strtoull(seeds, nullptr, 10);
  if (const char* seed = std::getenv("HOMEOSTAT_SEED")) first = last = std::strtoull(seed, nullptr, 10);
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  for (uint64_t seed = first; seed <= last; ++seed) {
    std::vector<std::string> broken = run(seed);
    if (broken.empty()) continue;
    std::string list;
    for (const std::string& one : broken) list += "  " + one + "\n";
    ADD_FAILURE() << "seed " << seed << " broke:\n" << list << "replay: HOMEOSTAT_SEED=" << seed << " build/workloads_test --gtest_filter="
                  << test->test_suite_name() << "." << test->name();
    return;
  }
}

}  // namespace homeostat
