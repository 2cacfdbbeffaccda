// A file descriptor that the real runtime's loop watches: sockets, pipes, pidfds.
#pragma once

#include <coroutine>
#include <memory>

#include "homeostat/base/result.h"
#include "homeostat/base/runtime.h"

namespace homeostat::base_internal {

// Owns the descriptor. One waits for reading and one for writing at a time. Loop only.
class Descriptor {
 public:
  // Takes the descriptor over, also when it fails. `runtime` must be a RealRuntime: the simulated one has no descriptors.
  static Result<std::unique_ptr<Descriptor>> Watch(Runtime& runtime, int fd);
  // The error that Watch would give for this runtime, before anything is opened.
  static Result<void> Supported(Runtime& runtime);
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;

  struct Core;

  int fd() const;       // -1 once closed
  bool closed() const { return fd() < 0; }
  // Closes it and wakes who waits.
  void Close();

  enum class Side { kRead, kWrite };
  // `auto wait = descriptor.Wait(Side::kRead); co_await wait;` completes when the side may be ready, or was closed:
  // the caller tries again and may find that it is not.
  class Awaiter {
   public:
    Awaiter(std::shared_ptr<Core> core, Side side) : core_(std::move(core)), side_(side) {}
    Awaiter(const Awaiter&) = delete;
    ~Awaiter();
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle);
    void await_resume() noexcept { waiting_ = false; }

   private:
    std::shared_ptr<Core> core_;  // so that either may be destroyed first
    Side side_;
    bool waiting_ = false;
  };
  Awaiter Wait(Side side) { return Awaiter(core_, side); }

 private:
  explicit Descriptor(std::shared_ptr<Core> core) : core_(std::move(core)) {}
  std::shared_ptr<Core> core_;
};

}  // namespace homeostat::base_internal
