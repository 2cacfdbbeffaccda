#include "store/internal/log_codec.h"

#include <gtest/gtest.h>

namespace homeostat::store::internal {
namespace {

LogRecord Sample(bool deleted, bool with_note) {
  LogRecord record;
  record.previous_revision = 300;
  record.deleted = deleted;
  record.info = {"system:admin", "kubectl", "patch", "status", "0b5a7c1e-1111-4222-8333-00000000000a", WallTime(Duration(1234567890123))};
  record.record = Record::Make("/registry/a/b", deleted ? "" : "the value", 200, 400, with_note ? EncodeNote(record) : "");
  return record;
}

void ExpectSame(const LogRecord& a, const LogRecord& b) {
  EXPECT_EQ(a.record.key(), b.record.key());
  EXPECT_EQ(a.record.text(), b.record.text());
  EXPECT_EQ(a.record.revision(), b.record.revision());
  EXPECT_EQ(a.record.create_revision(), b.record.create_revision());
  EXPECT_EQ(a.previous_revision, b.previous_revision);
  EXPECT_EQ(a.deleted, b.deleted);
  EXPECT_EQ(a.info.user, b.info.user);
  EXPECT_EQ(a.info.field_manager, b.info.field_manager);
  EXPECT_EQ(a.info.verb, b.info.verb);
  EXPECT_EQ(a.info.subresource, b.info.subresource);
  EXPECT_EQ(a.info.audit_id, b.info.audit_id);
  EXPECT_EQ(a.info.time, b.info.time);
}

TEST(LogCodecTest, RecordsComeBackAsTheyWere) {
  for (int format : {1, 2}) {
    for (bool deleted : {false, true}) {
      const LogRecord record = Sample(deleted, false);
      const EncodedRecord encoded = EncodeRecord(record, 77, format);
      auto decoded = DecodeRecord(400, encoded.value);
      ASSERT_TRUE(decoded);
      ExpectSame(*decoded, record);
      auto state = DecodeRecord(400, encoded.value, Parts::kState);
      ASSERT_TRUE(state);
      EXPECT_EQ(state->info.user, "");
      EXPECT_EQ(state->record.text(), record.record.text());
    }
  }
}

TEST(LogCodecTest, TheChainTellsWhatChanged) {
  for (int format : {1, 2}) {
    const EncodedRecord encoded = EncodeRecord(Sample(false, false), 77, format);
    auto holds = [](uint64_t revision, std::string_view value, uint64_t previous) {
      auto chain = ReadChain(revision, value, previous);
      return chain && chain->expected == chain->stored;
    };
    EXPECT_TRUE(holds(400, encoded.value, 77));
    EXPECT_EQ(ReadChain(400, encoded.value, 77)->stored, encoded.chain);
    EXPECT_FALSE(holds(400, encoded.value, 78)) << "another record before it";
    EXPECT_FALSE(holds(401, encoded.value, 77)) << "in another place";
    for (size_t i = 0; i < encoded.value.size(); ++i) {
      std::string changed = encoded.value;
      changed[i] = static_cast<char>(changed[i] ^ 0x40);
      EXPECT_FALSE(holds(400, changed, 77)) << "byte " << i;
    }
    EXPECT_FALSE(holds(400, std::string_view(encoded.value).substr(0, encoded.value.size() - 1), 77));
  }
}

TEST(LogCodecTest, NotesComeBackAsTheyWere) {
  for (bool deleted : {false, true}) {
    const LogRecord record = Sample(deleted, true);
    auto decoded = DecodeNote(record.record, Parts::kAll);
    ASSERT_TRUE(decoded);
    ExpectSame(*decoded, record);
    EXPECT_EQ(IsDeletion(record.record.note()), deleted);
    auto state = DecodeNote(record.record, Parts::kState);
    ASSERT_TRUE(state);
    EXPECT_EQ(state->info.audit_id, "");
    EXPECT_EQ(state->previous_revision, 300u);
  }
  EXPECT_FALSE(DecodeNote(Record::Make("/a", "value", 1, 2), Parts::kAll)) << "without a note";
}

}  // namespace
}  // namespace homeostat::store::internal
