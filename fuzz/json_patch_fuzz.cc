// JSON and merge patches: a document and a patch, one a line. The document is not written to, and what comes out is
// JSON.
#include "json_input.h"
#include "patch/json_patch.h"
#include "patch/merge_patch.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace homeostat;
  object::Arena arena;
  auto values = fuzz::JsonLines(arena, data, size);
  if (!values || values->size() != 2) return 0;
  object::Value document = (*values)[0], patch = (*values)[1];
  std::string before = object::JsonText(document);
  for (auto decoding : {patch::PatchDecoding::kLenient, patch::PatchDecoding::kChecked}) {
    auto patched = patch::ApplyJsonPatch(arena, document, patch, {.decoding = decoding, .most_copied_bytes = 100'000});
    auto merged = patch::ApplyMergePatch(arena, document, patch, decoding);
    for (auto* result : {&patched, &merged}) {
      if (!*result) continue;
      auto again = object::ParseJson(arena, object::JsonText(**result));
      fuzz::Require(again && object::Equal(*again, **result), "the result is JSON");
    }
    if (merged && patch.IsObject()) {
      auto twice = patch::ApplyMergePatch(arena, *merged, patch, decoding);
      fuzz::Require(twice.has_value(), "a merge patch applies again");
    }
  }
  fuzz::Require(object::JsonText(document) == before, "the document stays as it was");
  return 0;
}
