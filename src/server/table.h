// Table: objects as rows of the kind's columns, for people who look through kubectl get.
// Source: meta/v1 Table; which columns exist is data of the kind, cells are paths or computed by its behaviour.
#pragma once

#include "server/context.h"

namespace homeostat::server {

enum class IncludeObject : uint8_t { kMetadata, kObject, kNone };
// From the query's includeObject; 400 for anything else.
Result<IncludeObject> ParseIncludeObject(const http::Query& query);

struct TableOptions {
  std::string version;                 // of meta.k8s.io
  IncludeObject include = IncludeObject::kMetadata;
  bool headers = true;                 // column definitions; in a watch only the first table has them
};

// Appends the JSON of the table of these objects (trees in storage version).
Result<void> AppendTable(RequestContext& context, std::span<const object::Value> objects, std::string_view resource_version,
                         std::string_view continue_token, std::optional<int64_t> remaining, const TableOptions& options,
                         std::string& out);

}  // namespace homeostat::server
