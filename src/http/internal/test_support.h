// What the tests of this folder share: a simulated world with a server in it, handlers from functions, raw connections.
#pragma once

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/openssl.h"
#include "http/client.h"
#include "http/server.h"

namespace homeostat::http::test {

struct Identity {
  std::string certificate, private_key;
};

inline std::string PemText(const std::function<void(BIO*)>& write) {
  OpenSslPointer<BIO> bio(BIO_new(BIO_s_mem()));
  write(bio.get());
  char* data = nullptr;
  long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<size_t>(size));
}

inline void AddExtension(X509* certificate, int kind, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// A certificate for 127.0.0.1 that has signed itself, good for a thousand years around the epoch of any clock.
inline Identity MakeIdentity() {
  OpenSslPointer<EVP_PKEY> key(EVP_EC_gen("P-256"));
  OpenSslPointer<X509> certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  ASN1_TIME_set_string(X509_getm_notBefore(certificate.get()), "19600101000000Z");
  ASN1_TIME_set_string(X509_getm_notAfter(certificate.get()), "22000101000000Z");
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  AddExtension(certificate.get(), NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
  AddExtension(certificate.get(), NID_ext_key_usage, "serverAuth,clientAuth");
  AddExtension(certificate.get(), NID_basic_constraints, "CA:TRUE");
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  Identity made;
  made.certificate = PemText([&](BIO* bio) { PEM_write_bio_X509(bio, certificate.get()); });
  made.private_key =
      PemText([&](BIO* bio) { PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr); });
  return made;
}

inline const Identity& TestIdentity() {
  static const Identity identity = MakeIdentity();
  return identity;
}

inline Response Text(std::string text, int code = 200) {
  Response response;
  response.code = code;
  response.headers.Add("Content-Type", "text/plain");
  response.body.push_back(std::move(text));
  return response;
}

class FunctionHandler : public Handler {
 public:
  using Function = std::function<Task<Response>(Request)>;
  explicit FunctionHandler(Function function) : function_(std::move(function)) {}
  Task<Response> Handle(Request request) override { return function_(std::move(request)); }

 private:
  Function function_;
};

// Counts what is alive, so that a test sees a frame or a reader go.
struct Alive {
  explicit Alive(int* count) : count(count) { ++*count; }
  Alive(const Alive& other) : count(other.count) { ++*count; }
  ~Alive() { --*count; }
  int* count;
};

// A body made of what the test puts in; Read waits for it.
class Feed {
 public:
  explicit Feed(Runtime& runtime) : state_(std::make_shared<State>(runtime)) {}
  void Put(std::string piece) {
    state_->pieces.push_back(std::move(piece));
    state_->changed.Notify();
  }
  void End() { Put(""); }
  int readers() const { return state_->readers; }
  size_t read() const { return state_->read; }
  // Every Read gives this at once instead.
  void SetEndless(std::string piece) { state_->endless = std::move(piece); }
  std::unique_ptr<BodyReader> Reader() { return std::make_unique<FeedReader>(state_); }

 private:
  struct State {
    explicit State(Runtime& runtime) : changed(runtime) {}
    std::deque<std::string> pieces;
    std::string endless;
    size_t read = 0;
    int readers = 0;
    Signal changed;
  };
  class FeedReader : public BodyReader {
   public:
    explicit FeedReader(std::shared_ptr<State> state) : state_(std::move(state)), alive_(&state_->readers) {}
    Task<Result<Bytes>> Read() override {
      while (state_->pieces.empty() && state_->endless.empty()) {
        auto wait = state_->changed.Wait();
        co_await wait;
      }
      std::string piece = state_->endless;
      if (piece.empty()) {
        piece = std::move(state_->pieces.front());
        state_->pieces.pop_front();
      }
      state_->read += piece.size();
      co_return Bytes(std::move(piece));
    }

   private:
    std::shared_ptr<State> state_;
    Alive alive_;
  };
  std::shared_ptr<State> state_;
};

// A server in a simulated network. Time limits of tests are virtual.
class World {
 public:
  // HTTP_TEST_SEED tries other orders of events.
  static uint64_t DefaultSeed() {
    const char* seed = std::getenv("HTTP_TEST_SEED");
    return seed != nullptr ? std::strtoull(seed, nullptr, 10) : 1;
  }
  enum class Security { kPlain, kTls };
  explicit World(FunctionHandler::Function function, Security security = Security::kPlain, ServerOptions options = {},
                 uint64_t seed = DefaultSeed())
      : runtime_(SimulatedRuntime::Make(seed)),
        handler_(std::move(function)),
        tasks_(std::make_unique<TaskGroup>(*runtime_)) {
    std::shared_ptr<TlsServer> tls;
    if (security == Security::kTls) {
      TlsServerOptions tls_options{TestIdentity().certificate, TestIdentity().private_key, ""};
      tls_options.clock = runtime_.get();
      tls = TlsServer::Make(tls_options).value();
    }
    auto listener = runtime_->network().Listen("127.0.0.1:0");
    server_ = std::make_unique<Server>(*runtime_, *std::move(listener), tls, handler_, std::move(options));
    server_->Start();
    address_ = server_->address();
    tls_ = security == Security::kTls;
  }
  ~World() {
    tasks_.reset();
    server_.reset();
  }

  SimulatedRuntime& runtime() { return *runtime_; }
  Server& server() { return *server_; }
  const std::string& address() const { return address_; }
  void StopServer() { server_.reset(); }
  TaskGroup& tasks() { return *tasks_; }

  ClientOptions MakeClientOptions() {
    ClientOptions options;
    options.address = address_;
    if (!tls_) return options;
    options.tls.emplace();
    options.tls->ca = TestIdentity().certificate;
    options.tls->server_name = "127.0.0.1";
    options.tls->clock = runtime_.get();
    return options;
  }
  // Runs the task until it ends; false if virtual time runs out first.
  bool Run(Task<void> task, Duration limit = std::chrono::minutes(5)) {
    bool done = false;
    tasks_->Spawn(Mark(std::move(task), &done));
    return runtime_->RunUntil([&] { return done; }, limit);
  }
  // Lets everything settle for a moment of virtual time.
  void Settle(Duration time = std::chrono::milliseconds(10)) { runtime_->RunFor(time); }
  bool Until(const std::function<bool()>& condition, Duration limit = std::chrono::minutes(5)) {
    return runtime_->RunUntil(condition, limit);
  }

  // A raw connection to the server: what a test writes and what has come back.
  class Raw {
   public:
    Raw(World& world) : world_(world), group_(std::make_unique<TaskGroup>(world.runtime())) {
      EXPECT_TRUE(world.Run(Connect(this)));
      group_->Spawn(ReadAll(this));
    }
    void Send(std::string text) { EXPECT_TRUE(world_.Run(Write(this, std::move(text)))); }
    const std::string& received() const { return received_; }
    std::string Take() { return std::exchange(received_, {}); }
    bool ended() const { return ended_; }
    // Waits until the text has come, and takes all that came.
    std::string Expect(std::string_view text, Duration limit = std::chrono::seconds(5)) {
      bool came = world_.Until([&] { return received_.find(text) != std::string::npos || ended_; }, limit);
      EXPECT_TRUE(came && received_.find(text) != std::string::npos) << "no \"" << text << "\" in: " << received_;
      return Take();
    }
    bool ExpectEnd(Duration limit = std::chrono::seconds(5)) {
      return world_.Until([&] { return ended_; }, limit);
    }
    void Close() {
      group_.reset();
      stream_.reset();
    }
    void CloseWrite() { stream_->CloseWrite(); }
    void StopReading() { group_.reset(); }
    Task<void> WriteAsync(std::string text) { return Write(this, std::move(text)); }

   private:
    static Task<void> Connect(Raw* raw) {
      auto connect = raw->world_.runtime().network().Connect(raw->world_.address());
      auto stream = co_await connect;
      raw->stream_ = *std::move(stream);
    }
    static Task<void> Write(Raw* raw, std::string text) {
      std::vector<Bytes> parts;
      parts.push_back(std::move(text));
      auto write = raw->stream_->Write(std::move(parts));
      co_await write;
    }
    static Task<void> ReadAll(Raw* raw) {
      std::vector<char> buffer(4096);
      while (true) {
        std::span<char> space(buffer);
        auto read = raw->stream_->Read(space);
        Result<size_t> count = co_await read;
        if (!count || *count == 0) break;
        raw->received_.append(buffer.data(), *count);
      }
      raw->ended_ = true;
    }

    World& world_;
    std::unique_ptr<Stream> stream_;
    std::string received_;
    bool ended_ = false;
    std::unique_ptr<TaskGroup> group_;
  };

 private:
  static Task<void> Mark(Task<void> task, bool* done) {
    co_await task;
    *done = true;
  }

  std::unique_ptr<SimulatedRuntime> runtime_;
  FunctionHandler handler_;
  std::unique_ptr<Server> server_;
  std::string address_;
  bool tls_ = false;
  std::unique_ptr<TaskGroup> tasks_;
};

// What came of a request.
struct Answer {
  int code = 0;
  Headers headers;
  std::string body;
  std::optional<Status> error;
  bool done = false;
};

inline Task<void> Ask(Client* client, Request request, Answer* answer) {
  auto call = client->Do(std::move(request));
  Result<Response> response = co_await call;
  if (response) {
    answer->code = response->code;
    answer->headers = response->headers;
    auto read = ReadAll(*std::move(response), 1 << 30);
    Result<Bytes> body = co_await read;
    if (body) answer->body = body->str();
    if (!body) answer->error = body.error();
  } else {
    answer->error = response.error();
  }
  answer->done = true;
}

inline Request Make(std::string method, std::string path, std::string body = "") {
  Request request;
  request.method = std::move(method);
  request.path = std::move(path);
  if (!body.empty()) request.body = std::move(body);
  return request;
}

}  // namespace homeostat::http::test
