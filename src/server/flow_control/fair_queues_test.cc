#include "server/flow_control/fair_queues.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <set>

namespace homeostat::server {
namespace {

using State = FlowTicket::State;

MonotonicTime At(int milliseconds) { return MonotonicTime(std::chrono::milliseconds(milliseconds)); }

FlowLimits Queued(int seats, int queues, int length) {
  return {.nominal_seats = seats, .kept_seats = seats, .most_seats = seats, .queues = queues, .hand_size = 2, .queue_length = length};
}

TEST(DealHand, GivesDifferentCardsOfTheDeck) {
  for (uint64_t hash : {uint64_t{0}, uint64_t{1}, uint64_t{12345678901234}, ~uint64_t{0}}) {
    for (int deck : {1, 2, 16, 128}) {
      std::vector<int> hand(6);
      hand.resize(static_cast<size_t>(DealHand(hash, deck, hand)));
      EXPECT_EQ(hand.size(), static_cast<size_t>(std::min(deck, 6)));
      EXPECT_TRUE(std::ranges::is_sorted(hand));
      EXPECT_EQ(std::set<int>(hand.begin(), hand.end()).size(), hand.size());
      EXPECT_GE(hand.front(), 0);
      EXPECT_LT(hand.back(), deck);
    }
  }
}

TEST(NominalSeats, AreSharesRoundedUp) {
  EXPECT_EQ(NominalSeats(600, 30, 245), 74);
  EXPECT_EQ(NominalSeats(600, 0, 245), 0);
  EXPECT_EQ(NominalSeats(600, 5, 0), 0);
}

TEST(FlowLevel, RefusesWithoutQueuesAndWhenTheyAreFull) {
  FlowSeats seats{10, 0};
  FlowLevel none("none", seats, {.nominal_seats = 1, .kept_seats = 1, .most_seats = 1});
  FlowTicket a, b;
  EXPECT_TRUE(none.Arrive(a, 1, At(0)));
  EXPECT_FALSE(none.Arrive(b, 1, At(0)));
  EXPECT_EQ(none.counts().rejected, 1u);
  none.Leave(a, At(1));
  EXPECT_TRUE(none.Arrive(b, 1, At(1)));
  none.Leave(b, At(1));
  EXPECT_EQ(seats.in_use, 0);

  FlowLevel short_queues("short", seats, Queued(1, 1, 1));
  FlowTicket running, waiting, refused;
  EXPECT_TRUE(short_queues.Arrive(running, 1, At(0)));
  EXPECT_TRUE(short_queues.Arrive(waiting, 2, At(0)));
  EXPECT_EQ(waiting.state(), State::kWaiting);
  EXPECT_FALSE(short_queues.Arrive(refused, 3, At(0)));
  EXPECT_EQ(short_queues.Dispatch(At(0)), nullptr);
  short_queues.Leave(running, At(5));
  EXPECT_EQ(short_queues.Dispatch(At(5)), &waiting);
  EXPECT_EQ(waiting.state(), State::kRunning);
  short_queues.Leave(waiting, At(6));
  EXPECT_TRUE(short_queues.idle());
  EXPECT_EQ(seats.in_use, 0);
}

TEST(FlowLevel, ExemptNeverWaits) {
  FlowSeats seats{1, 1};
  FlowLevel level("exempt", seats, {.exempt = true, .nominal_seats = 0, .kept_seats = 0, .most_seats = 0});
  std::deque<FlowTicket> tickets(50);
  for (FlowTicket& ticket : tickets) EXPECT_TRUE(level.Arrive(ticket, 1, At(0)));
  EXPECT_EQ(level.running(), 50);
  EXPECT_EQ(seats.in_use, 1);
  for (FlowTicket& ticket : tickets) level.Leave(ticket, At(1));
}

// What a level doesn't need others may have, but not what it keeps.
TEST(FlowLevel, BorrowsWhatIsFree) {
  FlowSeats seats{10, 0};
  FlowLimits limits{.nominal_seats = 5, .kept_seats = 2, .most_seats = 10};
  FlowLevel first("first", seats, limits), second("second", seats, limits);
  std::deque<FlowTicket> tickets(14);
  int of_first = 0;
  while (of_first < 12 && first.Arrive(tickets[static_cast<size_t>(of_first)], 1, At(0))) ++of_first;
  EXPECT_EQ(of_first, 10);
  EXPECT_TRUE(second.Arrive(tickets[11], 1, At(0)));
  EXPECT_TRUE(second.Arrive(tickets[12], 1, At(0)));
  EXPECT_FALSE(second.Arrive(tickets[13], 1, At(0)));
}

// A flow that sends a hundred times as much gets no more than its part.
TEST(FlowLevel, IsFairBetweenFlows) {
  FlowSeats seats{1, 0};
  FlowLevel level("fair", seats, Queued(1, 64, 200));
  std::deque<FlowTicket> loud(100), quiet(5);
  FlowTicket first;
  ASSERT_TRUE(level.Arrive(first, 7, At(0)));
  for (FlowTicket& ticket : loud) ASSERT_TRUE(level.Arrive(ticket, 0x1234567890, At(0)));
  for (FlowTicket& ticket : quiet) ASSERT_TRUE(level.Arrive(ticket, 0x9876543210ABCD, At(1)));
  level.Leave(first, At(10));
  int now = 10, served = 0, quiet_served_by = 0;
  while (FlowTicket* next = level.Dispatch(At(now))) {
    ++served;
    for (FlowTicket& ticket : quiet) {
      if (&ticket == next) quiet_served_by = served;
    }
    now += 10;
    level.Leave(*next, At(now));
  }
  EXPECT_EQ(served, 105);
  EXPECT_LE(quiet_served_by, 20);
  EXPECT_TRUE(level.idle());
}

TEST(FlowLevel, NewLimitsKeepWhoWaits) {
  FlowSeats seats{10, 0};
  FlowLevel level("changing", seats, Queued(1, 8, 5));
  std::deque<FlowTicket> tickets(5);
  uint64_t flow = 1;
  for (FlowTicket& ticket : tickets) ASSERT_TRUE(level.Arrive(ticket, flow++ * 77, At(0)));
  EXPECT_EQ(level.waiting(), 4);
  level.SetLimits(Queued(3, 2, 5));
  EXPECT_EQ(level.waiting(), 4);
  EXPECT_NE(level.Dispatch(At(1)), nullptr);
  level.SetLimits({.nominal_seats = 1, .kept_seats = 1, .most_seats = 1});
  EXPECT_EQ(level.waiting(), 3);
  level.SetLimits({.exempt = true});
  EXPECT_EQ(seats.in_use, 0);
  int dispatched = 0;
  while (level.Dispatch(At(2)) != nullptr) ++dispatched;
  EXPECT_EQ(dispatched, 3);
  for (FlowTicket& ticket : tickets) level.Leave(ticket, At(3));
  EXPECT_TRUE(level.idle());
  EXPECT_EQ(seats.in_use, 0);
}

TEST(FlowLevel, CountsWhoGaveUp) {
  FlowSeats seats{1, 0};
  FlowLevel level("l", seats, Queued(1, 4, 5));
  FlowTicket running, bored, gone;
  ASSERT_TRUE(level.Arrive(running, 1, At(0)));
  ASSERT_TRUE(level.Arrive(bored, 2, At(0)));
  ASSERT_TRUE(level.Arrive(gone, 3, At(0)));
  level.Leave(bored, At(9), true);
  level.Leave(gone, At(9));
  EXPECT_EQ(level.counts().timed_out, 1u);
  EXPECT_EQ(level.counts().cancelled, 1u);
  EXPECT_EQ(level.waiting(), 0);
  level.Leave(running, At(9));
  EXPECT_EQ(level.Dispatch(At(9)), nullptr);
}

}  // namespace
}  // namespace homeostat::server
