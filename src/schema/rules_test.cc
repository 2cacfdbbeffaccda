// Defaults, comparison and pruning, over built-in types and small structural ones.
#include <gtest/gtest.h>

#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"
#include "homeostat/schema/defaults.h"
#include "homeostat/schema/diff.h"
#include "homeostat/schema/json_encoder.h"
#include "homeostat/schema/prune.h"
#include "schema/internal/test_data.h"

namespace homeostat::schema {
namespace {

using object::Arena;
using object::Value;

// The type of a custom resource: {spec: {oars, colour, rig, crew map by name, open}}.
struct Boat {
  static constexpr std::string_view kKeys[] = {"name"};
  static constexpr Type kOars{.form = Form::kInt64, .structural = true};
  static constexpr Type kText{.form = Form::kString, .structural = true};
  static constexpr Field kPersonFields[] = {
      {.name = "name", .flags = kPointer | kOmitEmpty | kRequired, .type = &kText},
      {.name = "role", .flags = kPointer | kOmitEmpty, .type = &kText, .default_json = "\"hand\""},
  };
  static constexpr uint16_t kPersonNames[] = {0, 1};
  static constexpr Type kPerson{
      .form = Form::kStruct, .fields = kPersonFields, .by_name = kPersonNames, .structural = true};
  static constexpr Type kCrew{.form = Form::kList,
                              .element = &kPerson,
                              .list_type = ListType::kMap,
                              .list_map_keys = kKeys,
                              .structural = true};
  static constexpr Type kOpen{.form = Form::kStruct,
                              .fields = kPersonFields,
                              .by_name = kPersonNames,
                              .preserve_unknown_fields = true,
                              .structural = true};
  static constexpr Field kSpecFields[] = {
      {.name = "colour", .flags = kPointer | kOmitEmpty | kNullable, .type = &kText},
      {.name = "crew", .flags = kPointer | kOmitEmpty, .type = &kCrew},
      {.name = "oars", .flags = kPointer | kOmitEmpty | kRequired, .type = &kOars, .default_json = "2"},
      {.name = "open", .flags = kPointer | kOmitEmpty, .type = &kOpen},
      {.name = "rig", .flags = kPointer | kOmitEmpty, .type = &kText},
  };
  static constexpr uint16_t kSpecNames[] = {0, 1, 2, 3, 4};
  static constexpr Type kSpec{.form = Form::kStruct, .fields = kSpecFields, .by_name = kSpecNames, .structural = true};
  static constexpr Field kFields[] = {{.name = "spec", .flags = kPointer | kOmitEmpty | kRequired, .type = &kSpec}};
  static constexpr uint16_t kNames[] = {0};
  static constexpr Type kType{.form = Form::kStruct, .fields = kFields, .by_name = kNames, .structural = true};
};

std::string Defaulted(const Defaults& defaults, const Type& type, std::string_view json) {
  Arena arena;
  auto result = defaults.Apply(arena, type, test::Typed(arena, type, json));
  EXPECT_TRUE(result.has_value()) << result.error().message();
  return result ? test::Json(type, *result) : std::string();
}

TEST(Defaults, FillWhatIsAbsentFromTheTopDown) {
  Defaults defaults;
  const Type& deployment = *test::FindType("apps/v1 Deployment");
  std::string text =
      Defaulted(defaults, deployment,
                R"({"spec":{"template":{"spec":{"containers":[{"name":"a","ports":[{"containerPort":1}]}]}}}})");
  for (std::string_view part :
       {R"("replicas":1)", R"("revisionHistoryLimit":10)", R"("progressDeadlineSeconds":600)",
        R"("strategy":{"type":"RollingUpdate")", R"("ports":[{"containerPort":1,"protocol":"TCP"}])",
        R"("restartPolicy":"Always")", R"("terminationGracePeriodSeconds":30)", R"("dnsPolicy":"ClusterFirst")",
        R"("securityContext":{})", R"("schedulerName":"default-scheduler")",
        R"("terminationMessagePath":"/dev/termination-log")"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(Defaults, KeepWhatIsSet) {
  Defaults defaults;
  const Type& deployment = *test::FindType("apps/v1 Deployment");
  std::string text = Defaulted(defaults, deployment, R"({"spec":{"replicas":0,"strategy":{"type":"Recreate"}}})");
  EXPECT_NE(text.find(R"("replicas":0)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("strategy":{"type":"Recreate"})"), std::string::npos) << text;
}

TEST(Defaults, AreStable) {
  Defaults defaults;
  Arena arena;
  const Type& pod = *test::FindType("v1 Pod");
  auto once = defaults.Apply(
      arena, pod, test::Typed(arena, pod, R"({"spec":{"containers":[{"name":"a"}],"volumes":[{"name":"v"}]}})"));
  ASSERT_TRUE(once);
  auto twice = defaults.Apply(arena, pod, *once);
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice->members().data(), once->members().data()) << "nothing to do, nothing copied";
}

TEST(Defaults, HooksSeeTheTypesOwnDefaultsAndComeBeforeTheFields) {
  const DefaultHookEntry hooks[] = {
      {"io.k8s.api.apps.v1.DeploymentStrategy", [](Arena& arena, const Value& value) {
         const Type& type = *test::FindType("apps/v1 Deployment")->FindField("spec")->type->FindField("strategy")->type;
         if (value.Get("type").AsString() != "RollingUpdate" || value.Get("rollingUpdate")) return value;
         uint16_t index = static_cast<uint16_t>(type.FieldIndex("rollingUpdate"));
         object::ObjectBuilder builder(arena, value);
         builder.SetField(index, type.fields[index].name, Value::EmptyObject());
         return builder.Build();
       }}};
  Defaults defaults(hooks);
  const Type& deployment = *test::FindType("apps/v1 Deployment");
  std::string text = Defaulted(defaults, deployment, "{}");
  EXPECT_NE(text.find(R"("rollingUpdate":{)"), std::string::npos) << text;
  EXPECT_EQ(Defaulted(defaults, deployment, R"({"spec":{"strategy":{"type":"Recreate"}}})").find("rollingUpdate"),
            std::string::npos);
}

TEST(Defaults, OfStructuralTypesReachOnlyWhatIsThere) {
  Defaults defaults;
  EXPECT_EQ(Defaulted(defaults, Boat::kType, "{}"), "{}");
  EXPECT_EQ(Defaulted(defaults, Boat::kType, R"({"spec":{"crew":[{"name":"a"},{"role":"cook"}],"oars":0}})"),
            R"({"spec":{"crew":[{"name":"a","role":"hand"},{"role":"cook"}],"oars":0}})");
  EXPECT_EQ(Defaulted(defaults, Boat::kType, R"({"spec":{"oars":null}})"), R"({"spec":{"oars":2}})");
}

TEST(Defaults, OutliveTheirDefaults) {
  auto arena = std::make_unique<Arena>();
  Value value;
  {
    Defaults defaults;
    auto result = defaults.Apply(*arena, Boat::kPerson, test::Typed(*arena, Boat::kPerson, "{}"));
    ASSERT_TRUE(result);
    value = *result;
  }
  EXPECT_EQ(test::Json(Boat::kPerson, value), R"({"role":"hand"})");
}

TEST(Defaults, BadTablesAreAnErrorNotACrash) {
  static constexpr Field kFields[] = {{.name = "n", .flags = kPointer, .type = &Boat::kOars, .default_json = "{"}};
  static constexpr uint16_t kNames[] = {0};
  static constexpr Type kBroken{.form = Form::kStruct, .name = "x.Broken", .fields = kFields, .by_name = kNames};
  Defaults defaults;
  Arena arena;
  EXPECT_FALSE(defaults.Apply(arena, kBroken, Value::EmptyObject()));
  EXPECT_FALSE(defaults.Apply(arena, kBroken, Value::EmptyObject()));
}

bool Same(const Type& type, std::string_view a, std::string_view b) {
  Arena arena;
  Value x = test::Typed(arena, type, a), y = test::Typed(arena, type, b);
  EXPECT_EQ(IsEqual(type, x, y), IsEqual(type, y, x)) << a << " " << b;
  return IsEqual(type, x, y);
}

TEST(Diff, ComparesMeaning) {
  const Type& pod = *test::FindType("v1 Pod");
  EXPECT_TRUE(Same(pod, "{}", R"({"metadata":{},"spec":{"containers":[]},"status":null})"));
  EXPECT_TRUE(
      Same(pod, R"({"metadata":{"labels":{"a":"1","b":"2"}}})", R"({"metadata":{"labels":{"b":"2","a":"1"}}})"));
  EXPECT_FALSE(Same(pod, R"({"metadata":{"labels":{"a":"1"}}})", R"({"metadata":{"labels":{"a":"2"}}})"));
  EXPECT_FALSE(Same(pod, R"({"metadata":{"labels":{"a":"1"}}})", R"({"metadata":{}})"));
  EXPECT_FALSE(Same(pod, R"({"spec":{"securityContext":{}}})", R"({"spec":{}})"))
      << "a pointer that is set is not one that isn't";
  EXPECT_TRUE(
      Same(pod, R"({"spec":{"overhead":{"memory":"1Gi"}}})", R"({"spec":{"overhead":{"memory":"1073741824"}}})"));
  EXPECT_FALSE(Same(pod, R"({"spec":{"overhead":{"memory":"1Gi"}}})", R"({"spec":{"overhead":{"memory":"1G"}}})"));
  EXPECT_FALSE(Same(pod, R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
                    R"({"spec":{"containers":[{"name":"b"},{"name":"a"}]}})"));
  const Type& revision = *test::FindType("apps/v1 ControllerRevision");
  EXPECT_FALSE(Same(revision, R"({"data":{"b":1,"a":{}}})", R"({"data":{"a":{},"b":1}})")) << "raw JSON is text";
  EXPECT_TRUE(Same(revision, R"({"data":{"b":[1,"x"],"a":{}}})", R"({"data":{"b":[1,"x"],"a":{}}})"));
  EXPECT_FALSE(Same(revision, R"({"data":{"b":[1,"x"]}})", R"({"data":{"b":[1,"y"]}})"));
  EXPECT_FALSE(Same(Boat::kType, R"({"spec":{"oars":0}})", R"({"spec":{}})")) << "custom resources keep zero values";
  EXPECT_FALSE(Same(Boat::kType, R"({"spec":{"oars":"x"}})", R"({"spec":{"oars":1}})"));
  EXPECT_FALSE(Same(Boat::kType, R"({"spec":{"open":{"x":1}}})", R"({"spec":{"open":{"x":2}}})"));
}

TEST(Diff, NamesTheFieldsThatChanged) {
  const Type& deployment = *test::FindType("apps/v1 Deployment");
  Arena arena;
  Value a =
      test::Typed(arena, deployment, R"({"metadata":{"name":"x"},"spec":{"replicas":1},"status":{"replicas":1}})");
  Value b = test::Typed(arena, deployment, R"({"metadata":{"name":"x"},"spec":{"replicas":2}})");
  std::vector<uint16_t> changed = ChangedFields(deployment, a, b);
  ASSERT_EQ(changed.size(), 2u);
  EXPECT_EQ(deployment.fields[changed[0]].name, "spec");
  EXPECT_EQ(deployment.fields[changed[1]].name, "status");
}

TEST(Prune, TakesOutWhatIsUnknown) {
  Arena arena;
  Value value = test::Parse(
      arena, R"({"x":1,"spec":{"oars":"kept","crew":[{"name":"a","y":{}}],"open":{"any":{"z":1},"name":{"q":1}}}})");
  std::vector<std::string> removed;
  Value pruned = Prune(arena, Boat::kType, value, &removed);
  EXPECT_EQ(object::JsonText(pruned),
            R"({"spec":{"oars":"kept","crew":[{"name":"a"}],"open":{"any":{"z":1},"name":{}}}})");
  EXPECT_EQ(removed, (std::vector<std::string>{"x", "spec.crew[0].y", "spec.open.name.q"}));
  EXPECT_EQ(Prune(arena, Boat::kType, pruned).members().data(), pruned.members().data());
}

TEST(Conform, OfStructuralTypesKeepsWhatWasSent) {
  Arena arena;
  ConformReport report;
  auto typed = Conform(
      arena,
      test::Parse(arena, R"({"spec":{"rig":"","oars":"two","colour":null,"crew":[],"open":{"x":[1.0]},"bogus":1}})"),
      Boat::kType, report);
  ASSERT_TRUE(typed) << typed.error().message();
  EXPECT_EQ(test::Json(Boat::kType, *typed),
            R"({"spec":{"colour":null,"crew":[],"oars":"two","open":{"x":[1]},"rig":""}})");
  EXPECT_EQ(report.StrictMessage(), "strict decoding error: unknown field \"spec.bogus\"");
}

TEST(JsonEncoder, LeavesManagedFieldsOut) {
  const Type& pod = *test::FindType("v1 Pod");
  Arena arena;
  Value value = test::Typed(arena, pod, R"({"metadata":{"name":"a","managedFields":[{"manager":"m"}]}})");
  std::string text;
  EncodeJson(pod, value, text, {.skip_managed_fields = true});
  EXPECT_EQ(text, R"({"metadata":{"name":"a"},"spec":{"containers":null},"status":{}})");
}

}  // namespace
}  // namespace homeostat::schema
