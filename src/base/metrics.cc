#include "homeostat/base/metrics.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>

namespace homeostat {
namespace {

// As Go's exposition prints numbers: the shortest text, with an exponent below 1e-4 and from 1e+06 on.
void AppendValue(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value > 0 ? "+Inf" : "-Inf";
  } else {
    char text[40];
    double magnitude = std::fabs(value);
    bool exponent = magnitude != 0 && (magnitude < 1e-4 || magnitude >= 1e6);
    auto format = exponent ? std::chars_format::scientific : std::chars_format::fixed;
    out.append(text, std::to_chars(text, text + sizeof text, value, format).ptr);
  }
}

void AppendEscaped(std::string& out, std::string_view text, bool quotes) {
  for (char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && quotes) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
}

template <class T>
constexpr std::string_view TypeName() {
  if constexpr (std::is_same_v<T, Counter>) return "counter";
  if constexpr (std::is_same_v<T, Gauge>) return "gauge";
  return "histogram";
}

constexpr char kValueEnd = '\xff';  // never part of UTF-8

}  // namespace

Histogram::Histogram(const std::vector<double>& bounds)
    : bounds_(bounds), buckets_(std::make_unique<std::atomic<uint64_t>[]>(bounds.size() + 1)) {}

void Histogram::Observe(double value) {
  auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  buckets_[static_cast<size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

uint64_t Histogram::count() const {
  uint64_t total = 0;
  for (size_t i = 0; i <= bounds_.size(); ++i) total += in_bucket(i);
  return total;
}

namespace metrics_internal {

std::string FamilyBase::Key(std::span<const std::string_view> values) const {
  std::string key;
  for (size_t i = 0; i < labels_.size(); ++i) {
    if (i < values.size()) key += values[i];
    key += kValueEnd;
  }
  return key;
}

void FamilyBase::RenderHead(std::string& out) const {
  out.append("# HELP ").append(name_).append(" ");
  AppendEscaped(out, help_, false);
  out.append("\n# TYPE ").append(name_).append(" ").append(type_).append("\n");
}

void FamilyBase::RenderSample(std::string& out, std::string_view suffix, const std::string& key, std::string_view extra_label,
                              std::string_view extra_value, double value) const {
  out.append(name_).append(suffix);
  char separator = '{';
  auto label = [&](std::string_view name, std::string_view text) {
    out += std::exchange(separator, ',');
    out.append(name).append("=\"");
    AppendEscaped(out, text, true);
    out += '"';
  };
  std::string_view rest = key;
  for (const std::string& name : labels_) {
    size_t end = rest.find(kValueEnd);
    label(name, rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  if (!extra_label.empty()) label(extra_label, extra_value);
  if (separator == ',') out += '}';
  out += ' ';
  AppendValue(out, value);
  out += '\n';
}

}  // namespace metrics_internal

template <class T>
MetricFamily<T>::MetricFamily(std::string name, std::string help, LabelNames labels, std::vector<double> bounds)
    : FamilyBase(std::move(name), std::move(help), TypeName<T>(), std::move(labels)), bounds_(std::move(bounds)) {}

template <class T>
T& MetricFamily<T>::With(std::span<const std::string_view> values) {
  std::string key = Key(values);
  {
    std::shared_lock lock(mutex_);
    if (auto found = series_.find(key); found != series_.end()) return *found->second;
  }
  std::unique_lock lock(mutex_);
  auto [place, added] = series_.try_emplace(std::move(key), nullptr);
  if (added) {
    if constexpr (std::is_same_v<T, Histogram>) {
      place->second = &storage_.emplace_back(bounds_);
    } else {
      place->second = &storage_.emplace_back();
    }
  }
  return *place->second;
}

template <class T>
void MetricFamily<T>::Remove(LabelValues values) {
  std::unique_lock lock(mutex_);
  series_.erase(Key(std::span<const std::string_view>(values.begin(), values.size())));
}

template <class T>
void MetricFamily<T>::Clear() {
  std::unique_lock lock(mutex_);
  series_.clear();
}

template <class T>
void MetricFamily<T>::Render(std::string& out) const {
  std::shared_lock lock(mutex_);
  if (series_.empty()) return;
  RenderHead(out);
  for (const auto& [key, metric] : series_) {
    if constexpr (std::is_same_v<T, Histogram>) {
      uint64_t total = 0;
      for (size_t i = 0; i <= bounds_.size(); ++i) {
        total += metric->in_bucket(i);
        std::string bound = i == bounds_.size() ? "+Inf" : std::string();
        if (bound.empty()) AppendValue(bound, bounds_[i]);
        RenderSample(out, "_bucket", key, "le", bound, static_cast<double>(total));
      }
      RenderSample(out, "_sum", key, {}, {}, metric->sum());
      RenderSample(out, "_count", key, {}, {}, static_cast<double>(total));
    } else {
      RenderSample(out, {}, key, {}, {}, metric->value());
    }
  }
}

template class MetricFamily<Counter>;
template class MetricFamily<Gauge>;
template class MetricFamily<Histogram>;

MetricsRegistry::MetricsRegistry() = default;
MetricsRegistry::~MetricsRegistry() = default;

template <class T>
MetricFamily<T>& MetricsRegistry::Family(std::string_view name, std::string_view help, LabelNames labels,
                                         std::vector<double> bounds) {
  std::lock_guard lock(mutex_);
  auto found = families_.find(name);
  if (found == families_.end()) {
    auto family = std::make_unique<MetricFamily<T>>(std::string(name), std::string(help), std::move(labels), std::move(bounds));
    found = families_.emplace(std::string(name), std::move(family)).first;
  }
  auto* family = dynamic_cast<MetricFamily<T>*>(found->second.get());
  if (family == nullptr) {
    std::fprintf(stderr, "fatal: metric %s exists with another type\n", found->first.c_str());
    std::abort();
  }
  return *family;
}

CounterFamily& MetricsRegistry::Counters(std::string_view name, std::string_view help, LabelNames labels) {
  return Family<Counter>(name, help, std::move(labels), {});
}
GaugeFamily& MetricsRegistry::Gauges(std::string_view name, std::string_view help, LabelNames labels) {
  return Family<Gauge>(name, help, std::move(labels), {});
}
HistogramFamily& MetricsRegistry::Histograms(std::string_view name, std::string_view help, LabelNames labels,
                                             std::vector<double> bounds) {
  return Family<Histogram>(name, help, std::move(labels), std::move(bounds));
}

void MetricsRegistry::BeforeRender(std::function<void()> update) {
  std::lock_guard lock(mutex_);
  updates_.push_back(std::move(update));
}

std::string MetricsRegistry::Render() {
  std::vector<std::function<void()>> updates;
  {
    std::lock_guard lock(mutex_);
    updates = updates_;
  }
  for (const auto& update : updates) update();
  std::string out;
  std::lock_guard lock(mutex_);
  for (const auto& [name, family] : families_) family->Render(out);
  return out;
}

std::vector<double> ExponentialBounds(double start, double factor, int count) {
  std::vector<double> out;
  for (int i = 0; i < count; ++i, start *= factor) out.push_back(start);
  return out;
}

}  // namespace homeostat
