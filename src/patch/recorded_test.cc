// Strategic merge patch and server-side apply against what Kubernetes' own libraries answered (see testdata/README.md).
#include <gtest/gtest.h>

#include <regex>

#include <algorithm>

#include "patch/field_manager.h"
#include "patch/internal/test_support.h"
#include "patch/json_patch.h"
#include "patch/merge_patch.h"
#include "patch/scale_fields.h"
#include "patch/strategic_merge_patch.h"
#include "patch/typed_merge.h"

namespace homeostat::patch {
namespace {

using test::Parse;
using test::Sorted;

TEST(Recorded, StrategicMergePatch) {
  size_t count = 0;
  test::ForEachRecorded("strategic.jsonl.gz", [&](std::string_view line) {
    if (::testing::Test::HasFatalFailure()) return;
    ++count;
    Arena arena;
    Value recorded = Parse(arena, line);
    const schema::Type& type = test::TypeOf(recorded.Get("kind").AsString());
    Value original = schema::ToJsonForm(arena, type, test::Typed(arena, type, recorded.Get("original")));
    ASSERT_EQ(Sorted(original), Sorted(recorded.Get("original"))) << "JSON form";
    std::string before = Sorted(original);
    auto result = ApplyStrategicMergePatch(arena, type, original, recorded.Get("patch"));
    if (recorded.Get("error").IsAbsent()) {
      ASSERT_TRUE(result.has_value()) << result.error().message() << "\n" << line;
      ASSERT_EQ(Sorted(*result), Sorted(recorded.Get("want"))) << line;
    } else {
      ASSERT_FALSE(result.has_value()) << line;
      ASSERT_EQ(result.error().message(), recorded.Get("error").AsString()) << line;
    }
    ASSERT_EQ(Sorted(original), before) << "the original was written to";
  });
  EXPECT_GE(count, 500u);
}

// What a new object has is found in its typed tree as in its JSON form.
TEST(Recorded, FieldsOfNewObjects) {
  size_t certain = 0;
  test::ForEachRecorded("strategic.jsonl.gz", [&](std::string_view line) {
    Arena arena;
    Value recorded = Parse(arena, line);
    const schema::Type& type = test::TypeOf(recorded.Get("kind").AsString());
    if (type.structural) return;
    Value typed = test::Typed(arena, type, recorded.Get("original"));
    Comparison made = CompareTyped(arena, type, Value::EmptyObject(), schema::ToJsonForm(arena, type, typed));
    std::optional<FieldSet> fields = FieldsOfNew(arena, type, typed);
    if (!fields) return;
    ++certain;
    EXPECT_FALSE(made.doubtful) << line;
    EXPECT_EQ(fields->String(), made.added.String()) << line;
  });
  EXPECT_GE(certain, 300u);
}

// The entries whose fields a subresource's write leaves alone: what each kind's tables say upstream.
FieldFilter ResetFieldsFor(Arena& arena, std::string_view kind, std::string_view sub) {
  std::vector<std::string_view> rules;
  if (kind != "v1 ConfigMap" && !kind.ends_with("ClusterRole")) {
    rules = {"status"};
    if (kind.ends_with("Deployment"))
      rules.push_back("status:spec,metadata.labels");
    else if (kind.ends_with("Pod"))
      rules.push_back("status:spec,metadata.deletionTimestamp,metadata.ownerReferences");
    else if (kind.ends_with("Widget"))
      rules.push_back("status:metadata,spec");
    else
      rules.push_back("status:spec");
    rules.push_back("resize:only spec.containers.*.resources,spec.containers.*.resizePolicy");
  }
  return ResetFields(arena, rules, sub);
}

schema::GroupVersionKind KindOf(std::string_view text) {
  size_t space = text.find(' '), slash = text.find('/');
  if (slash > space) return {"", text.substr(0, space), text.substr(space + 1)};
  return {text.substr(0, slash), text.substr(slash + 1, space - slash - 1), text.substr(space + 1)};
}

// Conflicts with several owners come in any order upstream.
std::vector<std::string> SortedCauses(const Status& status) {
  std::vector<std::string> causes;
  for (const StatusCause& cause : status.details().causes)
    causes.push_back(cause.reason + "|" + cause.message + "|" + cause.field);
  std::sort(causes.begin(), causes.end());
  return causes;
}

// One object and its writes.
class Replay {
 public:
  Replay(Arena& arena, std::string_view kind) : arena_(arena), kind_(kind), type_(test::TypeOf(kind)) {}

  void Run(const Value& step, int second) {
    std::string_view sub = step.Get("sub").AsString(), manager = step.Get("manager").AsString();
    FieldManager fields({.kind = KindOf(kind_),
                         .type = &type_,
                         .subresource = sub,
                         .reset_fields = ResetFieldsFor(arena_, kind_, sub),
                         .versions = {}});
    WallTime now{std::chrono::seconds(1577836800 + second)};
    if (step.Get("op").AsString() == "update") {
      Value sent = test::Typed(arena_, type_, step.Get("body"));
      return Check(step, fields.Update(arena_, live_, sent, manager, now));
    }
    auto applied = fields.Apply(arena_, live_, step.Get("body"), manager, step.Get("force").AsBool(), now);
    if (!applied) return CheckRefused(step, applied.error());
    ASSERT_TRUE(step.Get("error").IsAbsent())
        << "applied, though it should be refused: " << step.Get("error").AsString();
    Check(step, applied->changed ? test::Typed(arena_, type_, applied->object) : applied->object);
  }

 private:
  void Check(const Value& step, const Value& stored) {
    Value want = test::Typed(arena_, type_, step.Get("want"));
    ASSERT_EQ(test::Json(type_, stored), test::Json(type_, want));
    live_ = test::Typed(arena_, type_, object::WithPath(arena_, stored, {"metadata", "uid"}, Value::StringRef("u")));
  }

  // The library was recorded with numbers that are all float64 (1.234567e+06); the server decodes integers as such.
  static std::string WithIntegers(std::string_view recorded) {
    static const std::regex kWhole(R"(\b\d(\.\d+)?e\+\d\d\b)");
    std::string text(recorded), shown;
    auto at = text.cbegin();
    for (std::sregex_iterator match(text.begin(), text.end(), kWhole), end; match != end; ++match) {
      shown.append(at, text.cbegin() + match->position());
      shown += std::to_string(static_cast<int64_t>(std::stod(match->str())));
      at = text.cbegin() + match->position() + match->length();
    }
    return shown.append(at, text.cend());
  }

  void CheckRefused(const Value& step, const Status& status) {
    ASSERT_EQ(status.message(), WithIntegers(step.Get("error").AsString()));
    ASSERT_EQ(status.code(), step.Get("code").AsInt());
    std::vector<std::string> causes;
    for (const Value& cause : step.Get("causes").items()) causes.emplace_back(cause.AsString());
    ASSERT_EQ(SortedCauses(status), causes);
  }

  Arena& arena_;
  std::string_view kind_;
  const schema::Type& type_;
  Value live_;
};

TEST(Recorded, ServerSideApply) {
  size_t count = 0, number = 0;
  test::ForEachRecorded("apply.jsonl.gz", [&](std::string_view line) {
    if (::testing::Test::HasFatalFailure()) return;
    Arena arena;
    Value recorded = Parse(arena, line);
    Replay replay(arena, recorded.Get("kind").AsString());
    ++number;
    int second = 0;
    for (const Value& step : recorded.Get("steps").items()) {
      ++count;
      replay.Run(step, ++second);
      ASSERT_FALSE(::testing::Test::HasFatalFailure()) << "line " << number << ", step " << second << " of "
                                                       << recorded.Get("kind").AsString() << ": " << Sorted(step);
    }
  });
  EXPECT_GE(count, 1000u);
}

TEST(Recorded, ScaleSubresource) {
  size_t count = 0;
  test::ForEachRecorded("scale.jsonl.gz", [&](std::string_view line) {
    ++count;
    Arena arena;
    Value recorded = Parse(arena, line);
    std::vector<ReplicasPath> paths = {{"apps/v1", FieldPathOf({"spec", "replicas"})}, {"x/v1", {}}};
    auto scale = ScaleManagedFields(arena, recorded.Get("parent"), paths, nullptr, FieldsForm::kTree);
    ASSERT_TRUE(scale.has_value()) << scale.error().message();
    EXPECT_EQ(Sorted(*scale), Sorted(recorded.Get("forScale"))) << line;
    auto parent = ParentManagedFields(arena, recorded.Get("parent"), recorded.Get("scale"), paths, "apps/v1", nullptr, FieldsForm::kTree);
    ASSERT_TRUE(parent.has_value()) << parent.error().message();
    EXPECT_EQ(Sorted(*parent), Sorted(recorded.Get("want"))) << line;
  });
  EXPECT_GE(count, 100u);
}

template <class Apply>
void CheckPlainPatches(const char* file, Apply apply) {
  size_t count = 0;
  test::ForEachRecorded(file, [&](std::string_view line) {
    ++count;
    Arena arena;
    Value recorded = Parse(arena, line);
    std::string before = Sorted(recorded.Get("doc"));
    Result<Value> result = apply(arena, recorded.Get("doc"), recorded.Get("patch"));
    if (recorded.Get("error").IsAbsent()) {
      ASSERT_TRUE(result.has_value()) << line;
      ASSERT_EQ(Sorted(*result), Sorted(recorded.Get("want"))) << line;
    } else {
      ASSERT_FALSE(result.has_value()) << Sorted(*result) << "\n" << line;
    }
    ASSERT_EQ(Sorted(recorded.Get("doc")), before) << "the document was written to";
  });
  EXPECT_GE(count, 100u);
}

TEST(Recorded, JsonPatch) {
  CheckPlainPatches("json_patch.jsonl.gz", [](Arena& arena, const Value& document, const Value& patch) {
    return ApplyJsonPatch(arena, document, patch);
  });
}

TEST(Recorded, MergePatch) {
  CheckPlainPatches("merge_patch.jsonl.gz", [](Arena& arena, const Value& document, const Value& patch) {
    return ApplyMergePatch(arena, document, patch, PatchDecoding::kLenient);
  });
}

}  // namespace
}  // namespace homeostat::patch
