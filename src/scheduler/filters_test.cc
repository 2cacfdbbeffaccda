#include <algorithm>

#include "scheduler/internal/objects_for_tests.h"
#include "scheduler/plugins.h"

namespace homeostat::scheduler {
namespace {

struct Outcome {
  PluginSet refused = 0;
  std::string reasons;
  bool resolvable = false;
};

Outcome Ask(NodeTable& table, const PodInfo& pod, std::string_view node) {
  VolumeTable volumes;
  Cycle cycle;
  Outcome outcome;
  Prefiltered prefiltered = Prefilter(cycle, pod, table, volumes);
  if (prefiltered.message) return {prefiltered.plugin, *prefiltered.message, false};
  Refusal refusal;
  outcome.refused = Filter(cycle, table.Find(node), refusal);
  std::ranges::sort(refusal.reasons);
  for (const std::string& reason : refusal.reasons) outcome.reasons += (outcome.reasons.empty() ? "" : ", ") + reason;
  outcome.resolvable = refusal.resolvable;
  return outcome;
}

struct NodeCase {
  const char* name;
  const char* labels;
  const char* node_spec;
  const char* pod_spec;
  PluginSet refused;
  const char* reason;
  bool resolvable = false;
};

TEST(Filter, OfOneNode) {
  constexpr const char* kC = R"("containers":[{"name":"c"}])";
  const std::string c = kC;
  auto with = [&](std::string spec) { return spec + "," + c; };
  const std::string tolerate_unschedulable =
      with(R"("tolerations":[{"key":"node.kubernetes.io/unschedulable","operator":"Exists"}])");
  const std::string other_node = with(R"("nodeName":"b")"), this_node = with(R"("nodeName":"a")");
  const std::string tolerated = with(R"("tolerations":[{"key":"k","value":"v","effect":"NoSchedule"}])");
  const std::string wrong_value = with(R"("tolerations":[{"key":"k","value":"w"}])");
  const std::string everything = with(R"("tolerations":[{"operator":"Exists"}])");
  const std::string less = with(R"("tolerations":[{"key":"k","operator":"Lt","value":"10"}])");
  const std::string selector = with(R"("nodeSelector":{"disk":"ssd"})");
  auto affinity = [&](std::string terms) {
    return with(
        R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)" +
        terms + "]}}}");
  };
  const std::string in = affinity(R"({"matchExpressions":[{"key":"disk","operator":"In","values":["ssd","nvme"]}]})");
  const std::string not_in = affinity(R"({"matchExpressions":[{"key":"disk","operator":"NotIn","values":["ssd"]}]})");
  const std::string greater = affinity(R"({"matchExpressions":[{"key":"cores","operator":"Gt","values":["8"]}]})");
  const std::string either = affinity(
      R"({"matchExpressions":[{"key":"x","operator":"Exists"}]},{"matchExpressions":[{"key":"disk","operator":"Exists"}]})");
  const std::string empty_term = affinity("{}");
  const std::string by_name = affinity(R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["a"]}]})");
  const std::string by_other_name =
      affinity(R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["b"]}]})");
  const std::string mismatch = "node(s) didn't match Pod's node affinity/selector",
                    taint = "node(s) had untolerated taint(s)";

  const std::vector<NodeCase> cases = {
      {"anything goes", "", "", kC, 0, ""},
      {"cordoned", "", R"("unschedulable":true)", kC, kNodeUnschedulable, "node(s) were unschedulable"},
      {"cordoned, tolerated", "", R"("unschedulable":true)", tolerate_unschedulable.c_str(), 0, ""},
      {"another node asked for", "", "", other_node.c_str(), kNodeName, "node(s) didn't match the requested node name"},
      {"this node asked for", "", "", this_node.c_str(), 0, ""},
      {"taint", "", R"("taints":[{"key":"k","value":"v","effect":"NoSchedule"}])", kC, kTaintToleration, taint.c_str()},
      {"NoExecute", "", R"("taints":[{"key":"k","effect":"NoExecute"}])", kC, kTaintToleration, taint.c_str()},
      {"PreferNoSchedule is no refusal", "", R"("taints":[{"key":"k","effect":"PreferNoSchedule"}])", kC, 0, ""},
      {"taint tolerated", "", R"("taints":[{"key":"k","value":"v","effect":"NoSchedule"}])", tolerated.c_str(), 0, ""},
      {"another value", "", R"("taints":[{"key":"k","value":"v","effect":"NoSchedule"}])", wrong_value.c_str(),
       kTaintToleration, taint.c_str()},
      {"another effect", "", R"("taints":[{"key":"k","value":"v","effect":"NoExecute"}])", tolerated.c_str(),
       kTaintToleration, taint.c_str()},
      {"all tolerated", "", R"("taints":[{"key":"k","value":"v","effect":"NoExecute"}])", everything.c_str(), 0, ""},
      {"number below", "", R"("taints":[{"key":"k","value":"9","effect":"NoSchedule"}])", less.c_str(), 0, ""},
      {"number not below", "", R"("taints":[{"key":"k","value":"10","effect":"NoSchedule"}])", less.c_str(),
       kTaintToleration, taint.c_str()},
      {"selector", R"("disk":"ssd")", "", selector.c_str(), 0, ""},
      {"selector without label", "", "", selector.c_str(), kNodeAffinity, mismatch.c_str()},
      {"selector with another value", R"("disk":"hdd")", "", selector.c_str(), kNodeAffinity, mismatch.c_str()},
      {"In", R"("disk":"nvme")", "", in.c_str(), 0, ""},
      {"not In", R"("disk":"hdd")", "", in.c_str(), kNodeAffinity, mismatch.c_str()},
      {"NotIn", R"("disk":"hdd")", "", not_in.c_str(), 0, ""},
      {"NotIn without label", "", "", not_in.c_str(), 0, ""},
      {"Gt", R"("cores":"16")", "", greater.c_str(), 0, ""},
      {"not Gt", R"("cores":"8")", "", greater.c_str(), kNodeAffinity, mismatch.c_str()},
      {"second term", R"("disk":"hdd")", "", either.c_str(), 0, ""},
      {"empty term matches nothing", "", "", empty_term.c_str(), kNodeAffinity, mismatch.c_str()},
      {"by name", "", "", by_name.c_str(), 0, ""},
      {"by another name", "", "", by_other_name.c_str(), kNodeAffinity, mismatch.c_str()},
  };
  for (const NodeCase& test : cases) {
    SCOPED_TRACE(test.name);
    NodeTable table;
    table.SetNode(MakeNode("a", test.labels, test.node_spec));
    Outcome outcome = Ask(table, *MakePod("p", test.pod_spec), "a");
    EXPECT_EQ(outcome.refused, test.refused);
    EXPECT_EQ(outcome.reasons, test.reason);
    EXPECT_EQ(outcome.resolvable, test.resolvable);
  }
}

TEST(NodeResourcesFit, NamesEveryResourceThatIsShort) {
  NodeTable table;
  table.SetNode(MakeNode("a", "", "", "4", "8Gi", 2));
  table.AddPod(MakePod("old", Requests("3", "1Gi")), "a");
  struct Case {
    const char* cpu;
    const char* memory;
    const char* reasons;
    bool resolvable;
  };
  for (const Case& c : {Case{"1", "7Gi", "", false}, Case{"1001m", "1Gi", "Insufficient cpu", true},
                        Case{"2", "7169Mi", "Insufficient cpu, Insufficient memory", true},
                        Case{"5", "1Gi", "Insufficient cpu", false}}) {
    SCOPED_TRACE(c.reasons);
    Outcome outcome = Ask(table, *MakePod("p", Requests(c.cpu, c.memory)), "a");
    EXPECT_EQ(outcome.reasons, c.reasons);
    EXPECT_EQ(outcome.resolvable, c.resolvable);
  }
  table.AddPod(MakePod("second"), "a");
  EXPECT_EQ(Ask(table, *MakePod("p"), "a").reasons, "Too many pods");
  table.RemovePod("uid-old");
  EXPECT_EQ(Ask(table, *MakePod("p"), "a").refused, 0u);
  EXPECT_EQ(
      Ask(table, *MakePod("p", R"("containers":[{"name":"c","resources":{"requests":{"example.com/gpu":"1"}}}])"), "a")
          .reasons,
      "Insufficient example.com/gpu");
}

TEST(NodePorts, WildcardsTakeAllAddresses) {
  auto pod = [](std::string name, std::string port) {
    return MakePod(name, R"("containers":[{"name":"c","ports":[)" + port + "]}]");
  };
  struct Case {
    const char* used;
    const char* wanted;
    bool conflict;
  };
  for (const Case& c :
       {Case{R"({"containerPort":1,"hostPort":80})", R"({"containerPort":1,"hostPort":80})", true},
        Case{R"({"containerPort":1,"hostPort":80})", R"({"containerPort":1,"hostPort":81})", false},
        Case{R"({"containerPort":80})", R"({"containerPort":80})", false},
        Case{R"({"containerPort":1,"hostPort":80,"protocol":"UDP"})", R"({"containerPort":1,"hostPort":80})", false},
        Case{R"({"containerPort":1,"hostPort":80,"hostIP":"10.0.0.1"})", R"({"containerPort":1,"hostPort":80})", true},
        Case{R"({"containerPort":1,"hostPort":80,"hostIP":"10.0.0.1"})",
             R"({"containerPort":1,"hostPort":80,"hostIP":"10.0.0.2"})", false}}) {
    NodeTable table;
    table.SetNode(MakeNode("a"));
    table.AddPod(pod("old", c.used), "a");
    Outcome outcome = Ask(table, *pod("new", c.wanted), "a");
    EXPECT_EQ(outcome.reasons, c.conflict ? "node(s) didn't have free ports for the requested pod ports" : "")
        << c.used << c.wanted;
    table.RemovePod("uid-old");
    EXPECT_EQ(Ask(table, *pod("new", c.wanted), "a").refused, 0u);
  }
}

std::string Spread(std::string_view key, int skew, std::string_view more = "") {
  return R"("topologySpreadConstraints":[{"maxSkew":)" + std::to_string(skew) + R"(,"topologyKey":")" +
         std::string(key) + R"(","whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"app":"web"}})" +
         std::string(more) + R"(}],"containers":[{"name":"c"}])";
}

constexpr std::string_view kWeb = R"("labels":{"app":"web"})";

TEST(PodTopologySpread, KeepsTheSkew) {
  NodeTable table;
  table.SetNode(MakeNode("a", R"("zone":"1")"));
  table.SetNode(MakeNode("b", R"("zone":"1")"));
  table.SetNode(MakeNode("c", R"("zone":"2")"));
  table.SetNode(MakeNode("d"));
  table.AddPod(MakePod("one", R"("containers":[{"name":"c"}])", kWeb), "a");
  auto reason = [&](std::string_view node, const std::string& spec) {
    return Ask(table, *MakePod("p", spec, kWeb), node).reasons;
  };
  const std::string refused = "node(s) didn't match pod topology spread constraints";
  EXPECT_EQ(reason("b", Spread("zone", 1)), refused);
  EXPECT_EQ(reason("c", Spread("zone", 1)), "");
  EXPECT_EQ(reason("d", Spread("zone", 1)), refused + " (missing required label)");
  EXPECT_EQ(reason("b", Spread("zone", 2)), "");
  // Too few domains: the least counts as none.
  EXPECT_EQ(reason("c", Spread("zone", 1, R"(,"minDomains":3)")), "");
  table.AddPod(MakePod("two", R"("containers":[{"name":"c"}])", kWeb), "c");
  EXPECT_EQ(reason("b", Spread("zone", 1)), "");
  EXPECT_EQ(reason("b", Spread("zone", 1, R"(,"minDomains":3)")), refused);
  // Terminating pods and those of other namespaces don't count.
  table.AddPod(MakePod("one", R"("containers":[{"name":"c"}])",
                       std::string(kWeb) + R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")"),
               "a");
  EXPECT_EQ(reason("b", Spread("zone", 1, R"(,"minDomains":3)")), "");
}

TEST(PodTopologySpread, NodesThatThePodCannotUseDoNotLowerTheLeast) {
  NodeTable table;
  table.SetNode(MakeNode("a", R"("zone":"1","disk":"ssd")"));
  table.SetNode(MakeNode("b", R"("zone":"2")"));
  table.AddPod(MakePod("one", R"("containers":[{"name":"c"}])", kWeb), "a");
  std::string selector = R"("nodeSelector":{"disk":"ssd"},)";
  EXPECT_EQ(Ask(table, *MakePod("p", selector + Spread("zone", 1), kWeb), "a").refused, 0u);
  EXPECT_EQ(
      Ask(table, *MakePod("p", selector + Spread("zone", 1, R"(,"nodeAffinityPolicy":"Ignore")"), kWeb), "a").refused,
      static_cast<PluginSet>(kPodTopologySpread));
}

std::string PodAffinity(std::string_view kind, std::string_view key, std::string_view more = "") {
  return R"("affinity":{")" + std::string(kind) +
         R"(":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":")" + std::string(key) +
         R"(","labelSelector":{"matchLabels":{"app":"web"}})" + std::string(more) +
         R"(}]}},"containers":[{"name":"c"}])";
}

TEST(InterPodAffinity, NearAndFar) {
  NodeTable table;
  table.SetNode(MakeNode("a", R"("zone":"1")"));
  table.SetNode(MakeNode("b", R"("zone":"1")"));
  table.SetNode(MakeNode("c", R"("zone":"2")"));
  const std::string near = PodAffinity("podAffinity", "zone"), far = PodAffinity("podAntiAffinity", "zone");
  auto reason = [&](const PodInfoPtr& pod, std::string_view node) { return Ask(table, *pod, node).reasons; };
  PodInfoPtr stranger = MakePod("p", near), member = MakePod("p", near, kWeb);
  // The first of a group that wants to be together may go anywhere; others must wait for it.
  EXPECT_EQ(reason(stranger, "a"), "node(s) didn't match pod affinity rules");
  EXPECT_EQ(reason(member, "a"), "");
  table.AddPod(MakePod("one", R"("containers":[{"name":"c"}])", kWeb), "a");
  EXPECT_EQ(reason(stranger, "b"), "");
  EXPECT_EQ(reason(member, "c"), "node(s) didn't match pod affinity rules");
  EXPECT_EQ(reason(MakePod("p", far), "b"), "node(s) didn't match pod anti-affinity rules");
  EXPECT_EQ(reason(MakePod("p", far), "c"), "");
  // What pods that are there already keep away.
  table.AddPod(MakePod("hermit", far), "c");
  EXPECT_EQ(reason(MakePod("p", R"("containers":[{"name":"c"}])", kWeb), "c"),
            "node(s) didn't satisfy existing pods anti-affinity rules");
  EXPECT_EQ(reason(MakePod("p"), "c"), "");
  table.RemovePod("uid-hermit");
  EXPECT_EQ(reason(MakePod("p", R"("containers":[{"name":"c"}])", kWeb), "c"), "");
}

TEST(InterPodAffinity, NamespacesBySelector) {
  NodeTable table;
  table.SetNode(MakeNode("a", R"("zone":"1")"));
  PodInfoPtr other = ReadPod(FromJson<api::core::v1::Pod>(
      R"({"metadata":{"namespace":"other","name":"one","uid":"u1","labels":{"app":"web"}},"spec":{"containers":[{"name":"c"}]}})"));
  table.AddPod(other, "a");
  PodInfoPtr selecting =
      MakePod("p", PodAffinity("podAntiAffinity", "zone", R"(,"namespaceSelector":{"matchLabels":{"team":"x"}})"));
  EXPECT_EQ(Ask(table, *selecting, "a").refused, 0u);
  table.SetNamespace("other",
                     FromJson<api::core::v1::Namespace>(R"({"metadata":{"name":"other","labels":{"team":"x"}}})"));
  EXPECT_EQ(Ask(table, *selecting, "a").refused, static_cast<PluginSet>(kInterPodAffinity));
  PodInfoPtr named = MakePod("p", PodAffinity("podAntiAffinity", "zone", R"(,"namespaces":["other"])"));
  EXPECT_EQ(Ask(table, *named, "a").refused, static_cast<PluginSet>(kInterPodAffinity));
  EXPECT_EQ(Ask(table, *MakePod("p", PodAffinity("podAntiAffinity", "zone")), "a").refused, 0u);
}

}  // namespace
}  // namespace homeostat::scheduler
