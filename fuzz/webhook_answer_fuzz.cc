// Answers of webhooks: whatever one sends is refused or read, and a patch that is read can be tried on an object.
#include <string_view>

#include "admission/user/webhook_review.h"
#include "homeostat/object/json.h"
#include "patch/json_patch.h"
#include "server/custom/converted.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace homeostat;  // NOLINT: a program of one file
  std::string_view body(reinterpret_cast<const char*>(data), size);
  object::Arena arena;
  for (std::string_view version : {"v1", "v1beta1"}) {
    server::ReadConversionReview(arena, body, version, "1");
    for (bool mutates : {false, true}) {
      auto answer = admission::ReadAdmissionReview(arena, body, version, "1", mutates);
      if (!answer) continue;
      if (!answer->allowed) admission::DeniedBy("fuzz", answer->result);
      auto object = object::ParseJson(arena, R"({"metadata":{"name":"a","labels":{"x":"y"}},"spec":{"items":[1,2,3]}})");
      if (answer->patch) patch::ApplyJsonPatch(arena, *object, answer->patch);
    }
  }
  return 0;
}
