// How many pods a second the scheduler's core places on a thousand nodes.
#include <benchmark/benchmark.h>

#include "homeostat/api/core/v1.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"
#include "scheduler/decision.h"

namespace homeostat::scheduler {
namespace {

template <class T>
object::DocumentPtr FromJson(const std::string& json) {
  auto document = object::ParseJsonDocument(json).value();
  schema::ConformReport report;
  document->set_root(schema::Conform(document->arena(), document->root(), T::SchemaType(), report).value());
  return document;
}

PodInfoPtr MakePod(int64_t number, const std::string& spec) {
  std::string name = "p" + std::to_string(number);
  return ReadPod(FromJson<api::core::v1::Pod>(
      R"({"metadata":{"namespace":"default","name":")" + name + R"(","uid":")" + name +
      R"(","labels":{"app":"web"}},"spec":{)" + spec +
      R"("containers":[{"name":"c","resources":{"requests":{"cpu":"10m","memory":"10Mi"}}}]}})"));
}

void Place(benchmark::State& state, const std::string& spec, bool grouped) {
  NodeTable table;
  VolumeTable volumes;
  for (int64_t i = 0; i < state.range(0); ++i) {
    std::string name = "n" + std::to_string(i);
    table.SetNode(FromJson<api::core::v1::Node>(
        R"({"metadata":{"name":")" + name + R"(","labels":{"kubernetes.io/hostname":")" + name +
        R"(","topology.kubernetes.io/zone":"z)" + std::to_string(i % 3) +
        R"("}},"status":{"allocatable":{"cpu":"6400","memory":"25Ti","pods":"100000"}}})"));
  }
  DefaultSelector selector = [&](const PodInfo&) -> std::optional<object::LabelSelector> {
    if (!grouped) return std::nullopt;
    return object::LabelSelector::Parse("app=web").value();
  };
  Decider decider(table, volumes, selector, 1);
  int64_t number = 0;
  for (auto _ : state) {
    PodInfoPtr pod = MakePod(number++, spec);
    Decision decision = decider.Decide(*pod);
    if (decision.failure) {
      state.SkipWithError(decision.failure->Message().c_str());
      break;
    }
    table.AddPod(pod, decision.node);
  }
  state.SetItemsProcessed(state.iterations());
}

void BM_PlacePlain(benchmark::State& state) { Place(state, "", false); }
void BM_PlaceOfService(benchmark::State& state) { Place(state, "", true); }
void BM_PlaceHardSpread(benchmark::State& state) {
  Place(
      state,
      R"("topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"topology.kubernetes.io/zone","whenUnsatisfiable":"DoNotSchedule",
           "labelSelector":{"matchLabels":{"app":"web"}}}],)",
      false);
}
BENCHMARK(BM_PlacePlain)->Arg(100)->Arg(1000)->Arg(5000);
BENCHMARK(BM_PlaceOfService)->Arg(1000);
BENCHMARK(BM_PlaceHardSpread)->Arg(1000);

}  // namespace
}  // namespace homeostat::scheduler
