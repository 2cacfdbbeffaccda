// The file of the audit log: when it is moved away, and what is kept.
#include "server/audit/log_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace homeostat::server::audit {
namespace {

class LogFileTest : public testing::Test {
 protected:
  LogFileTest() : folder_(std::filesystem::path(testing::TempDir()) / ("audit-" + std::to_string(getpid()))) { std::filesystem::remove_all(folder_); }
  ~LogFileTest() override { std::filesystem::remove_all(folder_); }

  std::string Path() const { return folder_ / "log" / "audit.log"; }
  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "log")) names.insert(entry.path().filename());
    return names;
  }
  static std::string Read(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  const std::filesystem::path folder_;
  const WallTime start_ = WallTime(std::chrono::seconds(1'800'000'000) + std::chrono::milliseconds(250));  // 2027-01-15T08:00:00.250
};

TEST_F(LogFileTest, IsMovedAwayWhenItIsFull) {
  auto file = LogFile::Open({Path(), 0, 2, 10});
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_TRUE(file->Append({"1234\n", "678\n"}, start_));
  EXPECT_EQ(Names(), std::set<std::string>{"audit.log"});
  EXPECT_TRUE(file->Append({"ab\n", "cdefgh\n", "ij\n"}, start_));
  EXPECT_EQ(Names(), (std::set<std::string>{"audit-2027-01-15T08-00-00.250.log", "audit-2027-01-15T08-00-00.251.log", "audit.log"}));
  for (int i = 1; i < 4; ++i) EXPECT_TRUE(file->Append({"123456789\n"}, start_ + std::chrono::seconds(i)));
  EXPECT_EQ(Names(), (std::set<std::string>{"audit-2027-01-15T08-00-02.250.log", "audit-2027-01-15T08-00-03.250.log", "audit.log"}));
  auto refused = file->Append({"12345678901\n", "x\n"}, start_ + std::chrono::seconds(9));
  EXPECT_EQ(refused ? "" : refused.error().message(), "write length 12 exceeds maximum file size 10");
  EXPECT_EQ(Read(Path()), "x\n");
}

TEST_F(LogFileTest, CarriesOnAndForgetsWhatIsOld) {
  {
    auto file = LogFile::Open({Path(), 1, 0, 10});
    ASSERT_TRUE(file);
    EXPECT_TRUE(file->Append({"12345\n"}, start_));
  }
  std::ofstream(folder_ / "log" / "audit-other.log") << "not ours";
  auto file = LogFile::Open({Path(), 1, 0, 10});
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->Append({"678\n"}, start_));
  EXPECT_EQ(Read(Path()), "12345\n678\n");
  EXPECT_TRUE(file->Append({"a\n"}, start_));
  EXPECT_EQ(Names().size(), 3u);
  EXPECT_TRUE(file->Append({"123456789\n"}, start_ + std::chrono::hours(25)));
  EXPECT_EQ(Names(), (std::set<std::string>{"audit-2027-01-16T09-00-00.250.log", "audit-other.log", "audit.log"}));
}

TEST_F(LogFileTest, AFolderIsNoFile) {
  std::filesystem::create_directories(Path());
  auto file = LogFile::Open({Path(), 0, 0, 0});
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message(), "open " + Path() + ": is a directory");
}

}  // namespace
}  // namespace homeostat::server::audit
