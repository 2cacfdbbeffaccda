#include "patch/field_manager.h"

#include <gtest/gtest.h>

#include "patch/internal/test_support.h"

namespace homeostat::patch {
namespace {

using test::Parse;
using test::Sorted;
using test::Typed;

constexpr WallTime At(int second) { return WallTime(std::chrono::seconds(1577836800 + second)); }

// One object and what is done to it, in one line each.
class Story {
 public:
  explicit Story(schema::GroupVersionKind kind, const schema::Type& type) : kind_(kind), type_(type) {}

  Status Apply(std::string_view manager, std::string_view config, bool force = false) {
    auto applied = Manager().Apply(arena_, live_, Parse(arena_, config), manager, force, At(++second_));
    if (!applied) return applied.error();
    changed_ = applied->changed;
    Store(changed_ ? Typed(arena_, type_, applied->object) : applied->object);
    return Status(200, "", "");
  }
  void Update(std::string_view manager, std::string_view body, bool reset = false) {
    Store(Manager().Update(arena_, live_, Typed(arena_, type_, Parse(arena_, body)), manager, At(++second_), reset));
  }
  // What the object has now, changed by the client in one place.
  void Edit(std::string_view manager, std::initializer_list<std::string_view> path, std::string_view json) {
    Value edited = object::WithPath(arena_, live_, path, json.empty() ? Value() : Parse(arena_, json));
    Store(Manager().Update(arena_, live_, Typed(arena_, type_, edited), manager, At(++second_)));
  }

  // manager|operation|subresource|second|fields, one a line.
  std::string Owners() const {
    std::string text;
    for (const Value& entry : ManagedFieldsOf(live_).items()) {
      std::string_view time = entry.Get("time").AsString();
      // A typed tree holds them as text.
      Value fields = entry.Get("fieldsV1");
      Arena scratch;
      if (fields.IsBytes()) fields = Parse(scratch, fields.AsString());
      text += std::string(entry.Get("manager").AsString()) + "|" + std::string(entry.Get("operation").AsString()) +
              "|" + std::string(entry.Get("subresource").AsString()) + "|" +
              (time.empty() ? "" : std::string(time.substr(17, 2))) + "|" + Sorted(fields) + "\n";
    }
    return text;
  }
  std::string Data(std::string_view field) const { return Sorted(live_.Get(field)); }
  bool changed() const { return changed_; }
  Value live() const { return live_; }
  Arena& arena() { return arena_; }

  std::string_view subresource;
  FieldFilter reset_fields;
  VersionConverter versions;

 private:
  FieldManager Manager() const {
    return FieldManager({.kind = kind_,
                         .type = &type_,
                         .subresource = subresource,
                         .reset_fields = reset_fields,
                         .versions = versions});
  }
  void Store(const Value& object) {
    live_ = object::WithPath(arena_, object, {"metadata", "uid"}, Value::StringRef("u")),
    live_ = Typed(arena_, type_, live_);
  }

  Arena arena_;
  schema::GroupVersionKind kind_;
  const schema::Type& type_;
  Value live_;
  int second_ = 0;
  bool changed_ = false;
};

Story ConfigMap() { return Story({"", "v1", "ConfigMap"}, test::TypeOf("v1 ConfigMap")); }
std::string Map(std::string_view data) {
  return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"tin"},"data":)" + std::string(data) + "}";
}

TEST(FieldManager, OwnershipGoesWithWhatIsSaid) {
  Story story = ConfigMap();
  EXPECT_EQ(
      story
          .Apply(
              "alice",
              R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"tin","labels":{"l":"m"}},"data":{"a":"1","b":"2"}})")
          .code(),
      200);
  EXPECT_EQ(story.Owners(),
            "alice|Apply||01|{\"f:data\":{\"f:a\":{},\"f:b\":{}},\"f:metadata\":{\"f:labels\":{\"f:l\":{}}}}\n");
  // Nothing new: the entry keeps its time, and the object is as it was.
  EXPECT_EQ(
      story
          .Apply(
              "alice",
              R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"tin","labels":{"l":"m"}},"data":{"a":"1","b":"2"}})")
          .code(),
      200);
  EXPECT_FALSE(story.changed());
  EXPECT_EQ(story.Owners(),
            "alice|Apply||01|{\"f:data\":{\"f:a\":{},\"f:b\":{}},\"f:metadata\":{\"f:labels\":{\"f:l\":{}}}}\n");
  // What is no longer said goes.
  story.Apply("alice", Map(R"({"a":"11"})"));
  EXPECT_EQ(story.Data("data"), R"({"a":"11"})");
  EXPECT_EQ(story.Owners(), "alice|Apply||03|{\"f:data\":{\"f:a\":{}}}\n");
  story.Apply("bob", Map(R"({"c":"3"})"));
  EXPECT_EQ(story.Owners(), "alice|Apply||03|{\"f:data\":{\"f:a\":{}}}\nbob|Apply||04|{\"f:data\":{\"f:c\":{}}}\n");

  Status conflict = story.Apply("bob", Map(R"({"a":"bob","c":"3"})"));
  EXPECT_EQ(conflict.code(), 409);
  EXPECT_EQ(conflict.reason(), "Conflict");
  EXPECT_EQ(conflict.message(), "Apply failed with 1 conflict: conflict with \"alice\": .data.a");
  EXPECT_EQ(conflict.details().causes,
            (std::vector<StatusCause>{{"FieldManagerConflict", "conflict with \"alice\"", ".data.a"}}));
  // Saying the same value shares it.
  story.Apply("bob", Map(R"({"a":"11","c":"3"})"));
  EXPECT_EQ(story.Owners(),
            "alice|Apply||03|{\"f:data\":{\"f:a\":{}}}\nbob|Apply||04|{\"f:data\":{\"f:a\":{},\"f:c\":{}}}\n");
  EXPECT_EQ(story.Apply("alice", Map(R"({"a":"alice"})")).message(),
            "Apply failed with 1 conflict: conflict with \"bob\": .data.a");
  story.Apply("alice", Map(R"({"a":"alice"})"), true);
  EXPECT_EQ(story.Owners(), "bob|Apply||04|{\"f:data\":{\"f:c\":{}}}\nalice|Apply||08|{\"f:data\":{\"f:a\":{}}}\n");
  // Given up by one of two, it stays.
  story.Apply("bob", Map(R"({"a":"alice"})"));
  story.Apply("alice", R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"tin"}})");
  EXPECT_EQ(story.Data("data"), R"({"a":"alice"})");
  EXPECT_EQ(story.Owners(), "bob|Apply||09|{\"f:data\":{\"f:a\":{}}}\n");
  // An update takes what it changes from anyone.
  story.Edit("carol", {"data"}, R"({"a":"carol","d":"4"})");
  EXPECT_EQ(story.Owners(), "carol|Update||11|{\"f:data\":{\"f:a\":{},\"f:d\":{}}}\n");
  EXPECT_EQ(story.Apply("carol", Map(R"({"a":"x"})")).message(),
            "Apply failed with 1 conflict: conflict with \"carol\" using v1: .data.a");
  story.Edit("dave", {"data", "e"}, R"("5")");
  Status both = story.Apply("bob", Map(R"({"a":"bob","e":"bob"})"));
  EXPECT_EQ(both.message(),
            "Apply failed with 2 conflicts: conflicts with \"carol\" using v1:\n- .data.a\nconflicts with \"dave\" "
            "using v1:\n- .data.e");
  EXPECT_EQ(both.details().causes.size(), 2u);
}

TEST(FieldManager, EntriesCanBeDroppedButNotForgotten) {
  Story story = ConfigMap();
  story.Update("maker", Map(R"({"a":"1"})"));
  EXPECT_EQ(story.Owners(), "maker|Update||01|{\"f:data\":{\".\":{},\"f:a\":{}}}\n");
  // A client that leaves them out, or spoils them, does not delete them.
  story.Edit("maker", {"metadata", "managedFields"}, "");
  EXPECT_EQ(story.Owners(), "maker|Update||01|{\"f:data\":{\".\":{},\"f:a\":{}}}\n");
  story.Edit("maker", {"metadata", "managedFields"},
             R"([{"manager":"m","operation":"Sing","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{}}])");
  EXPECT_EQ(story.Owners(), "maker|Update||01|{\"f:data\":{\".\":{},\"f:a\":{}}}\n");
  // One that plants others gets what it asked for, as far as it is true.
  story.Edit(
      "maker", {"metadata", "managedFields"},
      R"([{"manager":"planted","operation":"Apply","apiVersion":"v1","time":"2019-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{}}}}])");
  EXPECT_EQ(story.Owners(), "planted|Apply||00|{\"f:data\":{\"f:a\":{}}}\n");
  // A subresource is not the way to do that.
  story.subresource = "status";
  story.Edit("maker", {"metadata", "managedFields"}, "[{}]");
  EXPECT_EQ(story.Owners(), "planted|Apply||00|{\"f:data\":{\"f:a\":{}}}\n");
  story.subresource = "";
  story.Edit("maker", {"metadata", "managedFields"}, "[{}]");
  EXPECT_EQ(story.Owners(), "");
  // Nobody is recorded from then on, until someone applies; then all that is there belongs to one name.
  story.Edit("maker", {"data", "b"}, R"("2")");
  EXPECT_EQ(story.Owners(), "");
  story.Apply("erin", Map(R"({"g":"7"})"));
  EXPECT_EQ(story.Owners(),
            "erin|Apply||08|{\"f:data\":{\"f:g\":{}}}\nbefore-first-apply|Update||08|{\"f:data\":{\".\":{},\"f:a\":{},"
            "\"f:b\":{}}}\n");
  EXPECT_EQ(story.Apply("erin", Map(R"({"a":"x"})")).message(),
            "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.a");
  // An empty list drops them too, which a typed tree can't show.
  story.Update("maker", Map(R"({"a":"1"})"), true);
  EXPECT_EQ(story.Owners(), "");
}

TEST(FieldManager, KeepsTheTenLastUpdaters) {
  Story story = ConfigMap();
  story.Update("m00", Map(R"({"k00":"1"})"));
  for (int i = 1; i < 13; ++i) {
    std::string name = (i < 10 ? "m0" : "m") + std::to_string(i);
    story.Edit(
        name,
        {"data", i < 10 ? story.arena().Copy("k0" + std::to_string(i)) : story.arena().Copy("k" + std::to_string(i))},
        R"("1")");
  }
  EXPECT_EQ(ManagedFieldsOf(story.live()).size(), 10u);
  EXPECT_TRUE(
      story.Owners().starts_with("ancient-changes|Update||04|{\"f:data\":{\".\":{},\"f:k00\":{},\"f:k01\":{},\"f:k02\":"
                                 "{},\"f:k03\":{}}}\nm04|Update||05|"))
      << story.Owners();
}

TEST(FieldManager, ReplacesKubectlsClientSideApply) {
  constexpr const char* kConfig =
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"tin"},"data":{"a":"1","b":"2"}})";
  std::string annotated =
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"tin","annotations":{"kubectl.kubernetes.io/last-applied-configuration":)";
  object::AppendJsonString(annotated, kConfig);
  annotated += R"(}},"data":{"a":"1","b":"2"}})";
  Story story = ConfigMap();
  story.Update("kubectl-client-side-apply", annotated);
  // Others get conflicts; kubectl wins where nothing has changed since, and keeps the annotation true.
  EXPECT_EQ(story.Apply("argocd", Map(R"({"a":"9"})")).code(), 409);
  EXPECT_EQ(story.Apply("kubectl", Map(R"({"a":"3","b":"2"})")).code(), 200);
  EXPECT_EQ(story.Data("data"), R"({"a":"3","b":"2"})");
  EXPECT_EQ(
      story.live().Path({"metadata", "annotations"}).Get("kubectl.kubernetes.io/last-applied-configuration").AsString(),
      "{\"apiVersion\":\"v1\",\"data\":{\"a\":\"3\",\"b\":\"2\"},\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"tin\"}"
      "}\n");
  story.Edit("someone", {"data", "b"}, R"("edited")");
  EXPECT_EQ(story.Apply("kubectl", Map(R"({"a":"4","b":"5"})")).message(),
            "Apply failed with 1 conflict: conflict with \"someone\" using v1: .data.b");
}

TEST(FieldManager, RefusesWhatIsNoConfigurationOfTheKind) {
  struct Case {
    const char* config;
    int code;
    const char *reason, *message;
  };
  const Case kCases[] = {
      {R"({"data":{"a":"b"}})", 400, "BadRequest", "invalid object type: /, Kind="},
      {R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"e"}})", 400, "BadRequest",
       "invalid object type: /v1, Kind=Secret"},
      {R"({"apiVersion":"v2","kind":"ConfigMap"})", 400, "BadRequest", "invalid object type: /v2, Kind=ConfigMap"},
      {R"({"apiVersion":"a/b/c","kind":"ConfigMap"})", 400, "BadRequest", "invalid object type: /, Kind="},
      {R"({"apiVersion":"a/","kind":"ConfigMap"})", 400, "BadRequest", "invalid object type: a/, Kind=ConfigMap"},
      {R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"e","managedFields":[{"manager":"x"}]}})", 400,
       "BadRequest", "metadata.managedFields must be nil"},
      {R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"e","managedFields":[]}})", 400, "BadRequest",
       "metadata.managedFields must be nil"},
      {R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"e"},"dta":{"a":"b"}})", 500, "",
       "failed to create typed patch object (/e; /v1, Kind=ConfigMap): .dta: field not declared in schema"},
      {R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"e","namespace":"n"},"data":[1]})", 500, "",
       "failed to create typed patch object (n/e; /v1, Kind=ConfigMap): .data: expected map, got &{[1]}"},
  };
  for (const Case& one : kCases) {
    Story story = ConfigMap();
    Status status = story.Apply("m", one.config);
    EXPECT_EQ(status.code(), one.code) << one.config;
    EXPECT_EQ(status.reason(), one.reason) << one.config;
    EXPECT_EQ(status.message(), one.message);
  }
}

TEST(FieldManager, RecordsWhatWasSaidAsTheTypesDivideIt) {
  struct Case {
    const char *kind, *content, *fields;
  };
  const Case kCases[] = {
      {"v1 Service",
       R"("spec":{"selector":{"a":"b"},"ports":[{"name":"x","port":80},{"name":"y","port":81,"protocol":"TCP"}]})",
       R"({"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{}},"k:{\"port\":81,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{},"f:protocol":{}}},"f:selector":{}}})"},
      {"v1 Pod",
       R"("spec":{"containers":[{"name":"c","image":"x","volumeMounts":[{"name":"v","mountPath":"/v"}]}],"volumes":[{"name":"v","emptyDir":{}}],"hostAliases":[{"ip":"192.0.2.1","hostnames":["h"]}]})",
       R"({"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{},"f:volumeMounts":{"k:{\"mountPath\":\"/v\"}":{".":{},"f:mountPath":{},"f:name":{}}}}},"f:hostAliases":{"k:{\"ip\":\"192.0.2.1\"}":{".":{},"f:hostnames":{},"f:ip":{}}},"f:volumes":{"k:{\"name\":\"v\"}":{".":{},"f:emptyDir":{},"f:name":{}}}}})"},
      {"v1 Secret", R"("data":{"k":"dg=="},"stringData":{"w":"plain"})",
       R"({"f:data":{"f:k":{}},"f:stringData":{"f:w":{}}})"},
      {"rbac.authorization.k8s.io/v1 Role", R"("rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}])",
       R"({"f:rules":{}})"},
      {"coordination.k8s.io/v1 Lease", R"("spec":{"holderIdentity":"a","leaseTransitions":1})",
       R"({"f:spec":{"f:holderIdentity":{},"f:leaseTransitions":{}}})"},
      {"autoscaling/v2 HorizontalPodAutoscaler",
       R"("spec":{"maxReplicas":3,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"}})",
       R"({"f:spec":{"f:maxReplicas":{},"f:scaleTargetRef":{"f:apiVersion":{},"f:kind":{},"f:name":{}}}})"},
  };
  for (const Case& one : kCases) {
    std::string_view text = one.kind;
    std::string_view api_version = text.substr(0, text.find(' ')), kind = text.substr(text.find(' ') + 1);
    size_t slash = api_version.find('/');
    schema::GroupVersionKind gvk =
        slash == api_version.npos
            ? schema::GroupVersionKind{"", api_version, kind}
            : schema::GroupVersionKind{api_version.substr(0, slash), api_version.substr(slash + 1), kind};
    Story story(gvk, test::TypeOf(one.kind));
    Status status = story.Apply("a", R"({"apiVersion":")" + std::string(api_version) + R"(","kind":")" +
                                         std::string(kind) + R"(","metadata":{"name":"n"},)" + one.content + "}");
    EXPECT_EQ(status.message(), "") << one.kind;
    EXPECT_EQ(story.Owners(), "a|Apply||01|" + std::string(one.fields) + "\n");
  }
}

TEST(FieldManager, RefusesToApplyOverEntriesThatCannotBeRead) {
  Arena arena;
  const schema::Type& type = test::TypeOf("v1 ConfigMap");
  Value live = Typed(
      arena, type,
      Parse(
          arena,
          R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"e","uid":"u","managedFields":[{"manager":"m","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV2"}]}})"));
  FieldManager manager(
      {.kind = {"", "v1", "ConfigMap"}, .type = &type, .subresource = {}, .reset_fields = {}, .versions = {}});
  auto applied = manager.Apply(arena, live, Parse(arena, Map("{}")), "m", false, At(0));
  ASSERT_FALSE(applied.has_value());
  EXPECT_EQ(applied.error().message(),
            "failed to decode managed fields: invalid fieldsType \"FieldsV2\" in managed fields entry 0");
}

TEST(FieldManager, SubresourcesTouchTheirOwnFieldsOnly) {
  Story story({"apps", "v1", "Deployment"}, test::TypeOf("apps/v1 Deployment"));
  constexpr std::string_view kRules[] = {"status", "status:spec,metadata.labels"};
  auto on = [&](std::string_view subresource) {
    story.subresource = subresource;
    story.reset_fields = ResetFields(story.arena(), kRules, subresource);
  };
  on("");
  story.Update(
      "maker",
      R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","labels":{"a":"b"}},"spec":{"replicas":1},"status":{"replicas":7}})");
  EXPECT_EQ(story.Owners(),
            "maker|Update||01|{\"f:metadata\":{\"f:labels\":{\".\":{},\"f:a\":{}}},\"f:spec\":{\"f:replicas\":{}}}\n");
  on("status");
  story.Edit("controller", {"status", "readyReplicas"}, "1");
  EXPECT_EQ(story.Owners(),
            "maker|Update||01|{\"f:metadata\":{\"f:labels\":{\".\":{},\"f:a\":{}}},\"f:spec\":{\"f:replicas\":{}}}\n"
            "controller|Update|status|02|{\"f:status\":{\"f:readyReplicas\":{}}}\n");
  Status conflict = story.Apply(
      "other",
      R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":5},"status":{"readyReplicas":9}})");
  EXPECT_EQ(conflict.message(),
            "Apply failed with 1 conflict: conflict with \"controller\" with subresource \"status\" using apps/v1: "
            ".status.readyReplicas");
}

// Version v2 of the widget calls spec.size spec.amount.
class TwoVersions : public ::testing::Test {
 protected:
  static const schema::Type& V2Type() {
    static test::TypeMaker make;
    static const schema::Type* const type = [] {
      const schema::Type *integer = make.Scalar(schema::Form::kInt64), *string = make.Scalar(schema::Form::kString);
      return make.Struct(
          {{"apiVersion", string},
           {"kind", string},
           {"metadata", api::FindType("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")},
           {"spec", make.Struct({{"amount", integer}, {"flag", make.Scalar(schema::Form::kBool)}, {"name", string}})}});
    }();
    return *type;
  }
  static Value Rename(Arena& arena, const Value& object, std::string_view from, std::string_view to,
                      std::string_view api_version) {
    object::ObjectBuilder spec(arena, object.Get("spec"));
    Value moved = spec.Get(from);
    spec.Erase(from).Set(to, moved);
    Value renamed = object.Get("spec").IsObject() ? object::WithPath(arena, object, {"spec"}, spec.Build()) : object;
    return object::WithPath(arena, renamed, {"apiVersion"}, Value::String(arena, api_version));
  }
  static VersionConverter Converter() {
    VersionConverter converter;
    converter.find_type = [](std::string_view version) -> const schema::Type* {
      return version == "x.io/v1" ? &test::WidgetType() : version == "x.io/v2" ? &V2Type() : nullptr;
    };
    converter.convert = [](Arena& arena, const Value& object, std::string_view version) -> Result<Value> {
      if (object.Get("apiVersion").AsString() == version) return Fail(InternalError("converted for nothing"));
      return version == "x.io/v2" ? Rename(arena, object, "size", "amount", version)
                                  : Rename(arena, object, "amount", "size", version);
    };
    return converter;
  }
  FieldManager Manager(std::string_view version) {
    return FieldManager({.kind = {"x.io", version, "Widget"},
                         .type = version == "v2" ? &V2Type() : &test::WidgetType(),
                         .subresource = {},
                         .reset_fields = {},
                         .versions = Converter()});
  }
  Result<Value> Apply(const Value& live, std::string_view config, std::string_view manager) {
    Value parsed = Parse(arena_, config);
    bool second = parsed.Get("apiVersion").AsString() == "x.io/v2";
    Value there = second ? Rename(arena_, live, "size", "amount", "x.io/v2") : live;
    TRY_ASSIGN(auto applied, Manager(second ? "v2" : "v1").Apply(arena_, there, parsed, manager, false, At(1)));
    Value back = second ? Rename(arena_, applied.object, "amount", "size", "x.io/v1") : applied.object;
    return Typed(arena_, test::WidgetType(),
                 object::WithPath(arena_, back, {"metadata", "uid"}, Value::StringRef("u")));
  }
  Arena arena_;
};

TEST_F(TwoVersions, EntriesAreLookedAtInTheirOwn) {
  auto first = Apply(Parse(arena_, R"({"apiVersion":"x.io/v1","kind":"Widget"})"),
                     R"({"apiVersion":"x.io/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"size":1,"name":"n"}})",
                     "alice");
  ASSERT_TRUE(first.has_value()) << first.error().message();
  // The same thing by its other name is a conflict, told in the owner's words.
  auto conflict =
      Apply(*first, R"({"apiVersion":"x.io/v2","kind":"Widget","metadata":{"name":"w"},"spec":{"amount":2}})", "bob");
  ASSERT_FALSE(conflict.has_value());
  EXPECT_EQ(conflict.error().message(), "Apply failed with 1 conflict: conflict with \"alice\": .spec.size");
  // An applier that goes on in another version is still itself: what it leaves out goes.
  auto second = Apply(
      *first, R"({"apiVersion":"x.io/v2","kind":"Widget","metadata":{"name":"w"},"spec":{"amount":3,"flag":true}})",
      "alice");
  ASSERT_TRUE(second.has_value()) << second.error().message();
  EXPECT_EQ(Sorted(second->Get("spec")), R"({"flag":true,"size":3})");
  Value entries = ManagedFieldsOf(*second);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries.At(0).Get("apiVersion").AsString(), "x.io/v2");
  EXPECT_EQ(Sorted(entries.At(0).Get("fieldsV1")), R"({"f:spec":{"f:amount":{},"f:flag":{}}})");
  // Shared over versions, it stays when one gives it up.
  auto shared =
      Apply(*second, R"({"apiVersion":"x.io/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"size":3}})", "carol");
  ASSERT_TRUE(shared.has_value()) << shared.error().message();
  auto given_up = Apply(
      *shared, R"({"apiVersion":"x.io/v2","kind":"Widget","metadata":{"name":"w"},"spec":{"flag":true}})", "alice");
  ASSERT_TRUE(given_up.has_value()) << given_up.error().message();
  EXPECT_EQ(Sorted(given_up->Get("spec")), R"({"flag":true,"size":3})");
}

TEST_F(TwoVersions, EntriesOfVersionsThatAreGoneAreDropped) {
  Value live =
      Typed(arena_, test::WidgetType(),
            Parse(arena_, R"({"apiVersion":"x.io/v1","kind":"Widget","metadata":{"name":"w","uid":"u","managedFields":[
    {"manager":"old","operation":"Apply","apiVersion":"x.io/v0","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:size":{}}}}]},"spec":{"size":1}})"));
  auto applied =
      Apply(live, R"({"apiVersion":"x.io/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"size":2}})", "new");
  ASSERT_TRUE(applied.has_value()) << applied.error().message();
  EXPECT_EQ(ManagedFieldsOf(*applied).size(), 1u);
}

TEST(FieldManager, LeavesTheObjectsItIsGivenAlone) {
  Arena arena;
  const schema::Type& type = test::TypeOf("v1 ConfigMap");
  FieldManager manager(
      {.kind = {"", "v1", "ConfigMap"}, .type = &type, .subresource = {}, .reset_fields = {}, .versions = {}});
  Value live = Typed(
      arena, type,
      Parse(arena, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"e","uid":"u"},"data":{"a":"1"}})"));
  std::string before = test::Json(type, live);
  ASSERT_TRUE(manager.Apply(arena, live, Parse(arena, Map(R"({"b":"2"})")), "m", false, At(0)).has_value());
  manager.Update(arena, live, Typed(arena, type, Parse(arena, Map(R"({"c":"2"})"))), "m", At(0));
  EXPECT_EQ(test::Json(type, live), before);
}

}  // namespace
}  // namespace homeostat::patch
