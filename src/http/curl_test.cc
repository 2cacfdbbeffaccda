// The server on real sockets, asked by the real curl over loopback.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "http/internal/test_support.h"

namespace homeostat::http {
namespace {

using test::Text;
using namespace std::chrono_literals;

Task<Response> Echo(Request request) {
  if (request.path == "/large") {
    Response response;
    for (int i = 0; i < 2000; ++i) response.body.push_back(std::string(5000, static_cast<char>('a' + i % 26)));
    co_return std::move(response);
  }
  std::string size = request.body_too_large ? "too large" : std::to_string(request.body.size());
  Response response = Text(request.protocol + " " + request.method + " " + request.path + " " + size + " " +
                           (request.peer_certificate ? request.peer_certificate->common_name : "nobody"));
  co_return std::move(response);
}

// Three pieces with a pause between them.
class Ticks : public BodyReader {
 public:
  explicit Ticks(Runtime& runtime) : runtime_(runtime) {}
  Task<Result<Bytes>> Read() override {
    if (left_-- == 0) co_return Bytes();
    auto sleep = Sleep(runtime_, 20ms);
    co_await sleep;
    co_return Bytes("tick\n");
  }

 private:
  Runtime& runtime_;
  int left_ = 3;
};

// One piece, and then nothing for as long as anybody waits.
class Watch : public BodyReader {
 public:
  explicit Watch(Runtime& runtime) : runtime_(runtime) {}
  Task<Result<Bytes>> Read() override {
    if (!std::exchange(read_, true)) co_return Bytes("event\n");
    auto sleep = Sleep(runtime_, 1h);
    co_await sleep;
    co_return Bytes();
  }

 private:
  Runtime& runtime_;
  bool read_ = false;
};

class CurlTest : public ::testing::Test {
 protected:
  CurlTest()
      : runtime_(RealRuntime::Make()), handler_([this](Request request) {
          if (request.path == "/ticks") return Stream(std::make_unique<Ticks>(*runtime_));
          if (request.path == "/watch") return Stream(std::make_unique<Watch>(*runtime_));
          return Echo(std::move(request));
        }) {
    const char* temporary = std::getenv("TMPDIR");
    directory_ =
        std::string(temporary != nullptr ? temporary : "/tmp") + "/homeostat-curl-" + std::to_string(::getpid());
    Write("ca.pem", test::TestIdentity().certificate);
    Write("key.pem", test::TestIdentity().private_key);
    Write("body", std::string(1 << 20, 'b'));
    Write("huge", std::string(5 << 20, 'h'));
    TlsServerOptions tls{test::TestIdentity().certificate, test::TestIdentity().private_key,
                         test::TestIdentity().certificate};
    server_ = std::make_unique<Server>(*runtime_, *runtime_->network().Listen("127.0.0.1:0"),
                                       TlsServer::Make(tls).value(), handler_);
    server_->Start();
  }
  ~CurlTest() override {
    for (const std::string& name : files_) std::remove((directory_ + name).c_str());
  }
  void SetUp() override {
    if (std::system("curl --version 2>/dev/null | grep -q HTTP2") != 0) GTEST_SKIP() << "no curl with HTTP/2";
  }

  static Task<Response> Stream(std::unique_ptr<BodyReader> body) {
    Response response;
    response.stream = std::move(body);
    co_return std::move(response);
  }
  void Write(const std::string& name, const std::string& text) {
    files_.push_back(name);
    std::ofstream(directory_ + name) << text;
  }
  // Output of curl with those arguments; URL stands for the server's.
  std::string Curl(std::string arguments) {
    for (size_t at; (at = arguments.find("URL")) != std::string::npos;) {
      arguments.replace(at, 3, "https://" + server_->address());
    }
    for (size_t at; (at = arguments.find("DIR/")) != std::string::npos;) arguments.replace(at, 4, directory_);
    std::string command = "curl -sS --max-time 20 --cacert " + directory_ + "ca.pem " + arguments + " 2>&1";
    struct Do {
      static std::string Read(const std::string& command) {
        std::string output;
        FILE* pipe = popen(command.c_str(), "r");
        char buffer[4096];
        for (size_t count; (count = fread(buffer, 1, sizeof buffer, pipe)) > 0;) output.append(buffer, count);
        int status = pclose(pipe);
        return status == 0 ? output : output + " (curl exited with " + std::to_string(WEXITSTATUS(status)) + ")";
      }
      static Task<void> Run(RealRuntime* runtime, std::string command, std::string* output) {
        auto work = RunOffLoop<std::string>(*runtime, [command] { return Read(command); });
        *output = co_await work;
        runtime->Stop();
      }
    };
    std::string output;
    TaskGroup group(*runtime_);
    group.Spawn(Do::Run(runtime_.get(), command, &output));
    runtime_->Run();
    return output;
  }

  std::unique_ptr<RealRuntime> runtime_;
  test::FunctionHandler handler_;
  std::string directory_;
  std::vector<std::string> files_;
  std::unique_ptr<Server> server_;
};

TEST_F(CurlTest, BothVersions) {
  struct Case {
    std::string_view flag, protocol;
  };
  for (const Case& version : {Case{"--http1.1", "HTTP/1.1"}, Case{"--http2", "HTTP/2.0"}}) {
    std::string flag(version.flag), protocol(version.protocol);
    EXPECT_EQ(Curl(flag + " URL/a"), protocol + " GET /a 0 nobody");
    EXPECT_EQ(Curl(flag + " --cert DIR/ca.pem --key DIR/key.pem URL/a"), protocol + " GET /a 0 test");
    EXPECT_EQ(Curl(flag + " --data-binary @DIR/body URL/b"), protocol + " POST /b 1048576 nobody");
    EXPECT_EQ(Curl(flag + " -H 'Transfer-Encoding: chunked' --data-binary @DIR/body URL/b"),
              protocol + " POST /b 1048576 nobody");
    EXPECT_EQ(Curl(flag + " --data-binary @DIR/huge URL/b"), protocol + " POST /b too large nobody");
    EXPECT_EQ(Curl(flag + " URL/large").size(), 10000000u);
    EXPECT_EQ(Curl(flag + " -N URL/ticks"), "tick\ntick\ntick\n");
    EXPECT_NE(Curl(flag + " -I URL/a").find("ength: "), std::string::npos);
    EXPECT_EQ(Curl(flag + " URL/1 URL/2 URL/3"),
              protocol + " GET /1 0 nobody" + protocol + " GET /2 0 nobody" + protocol + " GET /3 0 nobody");
  }
}

TEST_F(CurlTest, ParallelStreamsOverOneConnection) {
  std::string command = "--http2 --no-progress-meter --parallel --parallel-max 20";
  for (int i = 0; i < 20; ++i) command += " URL/ticks";
  std::string output = Curl(command);
  EXPECT_EQ(output.size(), 20 * std::string("tick\ntick\ntick\n").size()) << output;
}

TEST_F(CurlTest, ShutdownWithOpenWatches) {
  struct Do {
    static Task<void> Run(RealRuntime* runtime, Server* server, std::optional<Duration>* took, const bool* awaited) {
      while (server->counters().requests < 3) {
        auto sleep = Sleep(*runtime, 10ms);
        co_await sleep;
      }
      auto sleep = Sleep(*runtime, 50ms);
      co_await sleep;
      MonotonicTime begin = runtime->Now();
      auto shutdown = server->Shutdown(10s);
      co_await shutdown;
      *took = runtime->Now() - begin;
      if (*awaited) runtime->Stop();
    }
  };
  std::optional<Duration> took;
  bool awaited = false;
  TaskGroup group(*runtime_);
  group.Spawn(Do::Run(runtime_.get(), server_.get(), &took, &awaited));
  std::string output = Curl(
      "-N --http2 URL/watch & "
      "curl -sS -N --http1.1 --cacert DIR/ca.pem URL/watch & "
      "curl -sS -N --http2 --cacert DIR/ca.pem URL/watch");
  EXPECT_EQ(output, "event\nevent\nevent\n");
  if (!took) {  // curl sees the end a moment before the server does
    awaited = true;
    runtime_->Run();
  }
  ASSERT_TRUE(took);
  EXPECT_LT(*took, 500ms);  // tens of milliseconds, with room for a busy machine
}

TEST_F(CurlTest, PlainHttpIsToldSo) {
  std::string output = Curl("--http0.9 http://" + server_->address() + "/");
  EXPECT_NE(output.find("Client sent an HTTP request to an HTTPS server."), std::string::npos) << output;
}

TEST_F(CurlTest, ClientAgainstTheSameServer) {
  struct Do {
    static Task<void> Run(RealRuntime* runtime, Client* client, int* good) {
      for (int i = 0; i < 200; ++i) {
        Request request;
        request.method = "POST";
        request.path = "/x";
        request.body = std::string(static_cast<size_t>(i) * 1000, 'x');
        auto call = client->Do(std::move(request));
        Result<Response> response = co_await call;
        if (!response) continue;
        auto read = ReadAll(*std::move(response), 1 << 20);
        Result<Bytes> body = co_await read;
        *good += body && body->view() == "HTTP/2.0 POST /x " + std::to_string(i * 1000) + " nobody";
      }
      runtime->Stop();
    }
  };
  ClientOptions options;
  options.address = server_->address();
  options.tls.emplace();
  options.tls->ca = test::TestIdentity().certificate;
  options.tls->server_name = "127.0.0.1";
  Client client(*runtime_, options);
  int good = 0;
  TaskGroup group(*runtime_);
  group.Spawn(Do::Run(runtime_.get(), &client, &good));
  runtime_->Run();
  EXPECT_EQ(good, 200);
  EXPECT_EQ(server_->counters().connections_accepted, 1u);
}

}  // namespace
}  // namespace homeostat::http
