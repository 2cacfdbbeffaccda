// One HTTP/2 connection, either side: nghttp2 fed from a stream by a reader task and emptied into it by a writer task.
// What a stream carries is the business of the two classes derived from it.
//
// Ownership: a closed stream is set aside inside nghttp2's callbacks and destroyed after them, by the reader or the
// writer task, so that a handler's task is never destroyed while it runs.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "homeostat/base/net.h"
#include "homeostat/base/runtime.h"
#include "http/internal/time_limit.h"

struct nghttp2_session;

namespace homeostat::http::internal {

// RFC 9113, section 7.
enum class Http2Error : uint32_t {
  kNone = 0,
  kProtocol = 1,
  kInternal = 2,
  kRefusedStream = 7,
  kCancel = 8,
  kEnhanceYourCalm = 11,
};

struct Http2Options {
  bool server = true;
  uint32_t streams = 100;  // that the peer may open at once
  uint32_t stream_window = 256 << 10;
  uint32_t connection_window = 0;  // 0: as large as all streams' windows
  uint32_t frame_bytes = 256 << 10;
  size_t header_bytes = 1 << 20;
  Duration head_time{};                // from the first byte of a head to its last. Zero: no limit
  Duration idle_time{};                // without a stream; then the connection ends. Zero: never
  Duration write_time{};               // a peer that takes nothing for so long is dropped
  Duration ping_after{}, ping_time{};  // a ping after such a silence, and how long its answer may take. Zero: none
};

class Http2Session;

// The part of a stream that both sides share: what is still to be sent.
class Http2Stream {
 public:
  Http2Stream(Runtime& runtime, Http2Session& session);
  virtual ~Http2Stream() = default;
  Http2Stream(const Http2Stream&) = delete;

  int32_t id() const { return id_; }
  // Bytes given to Send and not yet framed.
  size_t unsent() const { return unsent_; }

 private:
  friend class Http2Session;
  friend struct Http2Callbacks;
  int32_t id_ = 0;
  std::deque<Bytes> out_;
  size_t unsent_ = 0;
  bool out_ended_ = false;  // nothing will be added
  bool deferred_ = false;   // nghttp2 waits for Resume
  Deadline stall_;          // the peer's window stays shut
};

using Http2Fields = std::vector<std::pair<std::string, std::string>>;

class Http2Session {
 public:
  virtual ~Http2Session();
  Http2Session(const Http2Session&) = delete;

  // Completes when the connection has ended. (The tasks run from Start on, whether or not somebody waits.)
  Task<void> Wait();
  bool ended() const { return ended_; }

 protected:
  Http2Session(Runtime& runtime, std::unique_ptr<Stream> stream, Http2Options options);
  // Sends the settings and begins. Not in the constructor: it calls virtual functions.
  void Start();

  // What the peer does. Called inside nghttp2: they may submit, but not wait, and never destroy a stream.
  virtual std::shared_ptr<Http2Stream> OnOpen() = 0;  // the peer opens a stream; null refuses it
  // A field of a head; false resets the stream.
  virtual bool OnField(Http2Stream& stream, std::string_view name, std::string_view value) = 0;
  virtual void OnHead(Http2Stream& stream, bool ends) = 0;
  virtual void OnData(Http2Stream& stream, std::string_view data) = 0;
  virtual void OnEnd(Http2Stream& stream) = 0;  // the peer has said all, after a head or data
  virtual void OnClosed(Http2Stream& stream, uint32_t error) = 0;
  // All that was given to Send has been framed; or our end has.
  virtual void OnSent(Http2Stream& stream) = 0;
  virtual void OnEndSent(Http2Stream& stream) = 0;
  virtual void OnReset() {}  // either side reset a stream, or sent a frame that is wrong
  virtual void OnGoAway() {}
  virtual void OnSessionEnd() {}

  // Opens a stream of ours; false if the peer's limit or the session's state doesn't allow it.
  bool Open(std::shared_ptr<Http2Stream> stream, const Http2Fields& fields, bool ends);
  void Respond(Http2Stream& stream, const Http2Fields& fields, bool ends);
  void SendInformational(Http2Stream& stream, int code);
  // Adds to the stream's body; it goes out as the windows allow.
  void Send(Http2Stream& stream, Bytes piece);
  void EndBody(Http2Stream& stream);
  void Reset(Http2Stream& stream, Http2Error error);
  // No further streams; the session ends when those that are open have.
  void GoAway();
  // Waits only a moment for the peer once all has been said.
  void Hurry();
  // Ends at once, saying why.
  void Terminate(Http2Error error);
  // Opens the window again for bytes that OnData gave.
  void Consumed(Http2Stream& stream, size_t bytes);
  // Whether the peer would allow a further stream of ours.
  bool CanOpen() const;
  bool going_away() const { return going_away_; }

  Runtime& runtime() { return runtime_; }
  Stream& stream() { return *stream_; }
  std::unordered_map<int32_t, std::shared_ptr<Http2Stream>>& streams() { return streams_; }
  const Http2Options& options() const { return options_; }
  // Destroys all streams, and the tasks that read and write; for the destructors of derived classes.
  void Drop();

 private:
  friend struct Http2Callbacks;
  friend class Http2Stream;

  Task<void> ReadLoop();
  Task<void> WriteLoop();
  std::vector<Bytes> Collect();
  void FlushSmall(std::vector<Bytes>* parts);
  void Kick();
  void End();
  void Bury();
  void Heard();
  void OnSilence();
  void WatchIdle();
  bool Alive() const;

  Runtime& runtime_;
  Http2Options options_;
  std::unique_ptr<Stream> stream_;
  nghttp2_session* session_ = nullptr;
  std::unordered_map<int32_t, std::shared_ptr<Http2Stream>> streams_;
  std::vector<std::shared_ptr<Http2Stream>> closed_;
  // While Collect runs: what has been framed so far.
  std::vector<Bytes>* collected_ = nullptr;
  std::string small_;
  size_t collected_bytes_ = 0;
  bool kicked_ = false;
  bool going_away_ = false;
  bool ping_sent_ = false;
  bool ended_ = false;
  Signal kick_, ended_signal_;
  // How long the peer may take to end its side once all has been said.
  Duration linger_ = std::chrono::milliseconds(500);
  Deadline idle_, write_, silence_, head_, finish_;
  std::unique_ptr<TaskGroup> group_;
};

}  // namespace homeostat::http::internal
