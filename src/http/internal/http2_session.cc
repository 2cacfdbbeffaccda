#include "http/internal/http2_session.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <new>

namespace homeostat::http::internal {

namespace {

constexpr size_t kCollectBytes = 256 * 1024;  // framed ahead of the socket
constexpr size_t kSmallPiece = 1024;          // copied rather than sent as a part of its own
constexpr uint64_t kNoLimit = uint64_t{1} << 40;
constexpr Duration kShortLinger = std::chrono::milliseconds(50);
constexpr size_t kLargestRead = 64 * 1024;

std::string_view View(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

std::vector<nghttp2_nv> MakeFields(const Http2Fields& fields) {
  std::vector<nghttp2_nv> made;
  made.reserve(fields.size());
  for (const auto& [name, value] : fields) {
    made.push_back({const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(name.data())),
                    const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(value.data())), name.size(), value.size(),
                    NGHTTP2_NV_FLAG_NONE});
  }
  return made;
}

}  // namespace

// nghttp2's side of the session. `user` is always the session.
struct Http2Callbacks {
  static Http2Session& Session(void* user) { return *static_cast<Http2Session*>(user); }
  static Http2Stream* Find(Http2Session& session, int32_t id) {
    auto stream = session.streams_.find(id);
    return stream == session.streams_.end() ? nullptr : stream->second.get();
  }

  // The stream is reset; the rest of its head is passed over.
  static int Drop(Http2Session& session) {
    session.head_.Clear();
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }

  static int BeginHeaders(nghttp2_session* raw, const nghttp2_frame* frame, void* user) {
    Http2Session& session = Session(user);
    if (session.options_.head_time > Duration::zero()) session.head_.Set(session.options_.head_time);
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    auto stream = session.OnOpen();
    if (!stream) return Drop(session);
    stream->id_ = frame->hd.stream_id;
    nghttp2_session_set_stream_user_data(raw, stream->id_, stream.get());
    session.streams_.emplace(stream->id_, std::move(stream));
    session.WatchIdle();
    return 0;
  }

  static int Header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                    const uint8_t* value, size_t value_size, uint8_t, void* user) {
    Http2Session& session = Session(user);
    Http2Stream* stream = Find(session, frame->hd.stream_id);
    if (stream == nullptr) return 0;
    bool trailer = frame->headers.cat == NGHTTP2_HCAT_HEADERS && session.options_.server;
    if (trailer) return 0;
    return session.OnField(*stream, View(name, name_size), View(value, value_size)) ? 0 : Drop(session);
  }

  // A field that HTTP does not allow: nghttp2 would drop it, but what one of two readers drops the other may see.
  static int InvalidHeader(nghttp2_session*, const nghttp2_frame*, const uint8_t*, size_t, const uint8_t*, size_t,
                           uint8_t, void* user) {
    return Drop(Session(user));
  }

  static int FrameReceived(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Http2Session& session = Session(user);
    switch (frame->hd.type) {
      case NGHTTP2_RST_STREAM:
        session.OnReset();
        return 0;
      case NGHTTP2_GOAWAY:
        session.going_away_ = true;
        session.OnGoAway();
        return 0;
      case NGHTTP2_SETTINGS:
        session.head_.Clear();
        return 0;
      case NGHTTP2_HEADERS:
        session.head_.Clear();
        break;
      case NGHTTP2_DATA:
        break;
      default:
        return 0;
    }
    Http2Stream* stream = Find(session, frame->hd.stream_id);
    if (stream == nullptr) return 0;
    bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    bool trailer =
        frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_HEADERS && session.options_.server;
    if (frame->hd.type == NGHTTP2_HEADERS && !trailer) session.OnHead(*stream, ends);
    if (ends) session.OnEnd(*stream);
    return 0;
  }

  static int InvalidFrame(nghttp2_session*, const nghttp2_frame*, int, void* user) {
    Session(user).OnReset();
    return 0;
  }

  static int Data(nghttp2_session*, uint8_t, int32_t id, const uint8_t* data, size_t size, void* user) {
    Http2Session& session = Session(user);
    nghttp2_session_consume_connection(session.session_, size);
    Http2Stream* stream = Find(session, id);
    if (stream != nullptr) session.OnData(*stream, View(data, size));
    return 0;
  }

  static int StreamClosed(nghttp2_session*, int32_t id, uint32_t error, void* user) {
    Http2Session& session = Session(user);
    auto found = session.streams_.find(id);
    if (found == session.streams_.end()) return 0;
    auto stream = std::move(found->second);
    session.streams_.erase(found);
    stream->stall_.Clear();
    session.OnClosed(*stream, error);
    session.closed_.push_back(std::move(stream));
    session.WatchIdle();
    return 0;
  }

  static int FrameSent(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Http2Session& session = Session(user);
    if (frame->hd.type == NGHTTP2_RST_STREAM && frame->rst_stream.error_code != NGHTTP2_NO_ERROR) session.OnReset();
    bool body = frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS;
    if (!body || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
    if (Http2Stream* stream = Find(session, frame->hd.stream_id)) session.OnEndSent(*stream);
    return 0;
  }

  // Frames as large as the peer takes: one list is then a few frames and not hundreds.
  static ssize_t FrameSize(nghttp2_session*, uint8_t, int32_t, int32_t session_window, int32_t stream_window,
                           uint32_t remote_max_frame, void*) {
    int64_t window = std::min(session_window, stream_window);
    return static_cast<ssize_t>(std::min<int64_t>({window, remote_max_frame, int64_t{kCollectBytes}}));
  }

  static ssize_t ReadBody(nghttp2_session*, int32_t, uint8_t*, size_t length, uint32_t* flags,
                          nghttp2_data_source* source, void*) {
    auto* stream = static_cast<Http2Stream*>(source->ptr);
    if (stream->unsent_ == 0 && !stream->out_ended_) {
      stream->deferred_ = true;
      return NGHTTP2_ERR_DEFERRED;
    }
    size_t count = std::min(length, stream->unsent_);
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (count == stream->unsent_ && stream->out_ended_) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(count);
  }

  static int SendBody(nghttp2_session*, nghttp2_frame*, const uint8_t* frame_head, size_t length,
                      nghttp2_data_source* source, void* user) {
    Http2Session& session = Session(user);
    if (session.collected_bytes_ >= kCollectBytes) return NGHTTP2_ERR_WOULDBLOCK;
    auto* stream = static_cast<Http2Stream*>(source->ptr);
    session.small_.append(View(frame_head, 9));
    session.collected_bytes_ += length + 9;
    stream->unsent_ -= length;
    while (length > 0) {
      Bytes& front = stream->out_.front();
      Bytes piece = front.Slice(0, length);
      length -= piece.size();
      front = front.Slice(piece.size());
      if (front.empty()) stream->out_.pop_front();
      if (piece.size() <= kSmallPiece) {
        session.small_.append(piece.view());
      } else {
        session.FlushSmall(session.collected_);
        session.collected_->push_back(std::move(piece));
      }
    }
    if (stream->unsent_ > 0) {
      stream->stall_.Set(session.options_.write_time);
    } else {
      stream->stall_.Clear();
      session.OnSent(*stream);
    }
    return 0;
  }

  static nghttp2_session_callbacks* Make() {
    nghttp2_session_callbacks* callbacks = nullptr;
    if (nghttp2_session_callbacks_new(&callbacks) != 0) throw std::bad_alloc();
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, &BeginHeaders);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, &Header);
    nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, &InvalidHeader);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &FrameReceived);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, &InvalidFrame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &Data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &StreamClosed);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, &FrameSent);
    nghttp2_session_callbacks_set_data_source_read_length_callback(callbacks, &FrameSize);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, &SendBody);
    return callbacks;
  }

  static nghttp2_session* MakeSession(Http2Session* session, bool server) {
    nghttp2_option* option = nullptr;
    if (nghttp2_option_new(&option) != 0) throw std::bad_alloc();
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_option_set_no_closed_streams(option, 1);
    // Its own bound on resets looks at the system's clock; ours is OnReset.
    nghttp2_option_set_stream_reset_rate_limit(option, kNoLimit, kNoLimit);
    nghttp2_option_set_max_send_header_block_length(option, session->options_.header_bytes);
    nghttp2_session_callbacks* callbacks = Make();
    nghttp2_session* raw = nullptr;
    int failed = server ? nghttp2_session_server_new2(&raw, callbacks, session, option)
                        : nghttp2_session_client_new2(&raw, callbacks, session, option);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_option_del(option);
    if (failed != 0) throw std::bad_alloc();
    return raw;
  }
};

Http2Stream::Http2Stream(Runtime& runtime, Http2Session& session)
    : stall_(runtime, [this, &session] { session.Reset(*this, Http2Error::kCancel); }) {}

Http2Session::Http2Session(Runtime& runtime, std::unique_ptr<Stream> stream, Http2Options options)
    : runtime_(runtime),
      options_(options),
      stream_(std::move(stream)),
      kick_(runtime),
      ended_signal_(runtime),
      idle_(runtime, [this] { Terminate(Http2Error::kNone); }),
      write_(runtime, [this] { End(); }),
      silence_(runtime, [this] { OnSilence(); }),
      head_(runtime, [this] { End(); }),
      finish_(runtime, [this] { End(); }),
      group_(std::make_unique<TaskGroup>(runtime)) {
  session_ = Http2Callbacks::MakeSession(this, options_.server);
}

Http2Session::~Http2Session() {
  Drop();
  nghttp2_session_del(session_);
}

void Http2Session::Drop() {
  group_.reset();
  auto streams = std::move(streams_);
  auto closed = std::move(closed_);
  streams_.clear();
  ended_ = true;
  stream_->Close();
}

void Http2Session::Start() {
  uint64_t all = uint64_t{options_.stream_window} * std::max<uint32_t>(options_.streams, 1);
  uint64_t window = options_.connection_window != 0 ? options_.connection_window : std::min<uint64_t>(all, 1u << 30);
  std::vector<nghttp2_settings_entry> settings = {
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, options_.stream_window},
      {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, options_.frame_bytes},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<uint32_t>(options_.header_bytes)},
      // Kubernetes' clients set no priorities; without them there is no tree of them to attack.
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
  };
  if (options_.server) {
    settings.push_back({NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, options_.streams});
  } else {
    settings.push_back({NGHTTP2_SETTINGS_ENABLE_PUSH, 0});
  }
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, static_cast<int32_t>(window));
  WatchIdle();
  Heard();
  if (options_.head_time > Duration::zero()) head_.Set(options_.head_time);  // for the peer's preface
  group_->Spawn(ReadLoop());
  group_->Spawn(WriteLoop());
}

Task<void> Http2Session::Wait() {
  while (!ended_) {
    auto wait = ended_signal_.Wait();
    co_await wait;
  }
}

bool Http2Session::Alive() const {
  return nghttp2_session_want_read(session_) != 0 || nghttp2_session_want_write(session_) != 0;
}

Task<void> Http2Session::ReadLoop() {
  std::vector<char> buffer(4096);
  while (true) {
    std::span<char> space(buffer);
    auto read = stream_->Read(space);
    Result<size_t> count = co_await read;
    if (!count || *count == 0) break;
    if (nghttp2_session_want_read(session_) == 0) continue;  // all has been said; see WriteLoop
    Heard();
    ssize_t used = nghttp2_session_mem_recv(session_, reinterpret_cast<const uint8_t*>(buffer.data()), *count);
    Bury();
    // Not even the preface, or a flood of pings: nghttp2 gives up.
    if (used < 0) nghttp2_session_terminate_session(session_, NGHTTP2_PROTOCOL_ERROR);
    Kick();
    if (*count == buffer.size() && buffer.size() < kLargestRead) buffer.resize(buffer.size() * 2);
  }
  End();
}

Task<void> Http2Session::WriteLoop() {
  bool failed = false;
  while (!ended_ && !failed) {
    kicked_ = false;
    std::vector<Bytes> parts = Collect();
    Bury();
    if (!parts.empty()) {
      write_.Set(options_.write_time);
      auto write = stream_->Write(std::move(parts));
      Result<void> written = co_await write;
      write_.Clear();
      failed = !written;
      continue;
    }
    if (!Alive()) break;
    while (!kicked_ && !ended_) {
      auto wait = kick_.Wait();
      co_await wait;
    }
  }
  if (ended_) co_return;
  // A server that can't write has lost its client. A client may still have an answer to read.
  if (failed && options_.server) co_return End();
  // Closing a socket with unread input throws away what the peer hasn't fetched yet: the reader goes on until its end.
  if (!failed) stream_->CloseWrite();
  finish_.Set(linger_);
}

std::vector<Bytes> Http2Session::Collect() {
  std::vector<Bytes> parts;
  collected_ = &parts;
  collected_bytes_ = 0;
  while (collected_bytes_ < kCollectBytes) {
    const uint8_t* data = nullptr;
    ssize_t size = nghttp2_session_mem_send(session_, &data);
    if (size <= 0) break;
    small_.append(View(data, static_cast<size_t>(size)));
    collected_bytes_ += static_cast<size_t>(size);
  }
  FlushSmall(&parts);
  collected_ = nullptr;
  return parts;
}

void Http2Session::FlushSmall(std::vector<Bytes>* parts) {
  if (!small_.empty()) parts->push_back(std::exchange(small_, {}));
}

void Http2Session::Kick() {
  kicked_ = true;
  kick_.Notify();
}

void Http2Session::End() {
  if (ended_) return;
  ended_ = true;
  stream_->Close();
  kick_.Notify();
  OnSessionEnd();
  ended_signal_.Notify();
}

void Http2Session::Bury() { auto closed = std::exchange(closed_, {}); }

void Http2Session::Heard() {
  if (options_.ping_after <= Duration::zero()) return;
  ping_sent_ = false;
  silence_.Set(options_.ping_after);
}

void Http2Session::OnSilence() {
  if (ping_sent_) return End();
  ping_sent_ = true;
  nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
  silence_.Set(options_.ping_time);
  Kick();
}

void Http2Session::WatchIdle() {
  if (options_.idle_time <= Duration::zero()) return;
  if (streams_.empty()) {
    idle_.Set(options_.idle_time);
  } else {
    idle_.Clear();
  }
}

bool Http2Session::CanOpen() const {
  return !ended_ && !going_away_ && nghttp2_session_check_request_allowed(session_) != 0 &&
         streams_.size() < nghttp2_session_get_remote_settings(session_, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
}

bool Http2Session::Open(std::shared_ptr<Http2Stream> stream, const Http2Fields& fields, bool ends) {
  if (!CanOpen()) return false;
  std::vector<nghttp2_nv> made = MakeFields(fields);
  nghttp2_data_provider body = {{.ptr = stream.get()}, &Http2Callbacks::ReadBody};
  int32_t id =
      nghttp2_submit_request(session_, nullptr, made.data(), made.size(), ends ? nullptr : &body, stream.get());
  if (id < 0) return false;
  stream->id_ = id;
  streams_.emplace(id, std::move(stream));
  WatchIdle();
  Kick();
  return true;
}

void Http2Session::Respond(Http2Stream& stream, const Http2Fields& fields, bool ends) {
  std::vector<nghttp2_nv> made = MakeFields(fields);
  nghttp2_data_provider body = {{.ptr = &stream}, &Http2Callbacks::ReadBody};
  nghttp2_submit_response(session_, stream.id_, made.data(), made.size(), ends ? nullptr : &body);
  Kick();
}

void Http2Session::SendInformational(Http2Stream& stream, int code) {
  Http2Fields fields = {{":status", std::to_string(code)}};
  std::vector<nghttp2_nv> made = MakeFields(fields);
  nghttp2_submit_headers(session_, NGHTTP2_FLAG_NONE, stream.id_, nullptr, made.data(), made.size(), nullptr);
  Kick();
}

void Http2Session::Send(Http2Stream& stream, Bytes piece) {
  if (piece.empty()) return;
  stream.unsent_ += piece.size();
  stream.out_.push_back(std::move(piece));
  if (!stream.stall_.set()) stream.stall_.Set(options_.write_time);
  if (std::exchange(stream.deferred_, false)) nghttp2_session_resume_data(session_, stream.id_);
  Kick();
}

void Http2Session::EndBody(Http2Stream& stream) {
  stream.out_ended_ = true;
  if (std::exchange(stream.deferred_, false)) nghttp2_session_resume_data(session_, stream.id_);
  Kick();
}

void Http2Session::Reset(Http2Stream& stream, Http2Error error) {
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream.id_, static_cast<uint32_t>(error));
  Kick();
}

void Http2Session::GoAway() {
  if (std::exchange(going_away_, true)) return;
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session_),
                        NGHTTP2_NO_ERROR, nullptr, 0);
  Kick();
}

void Http2Session::Hurry() {
  linger_ = kShortLinger;
  if (finish_.set()) finish_.Set(linger_);
}

void Http2Session::Terminate(Http2Error error) {
  going_away_ = true;
  nghttp2_session_terminate_session(session_, static_cast<uint32_t>(error));
  Kick();
}

void Http2Session::Consumed(Http2Stream& stream, size_t bytes) {
  nghttp2_session_consume_stream(session_, stream.id_, bytes);
  Kick();
}

}  // namespace homeostat::http::internal
