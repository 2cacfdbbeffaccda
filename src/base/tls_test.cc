#include <gtest/gtest.h>

#include "base/certificates_for_tests.h"
#include "homeostat/base/net.h"

namespace homeostat {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::CertificateRequest;
using testing::TestCertificate;

struct Authority {
  TestCertificate ca{{.common_name = "test-ca", .ca = true, .valid_to = 24 * 3600}};
  TestCertificate server{{.common_name = "server", .alternative_names = "DNS:localhost,IP:127.0.0.1", .usage = "serverAuth"}, &ca};
};

// Both ends of one handshake and of a short talk after it.
struct Talk {
  TlsServerOptions server;
  TlsClientOptions client;
  Result<void> accepted = Fail(SystemError("not reached")), connected = accepted;
  std::string server_protocol, client_protocol;
  std::optional<PeerCertificate> identity;
  std::string sent, received;
};

Talk NewTalk(const Authority& authority) {
  Talk talk;
  talk.server.certificate = authority.server.certificate();
  talk.server.private_key = authority.server.key();
  talk.server.client_ca = authority.ca.certificate();
  talk.client.ca = authority.ca.certificate();
  talk.client.server_name = "localhost";
  talk.sent = "hello";
  return talk;
}

Task<void> Serve(Listener& listener, Talk& talk) {
  auto accept = listener.Accept();
  auto plain = co_await accept;
  auto server = TlsServer::Make(talk.server);
  if (!plain || !server) {
    talk.accepted = Fail(server ? plain.error() : server.error());
    co_return;
  }
  auto handshake = (*server)->Accept(std::move(*plain));
  auto stream = co_await handshake;
  if (!stream) {
    talk.accepted = Fail(stream.error());
    co_return;
  }
  talk.accepted = {};
  talk.server_protocol = (*stream)->application_protocol();
  if (const PeerCertificate* peer = (*stream)->peer_certificate()) talk.identity = *peer;
  // Sends back what it hears, in pieces of every size.
  std::string heard;
  std::array<char, 30'000> buffer;
  while (true) {
    auto read = (*stream)->Read(buffer);
    auto count = co_await read;
    if (!count || *count == 0) break;
    heard.append(buffer.data(), *count);
  }
  std::vector<Bytes> parts;
  for (size_t at = 0, size = 1; at < heard.size(); at += size, size = size * 3 % 50'021) {
    parts.push_back(Bytes::Copy(heard.substr(at, size)));
  }
  auto write = (*stream)->Write(std::move(parts));
  auto written = co_await write;
  EXPECT_TRUE(written) << written.error().message();
}

Task<void> Call(Runtime& runtime, std::string address, Talk& talk) {
  auto connect = runtime.network().Connect(address);
  auto plain = co_await connect;
  if (!plain) {
    talk.connected = Fail(plain.error());
    co_return;
  }
  auto handshake = TlsConnect(std::move(*plain), talk.client);
  auto stream = co_await handshake;
  if (!stream) {
    talk.connected = Fail(stream.error());
    co_return;
  }
  talk.connected = {};
  talk.client_protocol = (*stream)->application_protocol();
  std::vector<Bytes> parts;
  parts.emplace_back(talk.sent);
  auto write = (*stream)->Write(std::move(parts));
  auto written = co_await write;
  EXPECT_TRUE(written) << written.error().message();
  (*stream)->CloseWrite();
  std::array<char, 30'000> buffer;
  while (true) {
    auto read = (*stream)->Read(buffer);
    auto count = co_await read;
    EXPECT_TRUE(count) << count.error().message();
    if (!count || *count == 0) break;
    talk.received.append(buffer.data(), *count);
  }
}

void RunReal(Talk& talk) {
  auto runtime = RealRuntime::Make();
  auto listener = *runtime->network().Listen("127.0.0.1:0");
  TaskGroup group(*runtime);
  group.Spawn(Serve(*listener, talk));
  group.Spawn(Call(*runtime, listener->address(), talk));
  std::function<void()> check = [&] {
    if (group.size() == 0) return runtime->Stop();
    runtime->After(milliseconds(1), [&] { check(); });
  };
  runtime->Post([&] { check(); });
  runtime->Run();
}

void RunSimulated(SimulatedRuntime& runtime, Talk& talk) {
  auto listener = *runtime.network().Listen("127.0.0.1:443");
  TaskGroup group(runtime);
  group.Spawn(Serve(*listener, talk));
  group.Spawn(Call(runtime, listener->address(), talk));
  EXPECT_TRUE(runtime.RunUntil([&] { return group.size() == 0; }, hours(1)));
}

TEST(Tls, RoundTripWithProtocolAndIdentity) {
  Authority authority;
  TestCertificate client({.common_name = "alice", .organizations = {"system:masters", "ops"}, .usage = "clientAuth"}, &authority.ca);
  for (size_t size : {size_t{1}, size_t{16384}, size_t{16385}, size_t{3'000'000}}) {
    Talk talk = NewTalk(authority);
    talk.client.certificate = client.certificate();
    talk.client.private_key = client.key();
    talk.client.protocols = {"http/1.1", "h2"};
    talk.sent.clear();
    while (talk.sent.size() < size) talk.sent += std::to_string(talk.sent.size());
    talk.sent.resize(size);
    RunReal(talk);
    ASSERT_TRUE(talk.accepted) << talk.accepted.error().message();
    ASSERT_TRUE(talk.connected) << talk.connected.error().message();
    EXPECT_EQ(talk.server_protocol, "h2") << "the server's order decides";
    EXPECT_EQ(talk.client_protocol, "h2");
    ASSERT_TRUE(talk.identity);
    EXPECT_TRUE(talk.identity->verified) << talk.identity->verification_error;
    EXPECT_EQ(talk.identity->common_name, "alice");
    EXPECT_EQ(talk.identity->organizations, (std::vector<std::string>{"system:masters", "ops"}));
    EXPECT_TRUE(talk.received == talk.sent);
  }
}

TEST(Tls, OverASimulatedNetwork) {
  Authority authority;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    auto runtime = SimulatedRuntime::Make(seed);
    runtime->SetNetworkLatency(milliseconds(1), milliseconds(9));
    Talk talk = NewTalk(authority);
    talk.sent.assign(200'000, 'x');
    RunSimulated(*runtime, talk);
    ASSERT_TRUE(talk.connected) << talk.connected.error().message();
    EXPECT_FALSE(talk.identity);
    EXPECT_EQ(talk.server_protocol, "");
    EXPECT_TRUE(talk.received == talk.sent);
  }
}

// kube-apiserver shakes hands with any certificate and refuses the request: the connection must stand.
TEST(Tls, CertificatesThatProveNothingAreKeptUnverified) {
  Authority authority, stranger;
  struct {
    const char* what;
    TestCertificate client;
    std::string fault;
  } const cases[] = {
      {"another CA", TestCertificate({.common_name = "eve", .usage = "clientAuth"}, &stranger.ca),
       "x509: certificate signed by unknown authority"},
      {"self-signed", TestCertificate({.common_name = "eve"}), "x509: certificate signed by unknown authority"},
      {"a server's", TestCertificate({.common_name = "eve", .usage = "serverAuth"}, &authority.ca),
       "x509: certificate specifies an incompatible key usage"},
      {"expired", TestCertificate({.common_name = "eve", .usage = "clientAuth", .valid_to = -60}, &authority.ca),
       "x509: certificate has expired or is not yet valid: current time "},
      {"not yet valid", TestCertificate({.common_name = "eve", .usage = "clientAuth", .valid_from = 60}, &authority.ca),
       "x509: certificate has expired or is not yet valid: current time "},
      {"signed by a leaf", TestCertificate({.common_name = "eve"}, &authority.server), "x509: "},
  };
  for (const auto& bad : cases) {
    SCOPED_TRACE(bad.what);
    Talk talk = NewTalk(authority);
    talk.client.certificate = bad.client.certificate();
    talk.client.private_key = bad.client.key();
    RunReal(talk);
    ASSERT_TRUE(talk.accepted) << talk.accepted.error().message();
    ASSERT_TRUE(talk.identity);
    EXPECT_FALSE(talk.identity->verified);
    EXPECT_EQ(talk.identity->common_name, "eve");
    EXPECT_TRUE(talk.identity->verification_error.starts_with(bad.fault)) << talk.identity->verification_error;
    EXPECT_EQ(talk.received, "hello");
  }
}

TEST(Tls, CertificatesWithoutAUsageAndThroughAnIntermediateAreFine) {
  Authority authority;
  TestCertificate intermediate({.common_name = "intermediate", .ca = true, .valid_to = 1800}, &authority.ca);
  TestCertificate client({.common_name = "bob"}, &intermediate);
  Talk talk = NewTalk(authority);
  talk.client.certificate = client.certificate() + intermediate.certificate();
  talk.client.private_key = client.key();
  RunReal(talk);
  ASSERT_TRUE(talk.identity);
  EXPECT_TRUE(talk.identity->verified) << talk.identity->verification_error;
  auto left = talk.identity->not_after.time_since_epoch() - std::chrono::system_clock::now().time_since_epoch();
  EXPECT_LE(left, seconds(1800)) << "the chain is in its time no longer than its shortest link";
}

TEST(Tls, TheClockOfTheRuntimeDecides) {
  auto runtime = SimulatedRuntime::Make(1);
  time_t now = std::chrono::duration_cast<seconds>(runtime->WallNow().time_since_epoch()).count();
  TestCertificate ca({.common_name = "old-ca", .ca = true, .now = now});
  TestCertificate server({.common_name = "s", .alternative_names = "DNS:localhost", .now = now}, &ca);
  TestCertificate client({.common_name = "c", .now = now}, &ca);
  Talk talk;
  talk.server = {.certificate = server.certificate(), .private_key = server.key(), .client_ca = ca.certificate(), .clock = runtime.get()};
  talk.client = {.ca = ca.certificate(), .certificate = client.certificate(), .private_key = client.key(),
                 .server_name = "localhost", .clock = runtime.get()};
  talk.sent = "hello";
  Talk later = talk;
  RunSimulated(*runtime, talk);
  ASSERT_TRUE(talk.connected) << talk.connected.error().message();
  EXPECT_TRUE(talk.identity && talk.identity->verified);
  runtime->RunFor(hours(2));
  RunSimulated(*runtime, later);
  ASSERT_FALSE(later.connected);
  EXPECT_TRUE(later.connected.error().message().starts_with(
      "tls: failed to verify certificate: x509: certificate has expired or is not yet valid"))
      << later.connected.error().message();
}

TEST(Tls, ClientsRefuseServersThatTheyDoNotKnow) {
  Authority authority, stranger;
  struct {
    const char* name;
    std::string ca;
    bool skip;
    const char* fault;
  } const cases[] = {
      {"localhost", authority.ca.certificate(), false, nullptr},
      {"127.0.0.1", authority.ca.certificate(), false, nullptr},
      {"example.com", authority.ca.certificate(), false, "tls: failed to verify certificate: x509: certificate is not valid for example.com"},
      {"127.0.0.2", authority.ca.certificate(), false, "tls: failed to verify certificate: x509: certificate is not valid for 127.0.0.2"},
      {"localhost", stranger.ca.certificate(), false, "tls: failed to verify certificate: x509: certificate signed by unknown authority"},
      {"localhost", stranger.ca.certificate(), true, nullptr},
      {"", authority.ca.certificate(), false, "tls: a server name is needed to verify the server's certificate"},
      {"localhost", "", false, "tls: failed to verify certificate: x509: certificate signed by unknown authority"},
      {"localhost", "no certificate", false, "tls: the CA file holds no certificate"},
  };
  for (const auto& expected : cases) {
    SCOPED_TRACE(expected.name);
    Talk talk = NewTalk(authority);
    talk.client.server_name = expected.name;
    talk.client.ca = expected.ca;
    talk.client.insecure_skip_verify = expected.skip;
    RunReal(talk);
    if (expected.fault == nullptr) {
      EXPECT_TRUE(talk.connected) << talk.connected.error().message();
      EXPECT_EQ(talk.received, "hello");
    } else {
      ASSERT_FALSE(talk.connected);
      EXPECT_EQ(talk.connected.error().message(), expected.fault);
      EXPECT_FALSE(talk.accepted);
    }
  }
}

TEST(Tls, NoCommonProtocolFailsTheHandshake) {
  Authority authority;
  Talk talk = NewTalk(authority);
  talk.client.protocols = {"spdy/3"};
  RunReal(talk);
  EXPECT_FALSE(talk.accepted);
  ASSERT_FALSE(talk.connected);
  EXPECT_NE(talk.connected.error().message().find("no application protocol"), std::string::npos) << talk.connected.error().message();
}

TEST(Tls, OptionsAreCheckedWhenTheyAreLoaded) {
  Authority authority, stranger;
  TlsServerOptions good{.certificate = authority.server.certificate(), .private_key = authority.server.key()};
  auto server = TlsServer::Make(good);
  ASSERT_TRUE(server) << server.error().message();
  const std::pair<TlsServerOptions, const char*> cases[] = {
      {{.certificate = "", .private_key = good.private_key}, "tls: failed to load the certificate: "},
      {{.certificate = good.certificate, .private_key = ""}, "tls: failed to load the private key: "},
      {{.certificate = good.certificate, .private_key = stranger.server.key()}, "tls: private key does not match the certificate: "},
      {{.certificate = good.certificate, .private_key = good.private_key, .client_ca = "x"}, "tls: the CA file holds no certificate"},
  };
  for (const auto& [options, fault] : cases) {
    auto made = TlsServer::Make(options);
    ASSERT_FALSE(made) << fault;
    EXPECT_TRUE(made.error().message().starts_with(fault)) << made.error().message();
    EXPECT_FALSE((*server)->Reload(options)) << "and the old ones stay";
  }
  EXPECT_TRUE((*server)->Reload({.certificate = stranger.server.certificate(), .private_key = stranger.server.key()}));
}

Task<void> SpeakPlain(Runtime& runtime, std::string address, std::string& out) {
  auto connect = runtime.network().Connect(address);
  auto stream = co_await connect;
  if (!stream) co_return;
  std::vector<Bytes> parts;
  parts.emplace_back("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  auto write = (*stream)->Write(std::move(parts));
  co_await write;
  std::array<char, 512> buffer;
  while (true) {
    auto read = (*stream)->Read(buffer);
    auto count = co_await read;
    if (!count || *count == 0) break;
    out.append(buffer.data(), *count);
  }
}

TEST(Tls, ToldToThoseWhoSpeakPlainHttp) {
  Authority authority;
  auto runtime = SimulatedRuntime::Make(4);
  runtime->SetNetworkLatency(milliseconds(1), milliseconds(1));
  auto listener = *runtime->network().Listen("a:443");
  Talk talk = NewTalk(authority);
  std::string out;
  TaskGroup group(*runtime);
  group.Spawn(Serve(*listener, talk));
  group.Spawn(SpeakPlain(*runtime, "a:443", out));
  runtime->RunFor(seconds(1));
  EXPECT_TRUE(out.starts_with("HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP")) << out;
  ASSERT_FALSE(talk.accepted);
  EXPECT_EQ(talk.accepted.error().message(), "tls: client sent an HTTP request to an HTTPS server");
}

}  // namespace
}  // namespace homeostat
