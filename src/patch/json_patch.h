// JSON patch (RFC 6902), as Kubernetes understands it: indexes from the end may be negative, replacing a missing member
// adds it, a value that isn't said is null.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "homeostat/base/result.h"
#include "homeostat/object/value.h"
#include "patch/merge_patch.h"

namespace homeostat::patch {

inline constexpr size_t kMostJsonPatchOperations = 10000;
inline constexpr int64_t kMostJsonPatchCopiedBytes = 3 * 1024 * 1024;

// Why an operation does not apply, in the words of the library that upstream uses.
struct JsonPatchFault {
  std::string text;
  bool test_failed = false;  // a `test` that found another value, rather than something that is missing or wrong
};

struct JsonPatchOptions {
  PatchDecoding decoding = PatchDecoding::kLenient;
  // Limit of the JSON that `copy` operations may add, in bytes.
  int64_t most_copied_bytes = kMostJsonPatchCopiedBytes;
  // With kChecked: what strict decoding objects to (`json patch unknown field "[0].foo"`), for warnings or refusal.
  std::vector<std::string>* problems = nullptr;
  // Set when an operation does not apply: clients that patch are not told, admission policies say it.
  JsonPatchFault* fault = nullptr;
};

// The patched document. It is in JSON form (schema::ToJsonForm), and so is the result, which shares what did not
// change.
//
// 400 if the patch is no list of operations, 413 if it has more than 10,000, and 422 in upstream's general words if an
// operation does not apply (a test fails, a path is missing, too much is copied …).
//
// Source of the rules: evanphx/json-patch v4; apiserver endpoints/handlers.
Result<Value> ApplyJsonPatch(Arena& arena, const Value& document, const Value& patch,
                             const JsonPatchOptions& options = {});

}  // namespace homeostat::patch
