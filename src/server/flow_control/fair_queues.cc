#include "server/flow_control/fair_queues.h"

#include <algorithm>
#include <utility>

namespace homeostat::server {
namespace {

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

void FlowTickets::Append(FlowTicket& ticket) {
  ticket.previous_ = last_;
  ticket.next_ = nullptr;
  (last_ == nullptr ? first_ : last_->next_) = &ticket;
  last_ = &ticket;
  ++size_;
}

void FlowTickets::Remove(FlowTicket& ticket) {
  (ticket.previous_ == nullptr ? first_ : ticket.previous_->next_) = ticket.next_;
  (ticket.next_ == nullptr ? last_ : ticket.next_->previous_) = ticket.previous_;
  ticket.previous_ = ticket.next_ = nullptr;
  --size_;
}

int DealHand(uint64_t hash, int deck_size, std::span<int> hand) {
  const int cards = std::min(deck_size, static_cast<int>(hand.size()));
  for (int dealt = 0; dealt < cards; ++dealt) {
    auto left = static_cast<uint64_t>(deck_size - dealt);
    int card = static_cast<int>(hash % left);
    hash /= left;
    // The card counts among those that are left: step over those that are dealt.
    auto at = hand.begin();
    for (; at != hand.begin() + dealt && card >= *at; ++at) ++card;
    std::copy_backward(at, hand.begin() + dealt, hand.begin() + dealt + 1);
    *at = card;
  }
  return cards;
}

int NominalSeats(int server_seats, int64_t share, int64_t all_shares) {
  if (all_shares <= 0 || share <= 0) return 0;
  return static_cast<int>((server_seats * share + all_shares - 1) / all_shares);
}

FlowLevel::FlowLevel(std::string name, FlowSeats& seats, FlowLimits limits)
    : name_(std::move(name)), seats_(seats), limits_(limits), queues_(static_cast<size_t>(std::max(limits.queues, 0))) {}

void FlowLevel::SetLimits(FlowLimits limits) {
  bool was_exempt = std::exchange(limits_, limits).exempt;
  if (was_exempt != limits.exempt) seats_.in_use += limits.exempt ? -running_ : running_;
  auto count = static_cast<size_t>(std::max(limits.queues, 0));
  // Nobody who has waited is refused for a change of the queues.
  if (count == 0 && waiting_ > 0) count = std::min<size_t>(queues_.size(), 1);
  if (count == queues_.size()) return;
  std::vector<Queue> before = std::exchange(queues_, std::vector<Queue>(count));
  for (Queue& queue : before) {
    while (FlowTicket* ticket = queue.running.first()) {
      queue.running.Remove(*ticket);
      ticket->queue_ = count == 0 ? -1 : static_cast<int>(ticket->flow_ % count);
      RunningOf(*ticket).Append(*ticket);
    }
    while (FlowTicket* ticket = queue.waiting.first()) {
      queue.waiting.Remove(*ticket);
      ticket->queue_ = static_cast<int>(ticket->flow_ % count);
      queues_[static_cast<size_t>(ticket->queue_)].waiting.Append(*ticket);
    }
  }
}

bool FlowLevel::HasSeat() const {
  if (limits_.exempt || running_ < limits_.kept_seats) return true;
  return running_ < limits_.most_seats && seats_.in_use < seats_.limit;
}

FlowTickets& FlowLevel::RunningOf(const FlowTicket& ticket) {
  return ticket.queue_ < 0 ? running_without_queue_ : queues_[static_cast<size_t>(ticket.queue_)].running;
}

int FlowLevel::ShortestOfHand(uint64_t flow) const {
  constexpr int kMostCards = 16;
  int hand[kMostCards], best = -1;
  const int dealt = DealHand(flow, static_cast<int>(queues_.size()), std::span(hand).first(static_cast<size_t>(std::clamp(limits_.hand_size, 0, kMostCards))));
  for (int i = 0; i < dealt; ++i) {
    const Queue& queue = queues_[static_cast<size_t>(hand[i])];
    if (best < 0) {
      best = hand[i];
      continue;
    }
    const Queue& shortest = queues_[static_cast<size_t>(best)];
    if (std::pair(queue.waiting.size(), queue.running.size()) < std::pair(shortest.waiting.size(), shortest.running.size())) best = hand[i];
  }
  return best;
}

void FlowLevel::Start(FlowTicket& ticket, MonotonicTime now) {
  ticket.state_ = FlowTicket::State::kRunning;
  ticket.started_ = now;
  ++running_;
  ++counts_.dispatched;
  if (!limits_.exempt) ++seats_.in_use;
  if (ticket.queue_ >= 0) {
    Queue& queue = queues_[static_cast<size_t>(ticket.queue_)];
    virtual_time_ = std::max(virtual_time_, queue.next_service);
    queue.next_service += kGuessedService;
  }
  RunningOf(ticket).Append(ticket);
}

bool FlowLevel::Arrive(FlowTicket& ticket, uint64_t flow, MonotonicTime now) {
  ticket.flow_ = flow;
  ticket.arrived_ = now;
  ticket.queue_ = limits_.exempt || queues_.empty() ? -1 : ShortestOfHand(flow);
  if (ticket.queue_ >= 0) {
    Queue& queue = queues_[static_cast<size_t>(ticket.queue_)];
    // Who has not been here for long gets nothing for that.
    if (queue.waiting.empty() && queue.running.empty()) queue.next_service = std::max(queue.next_service, virtual_time_);
  }
  if (waiting_ == 0 && HasSeat()) {
    Start(ticket, now);
    return true;
  }
  if (ticket.queue_ < 0 || queues_[static_cast<size_t>(ticket.queue_)].waiting.size() >= limits_.queue_length) {
    ++counts_.rejected;
    return false;
  }
  ticket.state_ = FlowTicket::State::kWaiting;
  queues_[static_cast<size_t>(ticket.queue_)].waiting.Append(ticket);
  ++waiting_;
  return true;
}

void FlowLevel::Leave(FlowTicket& ticket, MonotonicTime now, bool timed_out) {
  FlowTicket::State state = std::exchange(ticket.state_, FlowTicket::State::kNone);
  if (state == FlowTicket::State::kWaiting) {
    queues_[static_cast<size_t>(ticket.queue_)].waiting.Remove(ticket);
    --waiting_;
    ++(timed_out ? counts_.timed_out : counts_.cancelled);
  } else if (state == FlowTicket::State::kRunning) {
    RunningOf(ticket).Remove(ticket);
    --running_;
    if (!limits_.exempt) --seats_.in_use;
    if (ticket.queue_ >= 0) queues_[static_cast<size_t>(ticket.queue_)].next_service += Seconds(now - ticket.started_) - kGuessedService;
  }
}

FlowTicket* FlowLevel::Dispatch(MonotonicTime now) {
  if (waiting_ == 0 || !HasSeat()) return nullptr;
  Queue* next = nullptr;
  for (Queue& queue : queues_) {
    if (!queue.waiting.empty() && (next == nullptr || queue.next_service < next->next_service)) next = &queue;
  }
  FlowTicket* ticket = next->waiting.first();
  next->waiting.Remove(*ticket);
  --waiting_;
  Start(*ticket, now);
  return ticket;
}

}  // namespace homeostat::server
