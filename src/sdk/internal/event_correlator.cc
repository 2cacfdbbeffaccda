#include "sdk/internal/event_correlator.h"

#include <algorithm>

namespace homeostat::sdk {
namespace {

constexpr double kBurst = 25;
constexpr double kTokensPerSecond = 1.0 / 300;
constexpr size_t kMostDifferent = 10;
constexpr Duration kSimilarFor = std::chrono::seconds(600);
constexpr std::string_view kSimilarPrefix = "(combined from similar events): ";

// Parts that can't run into each other.
std::string Key(std::initializer_list<std::string_view> parts) {
  std::string key;
  for (std::string_view part : parts) key.append(part).push_back('\0');
  return key;
}

}  // namespace

bool EventCorrelator::TakeToken(const Input& input, MonotonicTime now) {
  bool added = false;
  Bucket& bucket = buckets_.Use(Key({input.source, input.object}), added);
  if (added) bucket = {kBurst, now};
  double seconds = std::chrono::duration<double>(now - bucket.at).count();
  bucket.tokens = std::min(kBurst, bucket.tokens + seconds * kTokensPerSecond);
  bucket.at = now;
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

std::pair<std::string, std::string> EventCorrelator::Aggregate(const Input& input, MonotonicTime now) {
  std::string key = Key({input.source, input.object, input.type, input.reason});
  bool added = false;
  Similar& similar = similar_.Use(key, added);
  if (added || now - similar.last > kSimilarFor) similar.messages.clear();
  similar.last = now;
  similar.messages.insert(input.message);
  if (similar.messages.size() < kMostDifferent) {
    return {Key({input.source, input.object, input.part, input.type, input.reason, input.message}), input.message};
  }
  similar.messages.erase(similar.messages.begin());
  return {std::move(key), std::string(kSimilarPrefix) + input.message};
}

std::optional<EventCorrelator::Output> EventCorrelator::Correlate(const Input& input, const std::string& name,
                                                                  const std::string& timestamp, MonotonicTime now) {
  auto [key, message] = Aggregate(input, now);
  bool added = false;
  Observed& observed = observed_.Use(key, added);
  Observed next = added ? Observed{name, timestamp, 0} : observed;
  ++next.count;
  if (!TakeToken(input, now)) {
    if (added) observed_.Erase(key);
    return std::nullopt;
  }
  observed = next;
  return Output{std::move(key), next.name, std::move(message), next.first_timestamp, next.count};
}

}  // namespace homeostat::sdk
