// Any bytes as the protobuf of any kind (the first two choose it): they are refused or become a tree that, written and
// read again, is the same.
#include <cstdint>
#include <cstdlib>

#include "homeostat/api/registry.h"
#include "homeostat/schema/conform.h"
#include "homeostat/schema/protobuf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace homeostat;
  if (size < 2) return 0;
  auto kinds = api::AllKinds();
  const schema::Type& type = *kinds[(data[0] << 8 | data[1]) % kinds.size()]->type;
  object::Arena arena;
  auto value = schema::DecodeProtobuf(arena, {reinterpret_cast<const char*>(data) + 2, size - 2}, type);
  if (!value) return 0;
  std::string bytes = schema::EncodeProtobuf(type, *value);
  auto again = schema::DecodeProtobuf(arena, bytes, type);
  if (!again || !object::Equal(*value, *again)) std::abort();
  schema::ConformReport report;
  auto conformed = schema::Conform(arena, *value, type, report);
  if (!conformed || !object::Equal(*value, *conformed)) std::abort();
  return 0;
}
