#include <gtest/gtest.h>

#include "homeostat/api/registry.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"

namespace homeostat::schema {
namespace {

// What Go writes as [] is kept when asked for, and goes again without a trace.
TEST(WithoutEmpty, UndoesKeepEmpty) {
  struct Case {
    const char *kind, *json, *kept, *stored;
  } cases[] = {
      {"CSINode", R"({"spec":{"drivers":[]}})", R"({"spec":{"drivers":[]}})", "{}"},
      {"Role", R"({"rules":[]})", R"({"rules":[]})", "{}"},
      {"Role", R"({"rules":[{"verbs":[],"apiGroups":[]}]})", R"({"rules":[{"verbs":[]}]})", R"({"rules":[{}]})"},
      {"ConfigMap", R"({"data":{},"metadata":{"labels":{}}})", "{}", "{}"},
      {"Pod", R"({"spec":{"containers":[],"securityContext":{}}})", R"({"spec":{"containers":[],"securityContext":{}}})",
       R"({"spec":{"securityContext":{}}})"},
  };
  for (const Case& c : cases) {
    const Type* type = nullptr;
    for (const Kind* kind : api::AllKinds()) {
      if (kind->gvk.kind == c.kind && kind->gvk.version == "v1") type = kind->type;
    }
    ASSERT_NE(type, nullptr) << c.kind;
    object::Arena arena;
    ConformReport keeping, plain;
    keeping.keep_empty = true;
    auto tree = object::ParseJson(arena, c.json);
    auto kept = Conform(arena, *tree, *type, keeping), stored = Conform(arena, *tree, *type, plain);
    ASSERT_TRUE(kept && stored) << c.json;
    EXPECT_EQ(object::JsonText(*kept), c.kept);
    EXPECT_EQ(object::JsonText(*stored), c.stored);
    EXPECT_EQ(object::JsonText(WithoutEmpty(arena, *type, *kept)), c.stored);
  }
}

}  // namespace
}  // namespace homeostat::schema
