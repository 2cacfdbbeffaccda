// Metrics in Prometheus' data model: counters, gauges and histograms in families with labels, rendered as its text format.
//
//   auto& requests = registry.Counters("apiserver_request_total", "Requests by verb and code.", {"verb", "code"});
//   requests.With({"GET", "200"}).Add();
//
// Values may be changed from any thread without a lock; With takes a shared lock and allocates only for a new series, so
// hot paths keep the reference it returns, which stays valid as long as the registry.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace homeostat {

// Only ever grows.
class Counter {
 public:
  void Add(double amount = 1) { value_.fetch_add(amount, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_ = 0;
};

class Gauge {
 public:
  void Set(double value) { value_.store(value, std::memory_order_relaxed); }
  void Add(double amount = 1) { value_.fetch_add(amount, std::memory_order_relaxed); }
  void Subtract(double amount = 1) { Add(-amount); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_ = 0;
};

class Histogram {
 public:
  // `bounds`: the buckets' upper bounds, rising, without infinity; must outlive the histogram.
  explicit Histogram(const std::vector<double>& bounds);
  void Observe(double value);
  uint64_t count() const;
  double sum() const { return sum_.load(std::memory_order_relaxed); }
  // Observations in bucket i alone (not the smaller ones); i == bounds.size() is the rest.
  uint64_t in_bucket(size_t i) const { return buckets_[i].load(std::memory_order_relaxed); }

 private:
  const std::vector<double>& bounds_;
  std::unique_ptr<std::atomic<uint64_t>[]> buckets_;
  std::atomic<double> sum_ = 0;
};

using LabelNames = std::vector<std::string>;
using LabelValues = std::initializer_list<std::string_view>;

namespace metrics_internal {

// Series by label values. The key is the values, each with its end marked, so that it is built without joining rules.
class FamilyBase {
 public:
  FamilyBase(std::string name, std::string help, std::string_view type, LabelNames labels)
      : name_(std::move(name)), help_(std::move(help)), type_(type), labels_(std::move(labels)) {}
  virtual ~FamilyBase() = default;
  const std::string& name() const { return name_; }
  std::string_view type() const { return type_; }
  virtual void Render(std::string& out) const = 0;

 protected:
  std::string Key(std::span<const std::string_view> values) const;
  void RenderHead(std::string& out) const;
  // name_suffix{labels…,extra="…"} value
  void RenderSample(std::string& out, std::string_view suffix, const std::string& key, std::string_view extra_label,
                    std::string_view extra_value, double value) const;
  mutable std::shared_mutex mutex_;

 private:
  std::string name_, help_;
  std::string_view type_;
  LabelNames labels_;
};

}  // namespace metrics_internal

// All series of one name. T is Counter, Gauge or Histogram.
template <class T>
class MetricFamily : public metrics_internal::FamilyBase {
 public:
  MetricFamily(std::string name, std::string help, LabelNames labels, std::vector<double> bounds);
  // The series with these values, in the order of the label names; made if it is new. A wrong number of values is a bug
  // in the caller: the missing ones count as empty, further ones are dropped.
  T& With(LabelValues values) { return With(std::span<const std::string_view>(values.begin(), values.size())); }
  T& With(std::span<const std::string_view> values);
  // The series without labels.
  T& Only() { return With(std::span<const std::string_view>()); }
  void Remove(LabelValues values);
  void Clear();
  void Render(std::string& out) const override;

 private:
  std::vector<double> bounds_;
  // Removed series stay allocated: someone may hold a reference.
  std::map<std::string, T*, std::less<>> series_;
  std::deque<T> storage_;
};

using CounterFamily = MetricFamily<Counter>;
using GaugeFamily = MetricFamily<Gauge>;
using HistogramFamily = MetricFamily<Histogram>;

class MetricsRegistry {
 public:
  MetricsRegistry();
  ~MetricsRegistry();
  MetricsRegistry(const MetricsRegistry&) = delete;

  // The family of that name, made if it is new. Asking for an existing name with another type is a bug and aborts.
  CounterFamily& Counters(std::string_view name, std::string_view help, LabelNames labels = {});
  GaugeFamily& Gauges(std::string_view name, std::string_view help, LabelNames labels = {});
  HistogramFamily& Histograms(std::string_view name, std::string_view help, LabelNames labels, std::vector<double> bounds);

  // Called before each rendering, to set gauges whose values lie elsewhere.
  void BeforeRender(std::function<void()> update);
  // process_cpu_seconds_total, process_resident_memory_bytes, process_open_fds … from /proc/self.
  void AddProcessMetrics();

  // Everything in Prometheus' text format 0.0.4, families by name.
  std::string Render();

 private:
  template <class T>
  MetricFamily<T>& Family(std::string_view name, std::string_view help, LabelNames labels, std::vector<double> bounds);

  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<metrics_internal::FamilyBase>, std::less<>> families_;
  std::vector<std::function<void()>> updates_;
};

// The Content-Type of Render.
inline constexpr std::string_view kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

// `count` bounds from `start`, each `factor` times the one before.
std::vector<double> ExponentialBounds(double start, double factor, int count);

}  // namespace homeostat
