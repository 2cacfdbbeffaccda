// Seats and queues of priority levels.
//
// A level has seats, some of its own that nobody else may take, some that it lends while it does not need them. A request takes one seat
// or waits in one of the level's queues; which, its flow decides: a few queues that are dealt to it from all (shuffle sharding), of these
// the shortest. A seat that becomes free goes to the queue that has had the least service (start-time fair queueing), so that a flow
// that sends much does not keep the others waiting.
//
// States of a ticket: none → running → none, none → waiting → running → none, none → waiting → none (given up), none (refused).
//
// Pure: nothing here waits or reads a clock. Loop only. Source of the rules: KEP-1040 and apiserver's util/flowcontrol/fairqueuing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/runtime.h"

namespace homeostat::server {

struct FlowLimits {
  bool exempt = false;      // never waits, and counts for nothing
  int nominal_seats = 1;    // the level's share
  int kept_seats = 1;       // of these, those that it doesn't lend
  int most_seats = 1;       // with all that it may borrow
  int queues = 0;           // 0: what finds no seat is refused
  int hand_size = 1;
  int queue_length = 0;     // waiting requests of one queue
  bool operator==(const FlowLimits&) const = default;
};

// The server's seats, which all levels share.
struct FlowSeats {
  int limit = 0;
  int in_use = 0;
};

class FlowLevel;

// A request's place. Must not move while it is running or waiting; give it up with the level's Leave.
class FlowTicket {
 public:
  enum class State : uint8_t { kNone, kWaiting, kRunning };
  FlowTicket() = default;
  FlowTicket(const FlowTicket&) = delete;
  FlowTicket& operator=(const FlowTicket&) = delete;

  State state() const { return state_; }
  int queue() const { return queue_; }     // -1: none
  uint64_t flow() const { return flow_; }
  MonotonicTime arrived() const { return arrived_; }
  MonotonicTime started() const { return started_; }
  const FlowTicket* next() const { return next_; }

 private:
  friend class FlowLevel;
  friend class FlowTickets;
  State state_ = State::kNone;
  int queue_ = -1;
  uint64_t flow_ = 0;
  MonotonicTime arrived_{}, started_{};
  FlowTicket* previous_ = nullptr;
  FlowTicket* next_ = nullptr;
};

// Tickets in order of arrival; they are not owned.
class FlowTickets {
 public:
  bool empty() const { return first_ == nullptr; }
  int size() const { return size_; }
  FlowTicket* first() const { return first_; }
  void Append(FlowTicket& ticket);
  void Remove(FlowTicket& ticket);

 private:
  FlowTicket* first_ = nullptr;
  FlowTicket* last_ = nullptr;
  int size_ = 0;
};

struct FlowCounts {
  uint64_t dispatched = 0, rejected = 0, timed_out = 0, cancelled = 0;
};

class FlowLevel {
 public:
  struct Queue {
    FlowTickets waiting, running;
    double next_service = 0;  // seconds of service; what begins next begins then
  };

  FlowLevel(std::string name, FlowSeats& seats, FlowLimits limits);

  // Takes a seat, or a place in a queue; false: refused. flow: a hash of what tells flows apart.
  bool Arrive(FlowTicket& ticket, uint64_t flow, MonotonicTime now);
  // The request is answered, or nobody waits for it any more. timed_out: it waited for too long. Seats that become free are not
  // given to others yet: Dispatch does that.
  void Leave(FlowTicket& ticket, MonotonicTime now, bool timed_out = false);
  // Starts one that waits, if there is a seat for it; null if not.
  FlowTicket* Dispatch(MonotonicTime now);

  // From now on. Those that wait stay, in the queues that there are then.
  void SetLimits(FlowLimits limits);

  const std::string& name() const { return name_; }
  const FlowLimits& limits() const { return limits_; }
  const FlowCounts& counts() const { return counts_; }
  int waiting() const { return waiting_; }
  int running() const { return running_; }
  bool idle() const { return waiting_ == 0 && running_ == 0; }
  const std::vector<Queue>& queues() const { return queues_; }
  const FlowTickets& running_without_queue() const { return running_without_queue_; }

  std::string uid;          // of the configuration
  bool quiescing = false;   // no longer configured; goes when it is idle

 private:
  bool HasSeat() const;
  void Start(FlowTicket& ticket, MonotonicTime now);
  int ShortestOfHand(uint64_t flow) const;
  FlowTickets& RunningOf(const FlowTicket& ticket);

  std::string name_;
  FlowSeats& seats_;
  FlowLimits limits_;
  FlowCounts counts_;
  int waiting_ = 0, running_ = 0;
  double virtual_time_ = 0;
  std::vector<Queue> queues_;
  FlowTickets running_without_queue_;
};

// What a request is taken to need until it has shown what it needs: seconds.
inline constexpr double kGuessedService = 0.003;

// Deals as many different cards of a deck as the hand has room for, by the hash, in increasing order; returns how many.
int DealHand(uint64_t hash, int deck_size, std::span<int> hand);

// The shares of the server's seats, rounded up. share 0: none.
int NominalSeats(int server_seats, int64_t share, int64_t all_shares);

}  // namespace homeostat::server
