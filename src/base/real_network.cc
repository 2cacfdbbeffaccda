#include "base/internal/real_network.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/internal/descriptor.h"
#include "base/internal/socket_address.h"

namespace homeostat::base_internal {
namespace {

using Side = Descriptor::Side;

int OpenSocket(int family) { return ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

void SetOption(int fd, int level, int option, int value) { ::setsockopt(fd, level, option, &value, sizeof value); }

// Answers at once, and notices a peer that vanished within minutes: the periods of Go's dialer and listener.
void PrepareConnection(int fd, int family) {
  if (family == AF_UNIX) return;
  SetOption(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  SetOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPIDLE, 15);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPINTVL, 15);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPCNT, 9);
}

// The bytes that are still to be sent, as the system takes them.
class Gather {
 public:
  explicit Gather(std::vector<Bytes> parts) : parts_(std::move(parts)) { SkipEmpty(); }
  bool done() const { return part_ == parts_.size(); }
  size_t Fill(std::array<iovec, 64>& vectors) const {
    size_t count = 0, offset = offset_;
    for (size_t i = part_; i < parts_.size() && count < vectors.size(); ++i, offset = 0) {
      if (parts_[i].size() == offset) continue;
      vectors[count++] = {const_cast<char*>(parts_[i].data()) + offset, parts_[i].size() - offset};
    }
    return count;
  }
  void Advance(size_t sent) {
    while (sent > 0) {
      size_t step = std::min(sent, parts_[part_].size() - offset_);
      offset_ += step;
      sent -= step;
      SkipEmpty();
    }
  }

 private:
  void SkipEmpty() {
    while (part_ < parts_.size() && offset_ == parts_[part_].size()) {
      parts_[part_++] = Bytes();  // frees early what a slow peer would keep alive
      offset_ = 0;
    }
  }
  std::vector<Bytes> parts_;
  size_t part_ = 0;
  size_t offset_ = 0;
};

class SocketStream final : public Stream {
 public:
  SocketStream(Runtime& runtime, std::unique_ptr<Descriptor> descriptor, std::string remote)
      : runtime_(runtime), descriptor_(std::move(descriptor)), remote_(std::move(remote)) {}

  Task<Result<size_t>> Read(std::span<char> buffer) override {
    while (!descriptor_->closed()) {
      ssize_t got = ::recv(descriptor_->fd(), buffer.data(), buffer.size(), 0);
      if (got >= 0) {
        // A peer that always has more must not keep the loop to itself.
        if (++reads_at_once_ % 16 == 0) {
          auto turn = Yield(runtime_);
          co_await turn;
        }
        co_return static_cast<size_t>(got);
      }
      if (errno == EINTR) continue;
      if (errno != EAGAIN) co_return Fail(Failure("read", errno));
      reads_at_once_ = 0;
      auto wait = descriptor_->Wait(Side::kRead);
      co_await wait;
    }
    co_return Fail(Closed("read"));
  }

  Task<Result<void>> Write(std::vector<Bytes> parts) override {
    Gather gather(std::move(parts));
    while (!gather.done()) {
      if (descriptor_->closed()) co_return Fail(Closed("write"));
      if (int error = Send(gather); error == EAGAIN) {
        auto wait = descriptor_->Wait(Side::kWrite);
        co_await wait;
      } else if (error != 0) {
        co_return Fail(Failure("write", error));
      }
    }
    co_return Result<void>();
  }

  size_t WriteNow(std::string_view bytes) override {
    if (descriptor_->closed()) return 0;
    ssize_t sent = ::send(descriptor_->fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent > 0 ? static_cast<size_t>(sent) : 0;
  }

  void CloseWrite() override {
    if (!descriptor_->closed()) ::shutdown(descriptor_->fd(), SHUT_WR);
  }
  void Close() override { descriptor_->Close(); }
  std::string remote_address() const override { return remote_; }

 private:
  // 0 or an errno; takes what was sent out of `gather`.
  int Send(Gather& gather) {
    std::array<iovec, 64> vectors;
    msghdr message{};
    message.msg_iov = vectors.data();
    message.msg_iovlen = gather.Fill(vectors);
    ssize_t sent = ::sendmsg(descriptor_->fd(), &message, MSG_NOSIGNAL);
    if (sent < 0) return errno == EINTR ? 0 : errno;
    gather.Advance(static_cast<size_t>(sent));
    return 0;
  }
  Status Failure(std::string_view what, int error) const {
    return SystemError(std::string(what) + (remote_.empty() ? "" : " " + remote_), error);
  }
  Status Closed(std::string_view what) const {
    return SystemError(std::string(what) + (remote_.empty() ? "" : " " + remote_) + ": use of closed connection");
  }

  Runtime& runtime_;
  std::unique_ptr<Descriptor> descriptor_;
  std::string remote_;
  unsigned reads_at_once_ = 0;
};

Result<std::unique_ptr<Stream>> MakeStream(Runtime& runtime, int fd, const SocketAddress& remote) {
  PrepareConnection(fd, remote.family());
  TRY_ASSIGN(auto descriptor, Descriptor::Watch(runtime, fd));
  std::string text = remote.family() == AF_UNIX ? std::string() : remote.Text();
  return std::make_unique<SocketStream>(runtime, std::move(descriptor), std::move(text));
}

class SocketListener final : public Listener {
 public:
  SocketListener(Runtime& runtime, std::unique_ptr<Descriptor> descriptor, std::string address)
      : runtime_(runtime), descriptor_(std::move(descriptor)), address_(std::move(address)) {
    struct stat about;
    std::string path(UnixPath(address_));
    if (!path.empty() && ::stat(path.c_str(), &about) == 0) inode_ = about.st_ino;
  }
  ~SocketListener() override { Close(); }

  Task<Result<std::unique_ptr<Stream>>> Accept() override {
    while (!descriptor_->closed()) {
      SocketAddress remote;
      remote.size = sizeof remote.storage;
      int fd = ::accept4(descriptor_->fd(), reinterpret_cast<sockaddr*>(&remote.storage), &remote.size,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd >= 0) co_return MakeStream(runtime_, fd, remote);
      if (errno == EAGAIN) {
        auto wait = descriptor_->Wait(Side::kRead);
        co_await wait;
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        // Nothing to accept it with: the connection waits in the queue until others have ended.
        auto pause = Sleep(runtime_, std::chrono::milliseconds(50));
        co_await pause;
      } else if (errno == EBADF || errno == EINVAL || errno == ENOTSOCK) {
        co_return Fail(SystemError("accept " + address_, errno));
      }
      // Every other error belongs to a connection that ended while it waited.
    }
    co_return Fail(SystemError("accept " + address_ + ": use of closed listener"));
  }

  std::string address() const override { return address_; }
  void Close() override {
    if (descriptor_->closed()) return;
    descriptor_->Close();
    // Only our own socket file: another process may have put its one there since.
    struct stat about;
    std::string path(UnixPath(address_));
    if (inode_ != 0 && ::stat(path.c_str(), &about) == 0 && about.st_ino == inode_) ::unlink(path.c_str());
  }

 private:
  Runtime& runtime_;
  std::unique_ptr<Descriptor> descriptor_;
  std::string address_;
  ino_t inode_ = 0;
};

// A socket file that nobody listens on any more is in the way of bind: it is removed.
void RemoveStaleSocket(const SocketAddress& address, const std::string& path) {
  struct stat about;
  if (::lstat(path.c_str(), &about) != 0 || !S_ISSOCK(about.st_mode)) return;
  int fd = OpenSocket(AF_UNIX);
  if (fd < 0) return;
  if (::connect(fd, address.get(), address.size) != 0 && errno == ECONNREFUSED) ::unlink(path.c_str());
  ::close(fd);
}

class RealNetwork final : public Network {
 public:
  explicit RealNetwork(Runtime& runtime) : runtime_(runtime) {}

  Result<std::unique_ptr<Listener>> Listen(std::string_view address) override {
    std::string what = "listen " + std::string(address);
    TRY_ASSIGN(SocketAddress local, LocalAddress(address));
    int fd = OpenSocket(local.family());
    if (fd < 0 && errno == EAFNOSUPPORT && local.family() == AF_INET6 && address.starts_with(':')) {
      return Listen("0.0.0.0" + std::string(address));
    }
    if (fd < 0) return Fail(SystemError(what, errno));
    if (local.family() != AF_UNIX) SetOption(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (local.family() == AF_INET6) {
      // Go's rule: only the wildcard of both families takes IPv4 too.
      SetOption(fd, IPPROTO_IPV6, IPV6_V6ONLY, address.starts_with(':') || address.starts_with("[::]:") ? 0 : 1);
    }
    if (::bind(fd, local.get(), local.size) != 0 || ::listen(fd, SOMAXCONN) != 0) {
      int error = errno;
      ::close(fd);
      return Fail(SystemError(what, error));
    }
    local.size = sizeof local.storage;
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&local.storage), &local.size);
    TRY_ASSIGN(auto descriptor, Descriptor::Watch(runtime_, fd));
    return std::make_unique<SocketListener>(runtime_, std::move(descriptor), local.Text());
  }

  Task<Result<std::unique_ptr<Stream>>> Connect(std::string address) override {
    std::vector<SocketAddress> candidates;
    if (std::string_view path = UnixPath(address); !path.empty()) {
      CO_TRY_ASSIGN(SocketAddress remote, UnixAddress(path));
      candidates.push_back(remote);
    } else {
      auto resolve = Resolve(address);
      CO_TRY_ASSIGN(candidates, co_await resolve);
    }
    Status last = SystemError("dial " + address + ": no address");
    for (const SocketAddress& remote : candidates) {
      auto dial = Dial(remote);
      auto stream = co_await dial;
      if (stream) co_return std::move(stream);
      last = stream.error();
    }
    co_return Fail(last);
  }

 private:
  Result<SocketAddress> LocalAddress(std::string_view address) {
    if (std::string_view path = UnixPath(address); !path.empty()) {
      TRY_ASSIGN(SocketAddress local, UnixAddress(path));
      RemoveStaleSocket(local, std::string(path));
      return local;
    }
    auto split = SplitHostPort(address);
    if (!split) return Fail(split.error().WithContext("listen"));
    HostPort parts = *split;
    auto found = ResolveAddress(parts, true);
    if (!found && !parts.host.empty()) found = ResolveAddress(parts, false);
    if (!found) return Fail(found.error().WithContext("listen " + std::string(address)));
    return found->front();
  }

  Task<Result<std::vector<SocketAddress>>> Resolve(std::string address) {
    CO_TRY_ASSIGN(HostPort parts, SplitHostPort(address));
    if (parts.host.empty()) parts.host = "127.0.0.1";
    auto numeric = ResolveAddress(parts, true);
    if (numeric) co_return std::move(numeric);
    std::move_only_function<Result<std::vector<SocketAddress>>()> work = [parts] { return ResolveAddress(parts, false); };
    auto call = RunOffLoop<Result<std::vector<SocketAddress>>>(runtime_, std::move(work));
    auto found = co_await call;
    if (!found) co_return Fail(found.error().WithContext("dial tcp"));
    co_return std::move(found);
  }

  Task<Result<std::unique_ptr<Stream>>> Dial(SocketAddress remote) {
    std::string what = (remote.family() == AF_UNIX ? "dial " : "dial tcp ") + remote.Text();
    int fd = OpenSocket(remote.family());
    if (fd < 0) co_return Fail(SystemError(what, errno));
    int error = ::connect(fd, remote.get(), remote.size) == 0 ? 0 : errno;
    CO_TRY_ASSIGN(auto descriptor, Descriptor::Watch(runtime_, fd));
    while (error == EINPROGRESS || error == EINTR) {
      auto wait = descriptor->Wait(Side::kWrite);
      co_await wait;
      error = ConnectResult(descriptor->fd());
    }
    // A Unix socket says EAGAIN when the listener's queue is full.
    if (error != 0) co_return Fail(SystemError(what + ": connect", error));
    PrepareConnection(fd, remote.family());
    std::string text = remote.family() == AF_UNIX ? std::string() : remote.Text();
    co_return std::make_unique<SocketStream>(runtime_, std::move(descriptor), std::move(text));
  }

  static int ConnectResult(int fd) {
    int error = 0;
    socklen_t size = sizeof error;
    if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
    if (error != 0) return error;
    SocketAddress peer;
    peer.size = sizeof peer.storage;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer.storage), &peer.size) == 0) return 0;
    return errno == ENOTCONN ? EINPROGRESS : errno;
  }

  Runtime& runtime_;
};

}  // namespace

std::unique_ptr<Network> MakeRealNetwork(Runtime& runtime) { return std::make_unique<RealNetwork>(runtime); }

}  // namespace homeostat::base_internal
