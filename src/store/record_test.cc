#include "store/record.h"

#include <gtest/gtest.h>

#include <string>

namespace homeostat::store {
namespace {

TEST(RecordTest, HoldsWhatItWasMadeOf) {
  const struct {
    std::string key, value, note;
  } cases[] = {
      {"/registry/a", "value", ""}, {"/registry/a", "", "note"}, {"/registry/a", std::string(100'000, 'x'), "note"}, {"", "", ""}};
  for (const auto& test : cases) {
    const Record record = Record::Make(test.key, test.value, 5, 7, test.note);
    EXPECT_EQ(record.key(), test.key);
    EXPECT_EQ(record.text(), test.value);
    EXPECT_EQ(record.note(), test.note);
    EXPECT_EQ(record.create_revision(), 5u);
    EXPECT_EQ(record.revision(), 7u);
    EXPECT_GE(record.memory(), test.key.size() + test.value.size() + test.note.size());
    EXPECT_LE(record.memory(), test.key.size() + test.value.size() + test.note.size() + 64);
  }
}

TEST(RecordTest, NoneHasNothing) {
  const Record none;
  EXPECT_EQ(none.key(), "");
  EXPECT_EQ(none.value().view(), "");
  EXPECT_EQ(none.note(), "");
  EXPECT_EQ(none.revision(), 0u);
  EXPECT_EQ(none.memory(), 0u);
  EXPECT_EQ(none.EndedAt(3).revision(), 3u);
  EXPECT_EQ(none.EndedAt(3).key(), "");
}

TEST(RecordTest, AnEndSharesWhatItEnds) {
  Record record = Record::Make("/registry/a", "value", 5, 7);
  const Record ended = record.EndedAt(9), again = ended.EndedAt(11);
  for (const Record& end : {ended, again}) {
    EXPECT_EQ(end.key().data(), record.key().data());
    EXPECT_EQ(end.text().data(), record.text().data());
    EXPECT_EQ(end.create_revision(), 5u);
  }
  EXPECT_EQ(ended.revision(), 9u);
  EXPECT_EQ(again.revision(), 11u);
  EXPECT_EQ(record.revision(), 7u);
  record = Record();
  EXPECT_EQ(ended.text(), "value");
}

TEST(RecordTest, AValueKeepsItsRecord) {
  const Bytes value = Record::Make("/registry/a", "value", 5, 7).value();
  const Bytes ended = Record::Make("/registry/b", "other", 5, 7).EndedAt(8).value();
  EXPECT_EQ(value.view(), "value");
  EXPECT_EQ(ended.view(), "other");
}

}  // namespace
}  // namespace homeostat::store
