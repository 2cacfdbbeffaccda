#include "http/internal/wire.h"

#include <algorithm>
#include <cstring>

#include "http/internal/time_limit.h"

namespace homeostat::http::internal {

namespace {

constexpr size_t kLargestRead = 64 * 1024;
constexpr Duration kLingerTime = std::chrono::milliseconds(500);
constexpr size_t kLingerBytes = 4 * 1024 * 1024;

class WireStream : public Stream {
 public:
  explicit WireStream(std::shared_ptr<Wire> wire) : wire_(std::move(wire)) {}
  ~WireStream() override { wire_->stream().Close(); }

  Task<Result<size_t>> Read(std::span<char> buffer) override {
    if (wire_->buffered().empty()) {
      auto more = wire_->WaitForMore(0);
      bool arrived = co_await more;
      if (!arrived) co_return size_t{0};
    }
    size_t count = std::min(buffer.size(), wire_->buffered().size());
    std::memcpy(buffer.data(), wire_->buffered().data(), count);
    wire_->Consume(count);
    co_return count;
  }
  Task<Result<void>> Write(std::vector<Bytes> parts) override { return wire_->stream().Write(std::move(parts)); }
  void CloseWrite() override { wire_->stream().CloseWrite(); }
  void Close() override { wire_->stream().Close(); }
  std::string remote_address() const override { return wire_->stream().remote_address(); }
  std::string_view application_protocol() const override { return wire_->stream().application_protocol(); }
  const PeerCertificate* peer_certificate() const override { return wire_->stream().peer_certificate(); }

 private:
  std::shared_ptr<Wire> wire_;
};

}  // namespace

Wire::Wire(Runtime& runtime, std::unique_ptr<Stream> stream)
    : stream_(std::move(stream)), arrived_(runtime), space_(runtime), reader_(runtime) {
  reader_.Spawn(ReadAhead());
}

void Wire::Consume(size_t count) {
  begin_ += std::min(count, end_ - begin_);
  if (paused_ && end_ - begin_ < kReadAhead) space_.Notify();
}

Task<bool> Wire::WaitForMore(size_t have) {
  wanted_ = have + 1;
  if (paused_) space_.Notify();
  while (end_ - begin_ <= have && !ended_) {
    auto wait = arrived_.Wait();
    co_await wait;
  }
  wanted_ = 0;
  co_return end_ - begin_ > have;
}

std::span<char> Wire::Space() {
  if (begin_ == end_) {
    begin_ = end_ = 0;
    // Most connections are idle most of the time: they keep little.
    if (buffer_.size() > kLargestRead) buffer_ = std::vector<char>();
  }
  if (buffer_.size() - end_ < chunk_ && begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() - end_ < chunk_) buffer_.resize(std::max(buffer_.size() * 2, end_ + chunk_));
  return {buffer_.data() + end_, chunk_};
}

Task<void> Wire::ReadAhead() {
  while (true) {
    while (end_ - begin_ >= kReadAhead && end_ - begin_ >= wanted_) {
      paused_ = true;
      auto wait = space_.Wait();
      co_await wait;
      paused_ = false;
    }
    std::span<char> space = Space();
    auto read = stream_->Read(space);
    Result<size_t> count = co_await read;
    if (!count || *count == 0) break;
    end_ += *count;
    if (*count == space.size()) chunk_ = std::min(chunk_ * 2, kLargestRead);
    arrived_.Notify();
  }
  ended_ = true;
  arrived_.Notify();
  if (on_end_) on_end_();
}

std::unique_ptr<Stream> StreamOf(std::shared_ptr<Wire> wire) { return std::make_unique<WireStream>(std::move(wire)); }

Task<void> Linger(Runtime& runtime, std::shared_ptr<Wire> wire) {
  wire->stream().CloseWrite();
  Deadline deadline(runtime, [&wire] { wire->stream().Close(); });
  deadline.Set(kLingerTime);
  size_t dropped = 0;
  while (dropped < kLingerBytes && !wire->ended()) {
    dropped += wire->buffered().size();
    wire->Consume(wire->buffered().size());
    auto more = wire->WaitForMore(0);
    if (!co_await more) break;
  }
}

}  // namespace homeostat::http::internal
