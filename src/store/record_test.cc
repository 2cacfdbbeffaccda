#include "store/record.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

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

// Made and dropped in disorder, of all sizes: none is written over by another.
TEST(RecordTest, ManyStandApart) {
  std::minstd_rand random(1);
  std::vector<std::pair<Record, char>> records;
  for (int i = 0; i < 60'000; ++i) {
    if (records.size() > 3000 || (!records.empty() && random() % 3 == 0)) {
      std::swap(records[random() % records.size()], records.back());
      const auto& [record, filling] = records.back();
      ASSERT_EQ(record.text(), std::string(record.text().size(), filling));
      records.pop_back();
      continue;
    }
    const char filling = static_cast<char>('a' + i % 26);
    const size_t size = random() % 10 == 0 ? random() % 20'000 : random() % 1500;
    records.emplace_back(Record::Make("/registry/a", std::string(size, filling), 1, 2), filling);
  }
  for (const auto& [record, filling] : records) ASSERT_EQ(record.text(), std::string(record.text().size(), filling));
}

}  // namespace
}  // namespace homeostat::store
