// Kinds of the group batch.
#pragma once

#include "kinds/behaviour.h"
#include "kinds/checks.h"

namespace homeostat::kinds {

extern const Behaviour kJob, kCronJob;

// A job's spec, but for its selector; a template of jobs has none. old: absent when new.
void CheckJobSpecBasics(const Value& spec, const Value& old_spec, const FieldPath& path, FieldErrors& errors);
void CheckPodFailurePolicy(const Value& spec, const FieldPath& path, FieldErrors& errors);
void CheckSuccessPolicy(const Value& spec, const FieldPath& path, FieldErrors& errors);
void CheckJobStatusUpdate(const Value& job, const Value& old, FieldErrors& errors);
void WarnOfJobSpec(const Value& spec, const Value& old_spec, const FieldPath& path, std::vector<std::string>& warnings);

// "1,3-5,7": how many indexes of that many completions; the error says what is wrong, in upstream's words.
struct IndexCount {
  int64_t count = 0;
  std::string error;
};
IndexCount CountIndexes(std::string_view text, int64_t completions);
// Where two such texts overlap, or "".
std::string IndexOverlap(std::string_view completed, std::string_view failed, int64_t completions);

}  // namespace homeostat::kinds
