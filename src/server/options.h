// Options of requests: what stands in the query (and, for deletions, the body), read and checked as upstream does.
// Source: meta/v1 ListOptions, CreateOptions, UpdateOptions, PatchOptions, DeleteOptions and their validation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "homeostat/base/http.h"
#include "homeostat/base/result.h"
#include "homeostat/object/value.h"

namespace homeostat::server {

enum class FieldValidation : uint8_t { kIgnore, kWarn, kStrict };

struct ListQuery {
  std::string label_selector, field_selector;
  std::string resource_version, resource_version_match;
  std::string continue_token;
  int64_t limit = 0;
  std::optional<int64_t> timeout_seconds;
  bool watch = false;
  bool allow_watch_bookmarks = false;
  std::optional<bool> send_initial_events;
};

// For create, update and patch; which checks apply differs.
struct WriteQuery {
  bool dry_run = false;
  std::string field_manager;
  FieldValidation field_validation = FieldValidation::kWarn;
  std::optional<bool> force;
};
enum class WriteKind : uint8_t { kCreate, kUpdate, kPatch, kApply };

struct DeleteQuery {
  bool dry_run = false;
  std::optional<int64_t> grace_period_seconds;
  std::optional<std::string> propagation_policy;
  std::optional<bool> orphan_dependents;
  std::optional<std::string> precondition_uid, precondition_resource_version;
  bool ignore_store_read_error = false;
};

// 400 for what can't be parsed, 422 for what is not allowed.
Result<ListQuery> ParseListQuery(const http::Query& query);
Result<WriteQuery> ParseWriteQuery(const http::Query& query, WriteKind kind);
// Those of a body (conformed DeleteOptions), whatever is wrong with them, and what is.
DeleteQuery DeleteOptionsOf(const object::Value& body, std::optional<Status>& fault);
// From the query alone; a body's options (conformed DeleteOptions) replace them when there is a body.
Result<DeleteQuery> ParseDeleteQuery(const http::Query& query, const object::Value& body);

// A parameter that is there is true unless it says false or 0.
bool ParseBool(std::string_view text);
// A parameter that is a number; nullopt if it is not given at all.
Result<std::optional<int64_t>> OptionalInt(const http::Query& query, std::string_view name);

// Go's strconv.ParseUint; an empty text is 0. 400 in its words.
Result<uint64_t> ParseNumber(std::string_view text);
// A resourceVersion as a number: 400 if it is none.
Result<uint64_t> ParseResourceVersion(std::string_view text);
// The same of a list.
Result<uint64_t> ParseListVersion(std::string_view text);

}  // namespace homeostat::server
