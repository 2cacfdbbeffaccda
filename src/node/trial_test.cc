#include "node/trial.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace homeostat::node {
namespace {

namespace fs = std::filesystem;

std::string Mounts() {
  std::ifstream in("/proc/self/mounts");
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

// Tells on standard error what was answered, and ends.
[[noreturn]] void TryAs(uid_t user) {
  if (setresuid(user, user, user) != 0) _exit(2);
  Result<void> tried = TryWhatContainersNeed();
  fprintf(stderr, "%s\n", tried ? "it can" : tried.error().message().c_str());
  _exit(tried ? 0 : 1);
}

TEST(Trial, TellsWhatMayNotBeDone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // other tests of this program may have left threads
  const uid_t nobody = geteuid() == 0 ? 65534 : geteuid();
  EXPECT_EXIT(TryAs(nobody), testing::ExitedWithCode(1), "no namespaces can be made: Operation not permitted");
}

TEST(Trial, LeavesNothingBehind) {
  char name[] = "/tmp/homeostat-trial-XXXXXX";
  ASSERT_NE(mkdtemp(name), nullptr);
  const std::string before = Mounts();
  (void)TryWhatContainersNeed();
  const bool can = CanMountOverlay(name);
  EXPECT_EQ(CanMountOverlay(name), can);
  EXPECT_EQ(Mounts(), before);
  EXPECT_TRUE(fs::is_empty(name));
  EXPECT_TRUE(fs::remove(name));
  EXPECT_FALSE(CanMountOverlay("/proc"));
}

}  // namespace
}  // namespace homeostat::node
