#include "admission/configuration.h"

#include <gtest/gtest.h>

#include "homeostat/base/files.h"

namespace homeostat::admission {
namespace {

TEST(Configurations, AreFoundInTheFileOrBesideIt) {
  std::string folder = testing::TempDir() + "admission_configuration/";
  ASSERT_TRUE(MakeDirectories(folder));
  ASSERT_TRUE(WriteFileAtomically(folder + "priority.yaml", "{from: beside}"));
  ASSERT_TRUE(WriteFileAtomically(folder + "all.yaml", R"(
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- {name: PodSecurity, configuration: {from: within}}
- {name: PodSecurity, configuration: {from: later}}
- {name: Priority, path: priority.yaml}
)"));
  auto read = Configurations::Read(folder + "all.yaml");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->For("PodSecurity").Get("from").AsString(), "within");
  EXPECT_EQ(read->For("Priority").Get("from").AsString(), "beside");
  EXPECT_FALSE(read->For("ResourceQuota"));
  EXPECT_EQ(read->FirstBut([](std::string_view name) { return name == "PodSecurity"; }), "Priority");

  ASSERT_TRUE(WriteFileAtomically(folder + "all.yaml", "{apiVersion: apiserver.config.k8s.io/v1, kind: AdmissionConfiguration, plugin: []}"));
  EXPECT_FALSE(Configurations::Read(folder + "all.yaml"));
  EXPECT_FALSE(Configurations::Read(folder + "none.yaml"));
  auto none = Configurations::Read("");
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->For("PodSecurity"));
}

}  // namespace
}  // namespace homeostat::admission
