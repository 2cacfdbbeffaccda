// Records of the log on disk: what can be read is written again as it was.
#include <cstdlib>

#include "store/internal/log_codec.h"

using namespace homeostat::store::internal;  // NOLINT: a program of one file

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  constexpr uint64_t kRevision = 77;
  (void)DecodeIndexEntry("/registry/a", text);
  (void)ReadChain(kRevision, text, 5);
  auto record = DecodeRecord(kRevision, text);
  if (!record) return 0;
  auto again = DecodeRecord(kRevision, EncodeRecord(*record, 5).value);
  bool same = again && again->record.key() == record->record.key() && again->record.text() == record->record.text() &&
              again->deleted == record->deleted && again->record.create_revision() == record->record.create_revision() &&
              again->previous_revision == record->previous_revision;
  if (!same) std::abort();
  return 0;
}
