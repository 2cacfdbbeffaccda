#include "node/volume_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "node/atomic_writer.h"
#include "node/files.h"
#include "node/internal/test_pods.h"
#include "node/mounts.h"

namespace homeostat::node {
namespace {

namespace fs = std::filesystem;

class VolumeFilesTest : public testing::Test {
 protected:
  std::string Shown(const std::string& volume, std::map<std::string, std::string> tokens = {}) {
    object::DocumentPtr pod = FromJson<core::Pod>(
        "{'metadata': {'name': 'web', 'namespace': 'default', 'labels': {'a': 'b', 'A': 'x\\\\y'}}, 'spec': {'volumes': [" + volume + "]}}");
    core::Pod view(pod->root());
    Result<VolumeFiles> files = MakeVolumeFiles(view, view.spec().volumes()[0], references_, {}, tokens);
    if (!files) return "error: " + files.error().message();
    std::string out;
    for (const auto& [path, file] : *files) {
      char mode[8];
      std::snprintf(mode, sizeof mode, "%o", file.mode);
      out += path + "(" + mode + ")=" + file.content + " ";
    }
    return out;
  }
  PodReferences references_;
};

TEST_F(VolumeFilesTest, ConfigMaps) {
  references_.config_maps["c"] = FromJson<core::ConfigMap>("{'data': {'k': 'v', 'l': 'w'}, 'binaryData': {'b': 'AAE='}}");
  EXPECT_EQ(Shown("{'name': 'v', 'configMap': {'name': 'c', 'items': [{'key': 'k', 'path': 'x/y', 'mode': 256}, {'key': 'l', 'path': 'l'}], 'defaultMode': 292}}"),
            "l(444)=w x/y(400)=v ");
  EXPECT_EQ(Shown("{'name': 'v', 'configMap': {'name': 'none'}}"), "error: configmap \"none\" not found");
  EXPECT_EQ(Shown("{'name': 'v', 'configMap': {'name': 'none', 'optional': true}}"), "");
  EXPECT_EQ(Shown("{'name': 'v', 'configMap': {'name': 'c', 'items': [{'key': 'z', 'path': 'z'}]}}"),
            "error: configmap references non-existent config key: z");
  EXPECT_EQ(Shown("{'name': 'v', 'configMap': {'name': 'c', 'items': [{'key': 'k', 'path': '../z'}]}}"),
            "error: invalid path '../z': must not start with '..'");
}

TEST_F(VolumeFilesTest, ProjectionsAreMerged) {
  references_.config_maps["c"] = FromJson<core::ConfigMap>("{'data': {'ca.crt': 'CA'}}");
  references_.secrets["s"] = FromJson<core::Secret>("{'data': {'p': 'aGk='}}");
  EXPECT_EQ(Shown("{'name': 'v', 'projected': {'sources': [{'serviceAccountToken': {'path': 'token'}}, {'configMap': {'name': 'c'}},"
                  "{'secret': {'name': 's'}}, {'downwardAPI': {'items': [{'path': 'ns', 'fieldRef': {'fieldPath': 'metadata.namespace'}},"
                  "{'path': 'labels', 'fieldRef': {'fieldPath': 'metadata.labels'}}]}}]}}", {{"token", "T"}}),
            "ca.crt(644)=CA labels(644)=A=\"x\\\\y\"\na=\"b\" ns(644)=default p(644)=hi token(644)=T ");
}

class AtomicWriterTest : public testing::Test {
 protected:
  AtomicWriterTest() : target_(fs::temp_directory_path() / ("atomic-writer-" + std::to_string(getpid()))) {
    fs::remove_all(target_);
    fs::create_directory(target_);
  }
  ~AtomicWriterTest() override { fs::remove_all(target_); }
  std::string Read(const std::string& path) {
    std::ifstream in(target_ / path);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  fs::path target_;
};

TEST_F(AtomicWriterTest, WritesChangesAndRemoves) {
  EXPECT_TRUE(*WriteAtomically(target_, {{"a", {"1", 0600}}, {"d/b", {"2", 0644}}}, "one"));
  EXPECT_EQ(Read("a"), "1");
  EXPECT_EQ(Read("d/b"), "2");
  EXPECT_EQ(fs::read_symlink(target_ / "a"), "..data/a");
  EXPECT_EQ(fs::read_symlink(target_ / "..data"), "..one");
  EXPECT_EQ(fs::status(target_ / "a").permissions(), fs::perms(0600));
  EXPECT_FALSE(*WriteAtomically(target_, {{"a", {"1", 0600}}, {"d/b", {"2", 0644}}}, "two")) << "nothing changed";
  EXPECT_EQ(fs::read_symlink(target_ / "..data"), "..one");
  EXPECT_TRUE(*WriteAtomically(target_, {{"a", {"1", 0644}}, {"c", {"3", 0644}}}, "three"));
  EXPECT_EQ(Read("c"), "3");
  EXPECT_FALSE(fs::exists(target_ / "d"));
  EXPECT_FALSE(fs::exists(target_ / "..one"));
  EXPECT_TRUE(*WriteAtomically(target_, {}, "four"));
  EXPECT_FALSE(PathExists(target_ / "c"));
}

TEST_F(AtomicWriterTest, RecoversFromAnInterruptedWrite) {
  fs::create_directory(target_ / "..half");
  fs::create_symlink("..half", target_ / "..data_tmp");
  EXPECT_TRUE(*WriteAtomically(target_, {{"a", {"1", 0644}}}, "one"));
  EXPECT_EQ(Read("a"), "1");
  EXPECT_FALSE(fs::exists(target_ / "..half"));
}

TEST_F(AtomicWriterTest, RefusesPathsThatLeave) {
  for (const char* path : {"../x", "/x", "a/../../x", "..x", ""}) {
    EXPECT_FALSE(WriteAtomically(target_, {{path, {"1", 0644}}}, "one")) << path;
  }
}

TEST_F(AtomicWriterTest, RemoveTreeDoesNotFollowLinks) {
  fs::create_directory(target_ / "outside");
  std::ofstream(target_ / "outside" / "keep") << "x";
  fs::create_directories(target_ / "tree" / "deep");
  fs::create_directory_symlink(target_ / "outside", target_ / "tree" / "deep" / "link");
  EXPECT_TRUE(RemoveTree(target_ / "tree"));
  EXPECT_FALSE(fs::exists(target_ / "tree"));
  EXPECT_EQ(Read("outside/keep"), "x");
}

// Mounts need root; the paths that are refused don't get that far.
TEST_F(AtomicWriterTest, SubPathsStayInTheVolume) {
  fs::create_directory(target_ / "volume");
  fs::create_directory(target_ / "secret");
  fs::create_directory_symlink(target_ / "secret", target_ / "volume" / "absolute");
  fs::create_directory_symlink("../secret", target_ / "volume" / "relative");
  for (const char* path : {"absolute", "relative", "../secret", "absolute/new", "relative/new"}) {
    EXPECT_FALSE(BindSubPath(target_ / "volume", path, target_ / "mount", false)) << path;
  }
  EXPECT_FALSE(fs::exists(target_ / "secret" / "new"));
  if (geteuid() != 0) GTEST_SKIP() << "binding needs root";
  fs::create_directory(target_ / "volume" / "real");
  std::ofstream(target_ / "volume" / "real" / "file") << "inside";
  fs::create_symlink("real/file", target_ / "volume" / "link");
  ASSERT_TRUE(BindSubPath(target_ / "volume", "link", target_ / "mount", false));
  EXPECT_EQ(Read("mount"), "inside");
  EXPECT_TRUE(UnmountBelow(target_ / "mount"));
  ASSERT_TRUE(BindSubPath(target_ / "volume", "new/deep", target_ / "mount2", false));
  EXPECT_TRUE(fs::is_directory(target_ / "volume" / "new" / "deep"));
  EXPECT_TRUE(UnmountBelow(target_ / "mount2"));
}

}  // namespace
}  // namespace homeostat::node
