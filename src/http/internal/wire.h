// Wire: a stream with a reader that runs ahead of whoever consumes, so that the peer's end is seen while a handler
// works.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/net.h"
#include "homeostat/base/runtime.h"
#include "homeostat/base/task.h"

namespace homeostat::http::internal {

// Loop only. Must not be destroyed inside a callback of its own.
class Wire {
 public:
  // Bytes read ahead that nobody has asked for; then reading pauses.
  static constexpr size_t kReadAhead = 64 * 1024;

  Wire(Runtime& runtime, std::unique_ptr<Stream> stream);

  // What has arrived and is not consumed. Views end at the next await.
  std::string_view buffered() const { return {buffer_.data() + begin_, end_ - begin_}; }
  void Consume(size_t count);
  // No more bytes will come than are buffered.
  bool ended() const { return ended_; }
  // Called once when ended() becomes true.
  void OnEnd(std::function<void()> callback) { on_end_ = std::move(callback); }
  // Waits until more than `have` bytes are buffered; false if the stream ended before. One waiter at a time.
  Task<bool> WaitForMore(size_t have);

  // Writing, closing and addresses go straight to the stream; reading it is the wire's.
  Stream& stream() { return *stream_; }

 private:
  Task<void> ReadAhead();
  std::span<char> Space();

  std::unique_ptr<Stream> stream_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;
  size_t chunk_ = 4096;  // asked of the stream at a time; grows with a peer that fills it
  size_t wanted_ = 0;    // somebody waits until this much is buffered
  bool ended_ = false;
  bool paused_ = false;
  std::function<void()> on_end_;
  Signal arrived_, space_;
  TaskGroup reader_;
};

// The rest of a wire as a stream, for what follows an upgrade.
std::unique_ptr<Stream> StreamOf(std::shared_ptr<Wire> wire);

// Sends our end and reads what still comes for a moment, so that the peer can read our last words: closing a socket
// with unread input makes the kernel throw away what the peer hasn't fetched yet.
Task<void> Linger(Runtime& runtime, std::shared_ptr<Wire> wire);

}  // namespace homeostat::http::internal
