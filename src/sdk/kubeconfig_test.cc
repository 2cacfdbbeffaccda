#include "homeostat/sdk/kubeconfig.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "homeostat/base/files.h"
#include "homeostat/sdk/transport.h"

namespace homeostat::sdk {
namespace {

constexpr std::string_view kFirst = R"(apiVersion: v1
kind: Config
current-context: one
clusters:
- name: c
  cluster: {server: "https://first:6443", certificate-authority: ca.pem}
contexts:
- name: one
  context: {cluster: c, user: u, namespace: team}
users:
- name: u
  user: {token: t1}
)";
constexpr std::string_view kSecond = R"(apiVersion: v1
kind: Config
current-context: two
clusters:
- name: c
  cluster: {server: "https://second"}
- name: d
  cluster: {server: "http://d:8080/prefix/"}
contexts:
- name: two
  context: {cluster: d, user: v}
users:
- name: v
  user: {client-certificate-data: Q0VSVA==, client-key-data: S0VZ}
)";

class KubeconfigTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "kubeconfig-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    Write("first", kFirst);
    Write("second", kSecond);
    Write("ca.pem", "CA");
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  void Write(const std::string& name, std::string_view text) { ASSERT_TRUE(WriteFileAtomically(directory_ + "/" + name, text)); }
  std::string Path(const std::string& name) const { return directory_ + "/" + name; }

  std::string directory_;
};

TEST_F(KubeconfigTest, TheFirstFileWinsEntryByEntry) {
  KubeconfigOptions options;
  options.environment = Path("missing") + ":" + Path("first") + "::" + Path("second") + ":" + Path("first");
  auto config = LoadClientConfig(options);
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->context, "one");
  EXPECT_EQ(config->server, "https://first:6443");
  EXPECT_EQ(config->certificate_authority, "CA") << "read from beside the kubeconfig";
  EXPECT_EQ(config->token, "t1");
  EXPECT_EQ(config->ns, "team");

  options.context = "two";
  config = LoadClientConfig(options);
  ASSERT_TRUE(config);
  EXPECT_EQ(config->server, "http://d:8080/prefix/");
  EXPECT_EQ(config->client_certificate, "CERT");
  EXPECT_EQ(config->client_key, "KEY");
  EXPECT_EQ(config->ns, "default");
}

TEST_F(KubeconfigTest, SaysWhatIsWrong) {
  struct Case {
    std::string text, message;
  };
  std::string path = Path("bad");
  for (const Case& c : {
           Case{"", "invalid configuration: no context is set"},
           Case{"current-context: x", "context \"x\" does not exist"},
           Case{"current-context: x\ncontexts: [{name: x, context: {cluster: c}}]", "cluster \"c\" does not exist"},
           Case{"current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\nclusters: [{name: c, cluster: {}}]",
                "invalid configuration: cluster \"c\" has no server defined"},
           Case{"current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: s}}]",
                "auth info \"u\" does not exist"},
           Case{"users: [{name: u, user: {client-key-data: '%'}}]",
                "error loading config file \"" + path + "\": user \"u\": client-key-data: illegal base64 data"},
           Case{"kind: Pod\napiVersion: v1", "error loading config file \"" + path + "\": no kind \"Pod\" is registered for version \"v1\""},
       }) {
    Write("bad", c.text);
    KubeconfigOptions options;
    options.explicit_file = path;
    auto config = LoadClientConfig(options);
    ASSERT_FALSE(config) << c.text;
    EXPECT_EQ(config.error().message(), c.message);
  }
  KubeconfigOptions options;
  options.explicit_file = Path("missing");
  auto config = LoadClientConfig(options);
  ASSERT_FALSE(config);
  EXPECT_TRUE(config.error().IsNotFound());
}

TEST_F(KubeconfigTest, InsideAPodItsAccountIsUsed) {
  KubeconfigOptions options;
  options.home = directory_;
  options.service_host = "fd00::1";
  options.service_port = "443";
  options.service_account_directory = directory_;
  EXPECT_FALSE(LoadClientConfig(options)) << "there is no token";
  Write("token", "t");
  Write("ca.crt", "CA");
  Write("namespace", "team");
  auto config = LoadClientConfig(options);
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->server, "https://[fd00::1]:443");
  EXPECT_EQ(config->token_file, Path("token"));
  EXPECT_EQ(config->ns, "team");
  // A kubeconfig that names a context is asked first.
  options.environment = Path("first");
  config = LoadClientConfig(options);
  ASSERT_TRUE(config);
  EXPECT_EQ(config->context, "one");
}

TEST(ServerUrlTest, Parts) {
  struct Case {
    std::string_view url, address, path;
    bool tls;
  };
  for (const Case& c : {Case{"https://a:6443", "a:6443", "", true}, Case{"http://a", "a:80", "", false}, Case{"a.b/x/y/", "a.b:443", "/x/y", true},
                        Case{"https://[::1]:6443/", "[::1]:6443", "", true}, Case{"https://[::1]", "[::1]:443", "", true}}) {
    auto url = ParseServerUrl(c.url);
    ASSERT_TRUE(url) << c.url;
    EXPECT_EQ(url->Address(), c.address) << c.url;
    EXPECT_EQ(url->path, c.path) << c.url;
    EXPECT_EQ(url->tls, c.tls) << c.url;
  }
  EXPECT_FALSE(ParseServerUrl("ftp://a"));
  EXPECT_FALSE(ParseServerUrl("https:///x"));
}

}  // namespace
}  // namespace homeostat::sdk
