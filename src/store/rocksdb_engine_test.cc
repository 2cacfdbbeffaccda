// What only a store on a disk can get wrong: damage, loss, other processes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "store/engine.h"
#include "store/internal/fatal.h"
#include "store/internal/log_codec.h"
#include "store/internal/testing.h"

namespace homeostat::store {
namespace {

using internal::Await;
using internal::Put;
using internal::Remove;
namespace fs = std::filesystem;

class RocksDbEngineTest : public testing::Test {
 protected:
  void Make() { engine_ = MakeRocksDbEngine(*runtime_, {.directory = data()}); }
  Result<void> Open() {
    Make();
    return Await(*runtime_, engine_->Open());
  }
  void Close() {
    Await(*runtime_, engine_->Close());
    engine_.reset();
  }
  // The process ends without a word: nothing is closed, as after kill -9. (Dropping writes nothing either.)
  void Drop() { engine_.reset(); }
  std::string Refusal() {
    auto opened = Open();
    engine_.reset();
    return opened ? "opened" : opened.error().message();
  }
  void Write(int count, size_t size = 10) {
    for (int i = 0; i < count; ++i) {
      std::string value(size, 'x');
      for (char& byte : value) byte = static_cast<char>(random_());  // so that it stays as long on the disk
      auto outcome = Await(*runtime_, engine_->Commit(Put("/k" + std::to_string(i % 10), std::move(value))));
      ASSERT_TRUE(outcome && outcome->committed);
    }
  }
  // A store of this many writes, closed.
  void MakeStore(int count, size_t size = 10) {
    ASSERT_TRUE(Open());
    Write(count, size);
    Close();
  }
  std::string data() const { return folder_.data(); }
  fs::path mark() const { return fs::path(data()) / "acknowledged"; }

  // Files of the database with that ending, the newest last.
  std::vector<fs::path> Files(const std::string& extension) const {
    std::vector<fs::path> files;
    for (const auto& file : fs::directory_iterator(fs::path(data()) / "rocksdb")) {
      if (file.path().extension() == extension) files.push_back(file.path());
    }
    std::sort(files.begin(), files.end());  // their names are numbers of one length
    return files;
  }
  static void Flip(const fs::path& path, int64_t offset) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(offset);
    const char byte = static_cast<char>(file.get());
    file.seekp(offset);
    file.put(static_cast<char>(byte ^ 0x5A));
    ASSERT_TRUE(file.good());
  }
  // Uses the library itself on the closed store.
  void Tamper(const std::function<void(rocksdb::DB&, rocksdb::ColumnFamilyHandle& log,
                                       rocksdb::ColumnFamilyHandle& index)>& change) {
    std::vector<rocksdb::ColumnFamilyDescriptor> families = {{"default", {}}, {"log", {}}, {"index", {}}};
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* raw = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open({}, data() + "/rocksdb", families, &handles, &raw).ok());
    std::unique_ptr<rocksdb::DB> database(raw);
    change(*database, *handles[1], *handles[2]);
    for (auto* handle : handles) EXPECT_TRUE(database->DestroyColumnFamilyHandle(handle).ok());
  }

  internal::TemporaryFolder folder_;
  std::minstd_rand random_{1};
  std::unique_ptr<SimulatedRuntime> runtime_ = SimulatedRuntime::Make(3);
  std::unique_ptr<Engine> engine_;
};

TEST_F(RocksDbEngineTest, KeepsEverythingAcrossClosedAndDroppedRuns) {
  for (int run = 0; run < 4; ++run) {
    ASSERT_TRUE(Open());
    ASSERT_EQ(engine_->revision(), 1u + 10 * run);
    Write(10);
    if (run % 2) {
      Close();
    } else {
      Drop();
    }
  }
  ASSERT_TRUE(Open());
  EXPECT_EQ(Await(*runtime_, engine_->EventsSince("", 1))->size(), 40u);
}

TEST_F(RocksDbEngineTest, ClosingAmidAFlushIsNoFailure) {
  uint64_t revision = 1;
  for (int run = 0; run < 20; ++run) {
    ASSERT_TRUE(Open());
    ASSERT_EQ(engine_->revision(), revision);
    const int count = 20 + run;  // of which about forty fill what the log keeps in memory
    Write(count, 100'000);
    revision += count;
    Drop();
  }
}

TEST_F(RocksDbEngineTest, AtRestLittleStaysInMemory) {
  ASSERT_TRUE(Open());
  // The write-ahead log goes on in a new file when what it holds goes to sorted ones.
  auto log = [&] { return Files(".log").back(); };
  const fs::path first = log();
  Write(150, 12'000);
  runtime_->RunFor(std::chrono::seconds(11));
  EXPECT_EQ(log(), first) << "much was written in that time";
  Write(5);
  runtime_->RunFor(std::chrono::seconds(11));
  const fs::path second = log();
  EXPECT_NE(second, first);
  EXPECT_FALSE(Files(".sst").empty());
  Write(5);
  runtime_->RunFor(std::chrono::seconds(11));
  EXPECT_EQ(log(), second) << "a little is not worth a file";
  Drop();
  ASSERT_TRUE(Open());
  EXPECT_EQ(engine_->revision(), 161u);
}

TEST_F(RocksDbEngineTest, TheDataDirectoryIsTheOwnersAlone) {
  ASSERT_TRUE(Open());
  struct stat info {};
  ASSERT_EQ(::stat(data().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST_F(RocksDbEngineTest, ADirectoryInUseIsOneClearLine) {
  ASSERT_TRUE(Open());
  auto second = MakeRocksDbEngine(*runtime_, {.directory = data()});
  auto opened = Await(*runtime_, second->Open());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message(), "the data directory " + data() + " is in use by another process");
}

TEST_F(RocksDbEngineTest, AFileInItsPlaceIsOneClearLine) {
  std::ofstream(data()) << "not a directory";
  EXPECT_EQ(Refusal(), "cannot make the data directory " + data() + ": Not a directory");
}

// As a store was written before records got a faster checksum.
TEST_F(RocksDbEngineTest, RecordsOfTheFirstFormatAreReadAndGoneOnFrom) {
  MakeStore(20);
  Tamper([](rocksdb::DB& database, rocksdb::ColumnFamilyHandle& log, rocksdb::ColumnFamilyHandle&) {
    std::string compacted;
    ASSERT_TRUE(database.Get({}, "compacted", &compacted).ok());
    uint64_t chain = *internal::DecodeUint64(std::string_view(compacted).substr(8));
    for (uint64_t revision = 2; revision <= 21; ++revision) {
      const std::string key = internal::EncodeUint64(revision);
      std::string value;
      ASSERT_TRUE(database.Get({}, &log, key, &value).ok());
      const internal::EncodedRecord old = internal::EncodeRecord(*internal::DecodeRecord(revision, value), chain, 1);
      chain = old.chain;
      ASSERT_TRUE(database.Put({}, &log, key, old.value).ok());
    }
  });
  EXPECT_NE(Refusal().find("is not the one that was acknowledged"), std::string::npos) << "the chain is another one";
  std::ofstream(mark(), std::ios::trunc).close();
  ASSERT_TRUE(Open());
  Write(5);
  Close();
  ASSERT_TRUE(Open());
  EXPECT_EQ(engine_->revision(), 26u);
  EXPECT_EQ(Await(*runtime_, engine_->EventsSince("", 1))->size(), 25u);
}

TEST_F(RocksDbEngineTest, ADamagedLogIsRefused) {
  MakeStore(200);
  const auto log = Files(".log").back();
  const auto size = static_cast<int64_t>(fs::file_size(log));
  for (int64_t offset : {size / 4, size / 2, size - 20}) {
    Flip(log, offset);
    EXPECT_NE(Refusal().find("damaged"), std::string::npos) << offset;
    Flip(log, offset);
  }
  ASSERT_TRUE(Open()) << "whole again";
}

TEST_F(RocksDbEngineTest, ALogThatLostItsEndIsRefused) {
  MakeStore(200);
  const auto log = Files(".log").back();
  const std::string original = [&] {
    std::ifstream file(log, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  for (size_t lost : {1, 50, 500, 5000}) {
    std::ofstream(log, std::ios::binary | std::ios::trunc) << original.substr(0, original.size() - lost);
    EXPECT_NE(Refusal().find("damaged: revision 201 was acknowledged, but the log ends at"), std::string::npos) << lost;
  }
}

TEST_F(RocksDbEngineTest, AMissingLogFileIsRefused) {
  MakeStore(200);
  fs::remove(Files(".log").back());
  EXPECT_NE(Refusal().find("damaged"), std::string::npos);
}

TEST_F(RocksDbEngineTest, AnEmptiedDatabaseIsRefused) {
  MakeStore(5);
  fs::remove_all(data() + "/rocksdb");
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(Refusal(), "the store in " + data() + " is damaged: revision 6 was acknowledged, but the log is empty");
  }
}

TEST_F(RocksDbEngineTest, ATornEndThatNobodyWasPromisedIsLeftOut) {
  MakeStore(200);
  for (int round = 0; round < 2; ++round) {
    // What a crash in the middle of a write leaves: the head of a record whose body is not all there.
    std::ofstream(Files(".log").back(), std::ios::binary | std::ios::app)
        << std::string("\x12\x34\x56\x78\xE8\x03\x01half a record", 20);
    ASSERT_TRUE(Open());
    EXPECT_EQ(engine_->revision(), 201u + round);
    Write(1);
    Drop();
  }
  ASSERT_TRUE(Open());
  EXPECT_EQ(Await(*runtime_, engine_->EventsSince("", 1))->size(), 202u);
}

TEST_F(RocksDbEngineTest, DamageInASortedFileIsNoticedByReaders) {
  MakeStore(300, 100'000);  // more than the log keeps in memory
  ASSERT_FALSE(Files(".sst").empty());
  for (const auto& file : Files(".sst")) {
    for (int64_t offset = 100; offset < static_cast<int64_t>(fs::file_size(file)); offset += 10'000) Flip(file, offset);
  }
  const std::string refusal = Refusal();
  EXPECT_TRUE(refusal.find("orrupt") != std::string::npos || refusal.find("damaged") != std::string::npos) << refusal;
}

TEST_F(RocksDbEngineTest, TheChainNoticesWhatTheLibraryCannot) {
  MakeStore(20);
  const std::string key5 = internal::EncodeUint64(5), key6 = internal::EncodeUint64(6);
  std::string value5, value6;
  const struct {
    const char* what;
    std::function<void(rocksdb::DB&, rocksdb::ColumnFamilyHandle&)> change;
    const char* refusal;
  } cases[] = {
      {"a lost record", [&](auto& database, auto& log) { EXPECT_TRUE(database.Delete({}, &log, key5).ok()); },
       "damaged: revision 5 is missing from the log"},
      {"a changed record",
       [&](auto& database, auto& log) {
         EXPECT_TRUE(database.Put({}, &log, key5, value5.substr(0, value5.size() - 1) + "y").ok());
       },
       "damaged: revision 5 does not match the checksum of the log"},
      {"one record twice", [&](auto& database, auto& log) { EXPECT_TRUE(database.Put({}, &log, key6, value5).ok()); },
       "damaged: revision 6 does not match the checksum of the log"},
  };
  Tamper([&](auto& database, auto& log, auto&) {
    ASSERT_TRUE(database.Get({}, &log, key5, &value5).ok());
    ASSERT_TRUE(database.Get({}, &log, key6, &value6).ok());
  });
  for (const auto& test : cases) {
    SCOPED_TRACE(test.what);
    Tamper([&](auto& database, auto& log, auto&) { test.change(database, log); });
    EXPECT_NE(Refusal().find(test.refusal), std::string::npos) << Refusal();
    Tamper([&](auto& database, auto& log, auto&) {
      EXPECT_TRUE(database.Put({}, &log, key5, value5).ok());
      EXPECT_TRUE(database.Put({}, &log, key6, value6).ok());
    });
  }
  ASSERT_TRUE(Open()) << "whole again";
}

TEST_F(RocksDbEngineTest, ADroppedIndexIsMadeAnew) {
  ASSERT_TRUE(Open());
  Write(30);
  Await(*runtime_, engine_->Commit(Remove("/k3"))).value();
  Await(*runtime_, engine_->Compact(20)).value();
  auto before = Await(*runtime_, engine_->Range("", "", 0, 0)).value();
  auto history = Await(*runtime_, engine_->History("/k3")).value();
  Close();
  Tamper([](auto& database, auto&, auto& index) { EXPECT_TRUE(database.DropColumnFamily(&index).ok()); });
  ASSERT_TRUE(Open());
  auto after = Await(*runtime_, engine_->Range("", "", 0, 0)).value();
  ASSERT_EQ(after.records.size(), 9u);
  for (size_t i = 0; i < after.records.size(); ++i) {
    EXPECT_EQ(after.records[i].key(), before.records[i].key());
    EXPECT_EQ(after.records[i].revision(), before.records[i].revision());
  }
  EXPECT_EQ(Await(*runtime_, engine_->History("/k3")).value().size(), history.size());
  EXPECT_TRUE(Await(*runtime_, engine_->Commit(Put("/k3", "again", Expectation::Absent())))->committed);
}

TEST_F(RocksDbEngineTest, TheMarkOfAcknowledgedRevisions) {
  MakeStore(5);
  const fs::path saved = fs::path(folder_.path()) / "saved";
  fs::copy_file(mark(), saved);
  auto restore = [&] { fs::copy_file(saved, mark(), fs::copy_options::overwrite_existing); };

  fs::remove(mark());
  EXPECT_NE(Refusal().find("\"acknowledged\") is missing"), std::string::npos);

  restore();
  Flip(mark(), 30);
  Flip(mark(), 4096 + 30);
  EXPECT_NE(Refusal().find("acknowledged is damaged"), std::string::npos);

  for (int64_t slot : {0, 4096}) {
    restore();
    Flip(mark(), slot + 30);
    EXPECT_EQ(Refusal(), "opened") << "one slot is enough";
  }

  restore();
  MakeStore(0);
  engine_ = MakeRocksDbEngine(*runtime_, {.directory = folder_.path() + "/other"});
  ASSERT_TRUE(Await(*runtime_, engine_->Open()));
  Close();
  fs::copy_file(folder_.path() + "/other/acknowledged", mark(), fs::copy_options::overwrite_existing);
  EXPECT_NE(Refusal().find("belongs to another store"), std::string::npos);

  std::ofstream(mark(), std::ios::trunc);
  EXPECT_EQ(Refusal(), "opened") << "an empty file is the operator's word";
  EXPECT_GT(fs::file_size(mark()), 0u);
  EXPECT_EQ(Refusal(), "opened");
}

TEST_F(RocksDbEngineTest, WithoutSyncTheMarkNeverLeads) {
  engine_ = MakeRocksDbEngine(*runtime_, {.directory = data(), .sync = false});
  ASSERT_TRUE(Await(*runtime_, engine_->Open()));
  Write(100);
  Drop();
  // A power loss takes what was not synced.
  const auto log = Files(".log").back();
  fs::resize_file(log, fs::file_size(log) - 1000);
  ASSERT_TRUE(Open());
  const uint64_t left = engine_->revision();
  EXPECT_LT(left, 101u);
  Close();
  engine_ = MakeRocksDbEngine(*runtime_, {.directory = data(), .sync = false});
  ASSERT_TRUE(Await(*runtime_, engine_->Open()));
  Write(10);
  Close();
  const auto newest = Files(".log").back();
  fs::resize_file(newest, fs::file_size(newest) - 200);
  EXPECT_NE(Refusal().find("was acknowledged"), std::string::npos) << "Close makes it durable, and notes it";
}

// Files may not grow beyond this many bytes from here on.
void LimitFiles(rlim_t bytes) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{.rlim_cur = bytes, .rlim_max = bytes};
  setrlimit(RLIMIT_FSIZE, &limit);
}

TEST_F(RocksDbEngineTest, AFailedWriteEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  // The test runs anew in the process that ends, which cannot tidy up: it leaves what it writes to this one.
  constexpr const char* kFolderVariable = "HOMEOSTAT_STORE_TEST_FOLDER";
  ::setenv(kFolderVariable, folder_.path().c_str(), /*overwrite=*/0);
  auto write_too_much = [this, kFolderVariable] {
    fs::remove_all(folder_.path());
    LimitFiles(200'000);
    engine_ = MakeRocksDbEngine(*runtime_, {.directory = std::string(std::getenv(kFolderVariable)) + "/limited"});
    if (Await(*runtime_, engine_->Open())) Write(1000, 1000);
  };
  EXPECT_EXIT(write_too_much(), testing::ExitedWithCode(internal::kFatalExitStatus),
              "^fatal: the store cannot go on: [^\n]*\n$");
  ::unsetenv(kFolderVariable);
}

}  // namespace
}  // namespace homeostat::store
