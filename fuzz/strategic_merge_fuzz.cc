// Strategic merge patch: a pod and a patch, one a line. The pod is not written to, and an empty patch changes nothing.
#include "homeostat/api/registry.h"
#include "homeostat/schema/conform.h"
#include "homeostat/schema/json_encoder.h"
#include "json_input.h"
#include "patch/strategic_merge_patch.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace homeostat;
  object::Arena arena;
  auto values = fuzz::JsonLines(arena, data, size);
  if (!values || values->size() != 2) return 0;
  const schema::Type& type = *api::FindTypeOfKind("", "v1", "Pod");
  schema::ConformReport report;
  auto typed = schema::Conform(arena, (*values)[0], type, report);
  if (!typed) return 0;
  object::Value original = schema::ToJsonForm(arena, type, *typed);
  std::string before = object::JsonText(original);
  auto nothing = patch::ApplyStrategicMergePatch(arena, type, original, object::Value::EmptyObject());
  fuzz::Require(nothing && object::Equal(*nothing, original), "an empty patch changes nothing");
  auto patched = patch::ApplyStrategicMergePatch(arena, type, original, (*values)[1]);
  fuzz::Require(object::JsonText(original) == before, "the original stays as it was");
  if (patched) {
    auto again = schema::Conform(arena, *patched, type, report);
    fuzz::Require(again || again.error().code() == 400, "the result is decoded or refused");
  }
  return 0;
}
