#include "base/internal/simulated_network.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>

#include "base/internal/socket_address.h"
#include "homeostat/base/host_port.h"

namespace homeostat::base_internal {
namespace {

// What a sender may have on its way before it has to wait for the reader; a socket's buffer, roughly.
constexpr size_t kPipeCapacity = 256 * 1024;

// One direction of a connection. Pieces arrive in the order in which they were sent, each no sooner than its latency.
class Pipe : public std::enable_shared_from_this<Pipe> {
 public:
  explicit Pipe(SimulatedNetwork& network)
      : runtime_(network.runtime()), network_(network), readable_(runtime_), writable_(runtime_), arrival_(this) {}

  bool full() const { return size_ >= kPipeCapacity; }
  bool broken() const { return broken_; }
  // The reader is gone: what is sent from now on is lost.
  void Break() {
    broken_ = true;
    pieces_.clear();
    size_ = 0;
    WakeBoth();
  }
  void Send(Bytes bytes) {
    if (broken_ || ended_ || bytes.empty()) return;
    size_ += bytes.size();
    Put(std::move(bytes));
  }
  void SendEnd() {
    if (std::exchange(ended_, true) || broken_) return;
    Put(std::nullopt);
  }
  void WakeBoth() {
    readable_.Notify();
    writable_.Notify();
  }

  // nullopt when nothing has arrived; 0 at the end.
  std::optional<size_t> TryRead(std::span<char> buffer) {
    if (pieces_.empty() || pieces_.front().arrives > runtime_.Now()) return std::nullopt;
    Piece& piece = pieces_.front();
    if (!piece.bytes) return 0;
    size_t count = std::min(buffer.size(), piece.bytes->size());
    // Parsers must take any fragmentation: now and then a read is short.
    if (count > 1 && runtime_.Random() % 8 == 0) count = 1 + runtime_.Random() % count;
    std::memcpy(buffer.data(), piece.bytes->data(), count);
    size_ -= count;
    if (count == piece.bytes->size()) {
      pieces_.pop_front();
    } else {
      piece.bytes = piece.bytes->Slice(count);
    }
    if (!full()) writable_.Notify();
    return count;
  }
  Signal::Awaiter Readable() { return readable_.Wait(); }
  Signal::Awaiter Writable() { return writable_.Wait(); }

 private:
  struct Piece {
    MonotonicTime arrives;
    std::optional<Bytes> bytes;  // none: the end
  };
  struct Arrival : Wakeup {
    explicit Arrival(Pipe* pipe) : Wakeup(&Arrival::Run), pipe(pipe) {}
    static void Run(Wakeup& wakeup) { static_cast<Arrival&>(wakeup).pipe->Arrive(); }
    Pipe* pipe;
  };

  void Put(std::optional<Bytes> bytes) {
    Duration latency = network_.DrawLatency();
    last_arrival_ = std::max(last_arrival_, runtime_.Now() + latency);
    pieces_.push_back({last_arrival_, std::move(bytes)});
    if (!arrival_.due()) Arrive();
  }
  // Wakes the reader if something is there, and has itself called for what is still on its way.
  void Arrive() {
    MonotonicTime now = runtime_.Now();
    if (!pieces_.empty() && pieces_.front().arrives <= now) readable_.Notify();
    for (const Piece& piece : pieces_) {
      if (piece.arrives <= now) continue;
      arrival_.After(runtime_, piece.arrives - now);
      break;
    }
  }

  Runtime& runtime_;
  SimulatedNetwork& network_;
  std::deque<Piece> pieces_;
  size_t size_ = 0;
  bool ended_ = false;
  bool broken_ = false;
  MonotonicTime last_arrival_{};
  Signal readable_, writable_;
  Arrival arrival_;
};

class PipeStream final : public Stream {
 public:
  PipeStream(std::shared_ptr<Pipe> in, std::shared_ptr<Pipe> out, std::string remote)
      : in_(std::move(in)), out_(std::move(out)), remote_(std::move(remote)) {}
  ~PipeStream() override { Close(); }

  Task<Result<size_t>> Read(std::span<char> buffer) override {
    std::shared_ptr<Pipe> in = in_;
    while (!closed_) {
      if (auto got = in->TryRead(buffer)) co_return *got;
      auto wait = in->Readable();
      co_await wait;
    }
    co_return Fail(SystemError("read " + remote_ + ": use of closed connection"));
  }
  Task<Result<void>> Write(std::vector<Bytes> parts) override {
    std::shared_ptr<Pipe> out = out_;
    for (Bytes& part : parts) {
      while (!closed_ && !out->broken() && out->full()) {
        auto wait = out->Writable();
        co_await wait;
      }
      if (closed_) co_return Fail(SystemError("write " + remote_ + ": use of closed connection"));
      if (out->broken()) co_return Fail(SystemError("write " + remote_ + ": broken pipe"));
      out->Send(std::move(part));
    }
    co_return Result<void>();
  }
  size_t WriteNow(std::string_view bytes) override {
    if (closed_ || out_->broken() || out_->full()) return 0;
    out_->Send(Bytes::Copy(bytes));
    return bytes.size();
  }
  void CloseWrite() override { out_->SendEnd(); }
  void Close() override {
    if (std::exchange(closed_, true)) return;
    out_->SendEnd();
    in_->Break();
    out_->WakeBoth();
  }
  std::string remote_address() const override { return remote_; }

 private:
  std::shared_ptr<Pipe> in_, out_;
  std::string remote_;
  bool closed_ = false;
};

}  // namespace

class SimulatedListener final : public Listener {
 public:
  SimulatedListener(SimulatedNetwork& network, std::string address)
      : network_(&network), address_(std::move(address)), arrived_(network.runtime()) {}
  ~SimulatedListener() override { Close(); }

  Task<Result<std::unique_ptr<Stream>>> Accept() override {
    while (network_ != nullptr && queue_.empty()) {
      auto wait = arrived_.Wait();
      co_await wait;
    }
    if (network_ == nullptr) co_return Fail(SystemError("accept " + address_ + ": use of closed listener"));
    std::unique_ptr<Stream> stream = std::move(queue_.front());
    queue_.pop_front();
    co_return std::move(stream);
  }
  std::string address() const override { return address_; }
  void Close() override {
    if (network_ == nullptr) return;
    network_->Forget(address_);
    network_ = nullptr;
    queue_.clear();
    arrived_.Notify();
  }

  void Arrive(std::unique_ptr<Stream> stream) {
    queue_.push_back(std::move(stream));
    arrived_.Notify();
  }

 private:
  SimulatedNetwork* network_;  // null once closed
  std::string address_;
  std::deque<std::unique_ptr<Stream>> queue_;
  Signal arrived_;
};

namespace {

// One spelling for each address, so that look-up is by text.
Result<std::string> Canonical(std::string_view address, std::string& port) {
  if (std::string_view path = UnixPath(address); !path.empty()) return "unix:" + std::string(path);
  TRY_ASSIGN(HostPort parts, SplitHostPort(address));
  port = parts.port;
  if (parts.host.empty()) parts.host = "::";
  if (parts.host == "localhost") parts.host = "127.0.0.1";
  return JoinHostPort(parts.host, parts.port);
}

}  // namespace

SimulatedNetwork::~SimulatedNetwork() {
  while (!listeners_.empty()) listeners_.begin()->second->Close();
}

Result<std::unique_ptr<Listener>> SimulatedNetwork::Listen(std::string_view address) {
  std::string port;
  auto name = Canonical(address, port);
  if (!name) return Fail(name.error().WithContext("listen"));
  if (port == "0") {
    std::string host = name->substr(0, name->size() - 1);
    do {
      *name = host + std::to_string(next_port_++);
    } while (listeners_.contains(*name));
  }
  if (listeners_.contains(*name)) return Fail(SystemError("listen " + std::string(address), EADDRINUSE));
  auto listener = std::make_unique<SimulatedListener>(*this, *name);
  listeners_[*name] = listener.get();
  return listener;
}

SimulatedListener* SimulatedNetwork::Find(std::string_view address) {
  std::string port;
  auto name = Canonical(address, port);
  if (!name) return nullptr;
  for (const std::string& candidate : {*name, "0.0.0.0:" + port, "[::]:" + port}) {
    if (auto found = listeners_.find(candidate); found != listeners_.end()) return found->second;
  }
  return nullptr;
}

Task<Result<std::unique_ptr<Stream>>> SimulatedNetwork::Connect(std::string address) {
  auto journey = Sleep(runtime_, DrawLatency());
  co_await journey;
  SimulatedListener* listener = Find(address);
  if (listener == nullptr) co_return Fail(SystemError("dial tcp " + address + ": connect", ECONNREFUSED));
  auto there = std::make_shared<Pipe>(*this);
  auto back = std::make_shared<Pipe>(*this);
  std::string local = "127.0.0.1:" + std::to_string(next_port_++);
  listener->Arrive(std::make_unique<PipeStream>(there, back, local));
  co_return std::make_unique<PipeStream>(back, there, address);
}

}  // namespace homeostat::base_internal
