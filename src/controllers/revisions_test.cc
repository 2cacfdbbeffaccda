#include "controllers/revisions.h"

#include <gtest/gtest.h>

#include "controllers/json_object_test.h"
#include "controllers/scaled_value.h"

namespace homeostat::controllers {
namespace {

using api::apps::v1::ControllerRevision;
using api::apps::v1::StatefulSet;

object::DocumentPtr MakeSet(const std::string& image) {
  return FromJson<StatefulSet>(R"({"metadata":{"name":"web","namespace":"default","uid":"u","annotations":{"kubernetes.io/change-cause":"because"}},)"
                               R"("spec":{"template":{"metadata":{"labels":{"app":"web"}},"spec":{"terminationGracePeriodSeconds":30,"containers":[{"name":"c","image":")" +
                               image + R"("}]}}}})");
}

TEST(RevisionsTest, APatchIsWrittenAsGoWritesIt) {
  auto set = MakeSet("i");
  EXPECT_EQ(RevisionPatch(StatefulSet(set->root()).spec().template_()),
            R"({"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"image":"i","name":"c","resources":{}}],)"
            R"("terminationGracePeriodSeconds":30}}}})");
}

// FNV-1 of known texts, in the safe alphabet.
TEST(RevisionsTest, HashesAreOfTheSafeAlphabet) {
  std::string hash = RevisionHash("{}", 0);
  EXPECT_FALSE(hash.empty());
  EXPECT_EQ(hash.find_first_not_of("bcdfghjklmnpqrstvwxz2456789"), std::string::npos);
  EXPECT_NE(hash, RevisionHash("{}", 1));
}

TEST(RevisionsTest, ARevisionHoldsItsTemplate) {
  auto set = MakeSet("i"), other = MakeSet("j");
  StatefulSet view(set->root());
  auto document = NewRevision(view.Raw(), StatefulSet::SchemaKind(), view.spec().template_(), "h", "abc", 7);
  ControllerRevision revision(document->root());
  EXPECT_EQ(revision.metadata().name(), "web-abc");
  EXPECT_EQ(revision.metadata().labels().Get("h"), "abc");
  EXPECT_EQ(revision.metadata().labels().Get("app"), "web");
  EXPECT_EQ(revision.metadata().annotations().Get("kubernetes.io/change-cause"), "because");
  EXPECT_EQ(revision.revision(), 7);
  EXPECT_TRUE(HoldsTemplate(revision, view.spec().template_()));
  EXPECT_FALSE(HoldsTemplate(revision, StatefulSet(other->root()).spec().template_()));
  auto empty = FromJson<ControllerRevision>(R"({"metadata":{"name":"r"},"data":{"spec":{}},"revision":1})");
  EXPECT_FALSE(TemplateOf(ControllerRevision(empty->root())).has_value());
}

TEST(ScaledValueTest, NumbersAndShares) {
  using object::Value;
  EXPECT_EQ(ScaledValue(Value::Int(3), 10, true), 3);
  EXPECT_EQ(ScaledValue(Value::StringRef("25%"), 10, true), 3);
  EXPECT_EQ(ScaledValue(Value::StringRef("25%"), 10, false), 2);
  EXPECT_EQ(ScaledValue(Value::StringRef("x%"), 10, false), 0);
  EXPECT_EQ(ScaledValue(Value::StringRef("25"), 10, false), 0);
  EXPECT_EQ(ScaledValue(Value(), 10, false), 0);
}

}  // namespace
}  // namespace homeostat::controllers
