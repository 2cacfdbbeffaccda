// What an extension server says of itself, and a document of our own, one a line: what comes out is JSON again, and a document
// merged with itself stays as it is.
#include "homeostat/object/json.h"
#include "json_input.h"
#include "server/aggregation/openapi_merge.h"
#include "server/aggregation/remote_discovery.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace homeostat;
  object::Arena arena;
  auto values = fuzz::JsonLines(arena, data, size);
  if (!values || values->size() < 2) return 0;
  const object::Value& remote = (*values)[0];
  const object::Value& own = (*values)[1];
  fuzz::Require(object::ParseJson(arena, server::AggregatedResources(remote, "g", "v1")).has_value(), "resources are JSON");
  auto legacy = server::LegacyResources(remote);
  fuzz::Require(!legacy || object::ParseJson(arena, *legacy).has_value(), "resources of the old form are JSON");
  auto filtered = object::ParseJson(arena, server::FilterOpenApiV2(remote, "/apis/"));
  fuzz::Require(filtered.has_value(), "a filtered document is JSON");
  object::Value merged = server::MergeOpenApiV2(arena, own, *filtered);
  object::Value again = server::MergeOpenApiV2(arena, merged, merged);
  fuzz::Require(again.Get("paths").size() == merged.Get("paths").size(), "merging with itself adds no paths");
  return 0;
}
