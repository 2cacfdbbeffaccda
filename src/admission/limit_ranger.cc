// LimitRanger: containers get the namespace's defaults, and pods and volume claims keep within its limits.
// Source of the rules and texts: plugin/pkg/admission/limitranger.
#include <fmt/format.h>

#include <tuple>

#include "admission/plugins.h"
#include "homeostat/api/core/v1.h"
#include "kinds/edit.h"
#include "quota/pod_resources.h"

namespace homeostat::admission {
namespace {

namespace types = api::core::v1::types;
using kinds::Edit;
using object::Quantity;
using object::Value;
using quota::Amounts;

constexpr std::string_view kAnnotation = "kubernetes.io/limit-ranger";
constexpr int64_t kMaxMilliValue = INT64_MAX / 1000;

const Quantity* Find(const Amounts& amounts, std::string_view name) {
  auto found = amounts.find(name);
  return found == amounts.end() ? nullptr : &found->second;
}

// Numbers that can be compared: thousandths where all of them allow for it.
struct Comparable {
  Comparable(const Quantity* request, const Quantity* limit, const Quantity& bound) {
    Quantity none;
    const Quantity& asked = request != nullptr ? *request : none;
    const Quantity& allowed = limit != nullptr ? *limit : none;
    bool fine = asked.Value() <= kMaxMilliValue && allowed.Value() <= kMaxMilliValue && bound.Value() <= kMaxMilliValue;
    this->request = fine ? asked.MilliValue() : asked.Value();
    this->limit = fine ? allowed.MilliValue() : allowed.Value();
    this->bound = fine ? bound.MilliValue() : bound.Value();
  }
  int64_t request = 0, limit = 0, bound = 0;
};

// What the limits of one type say of one thing's requests and limits.
class Checker {
 public:
  Checker(std::string_view type, const Amounts& requests, const Amounts& limits, std::vector<std::string>& faults)
      : type_(type), requests_(requests), limits_(limits), faults_(faults) {}

  void Min(const std::string& name, const Quantity& bound) {
    std::string rule = fmt::format("minimum {} usage per {} is {}", name, type_, bound.ToString());
    const Quantity* request = Find(requests_, name);
    const Quantity* limit = Find(limits_, name);
    Comparable numbers(request, limit, bound);
    if (request == nullptr) return Add(rule + ".  No request is specified");
    if (numbers.request < numbers.bound) return Add(rule + ", but request is " + request->ToString());
    if (limit != nullptr && numbers.limit < numbers.bound) Add(rule + ", but limit is " + limit->ToString());
  }

  void Max(const std::string& name, const Quantity& bound) {
    std::string rule = fmt::format("maximum {} usage per {} is {}", name, type_, bound.ToString());
    const Quantity* request = Find(requests_, name);
    const Quantity* limit = Find(limits_, name);
    Comparable numbers(request, limit, bound);
    if (limit == nullptr) return Add(rule + ".  No limit is specified");
    if (numbers.limit > numbers.bound) return Add(rule + ", but limit is " + limit->ToString());
    if (request != nullptr && numbers.request > numbers.bound) Add(rule + ", but request is " + request->ToString());
  }

  // Of things that have no limits.
  void MaxRequest(const std::string& name, const Quantity& bound) {
    std::string rule = fmt::format("maximum {} usage per {} is {}", name, type_, bound.ToString());
    const Quantity* request = Find(requests_, name);
    Comparable numbers(request, nullptr, bound);
    if (request == nullptr) return Add(rule + ".  No request is specified");
    if (numbers.request > numbers.bound) Add(rule + ", but request is " + request->ToString());
  }

  void Ratio(const std::string& name, const Quantity& bound) {
    std::string rule = fmt::format("{} max limit to request ratio per {} is {}, but ", name, type_, bound.ToString());
    const Quantity* request = Find(requests_, name);
    const Quantity* limit = Find(limits_, name);
    Comparable numbers(request, limit, bound);
    if (request == nullptr || numbers.request == 0) return Add(rule + "no request is specified or request is 0");
    if (limit == nullptr || numbers.limit == 0) return Add(rule + "no limit is specified or limit is 0");
    double ratio = static_cast<double>(numbers.limit) / static_cast<double>(numbers.request);
    bool fine = bound.Value() <= kMaxMilliValue;
    double allowed = static_cast<double>(fine ? bound.MilliValue() : bound.Value());
    if ((fine ? ratio * 1000 : ratio) > allowed) Add(rule + fmt::format("provided ratio is {:.6f}", ratio));
  }

 private:
  void Add(std::string fault) { faults_.push_back(std::move(fault)); }

  std::string_view type_;
  const Amounts& requests_;
  const Amounts& limits_;
  std::vector<std::string>& faults_;
};

void CheckOne(const Value& limit, const Amounts& requests, const Amounts& limits, std::vector<std::string>& faults) {
  Checker checker(limit.Get("type").AsString(), requests, limits, faults);
  for (const auto& [name, bound] : quota::ParseAmounts(limit.Get("min"))) checker.Min(name, bound);
  for (const auto& [name, bound] : quota::ParseAmounts(limit.Get("max"))) checker.Max(name, bound);
  for (const auto& [name, bound] : quota::ParseAmounts(limit.Get("maxLimitRequestRatio"))) checker.Ratio(name, bound);
}

// The pod as a whole; amounts of the whole pod replace the sums of its containers, huge pages excepted.
Amounts OfPod(const Value& spec, std::string_view which) {
  Amounts sum = quota::SumOfContainers(spec, which);
  for (const auto& [name, amount] : quota::ParseAmounts(spec.Get("resources").Get(which))) {
    if (name == "cpu" || name == "memory") sum.insert_or_assign(name, amount);
  }
  return sum;
}

void CheckPod(const Value& limit, const Value& pod, std::vector<std::string>& faults) {
  Value spec = pod.Get("spec");
  std::string_view type = limit.Get("type").AsString();
  if (type == "Pod") return CheckOne(limit, OfPod(spec, "requests"), OfPod(spec, "limits"), faults);
  if (type != "Container") return;
  for (std::string_view list : {"containers", "initContainers"}) {
    for (const Value& container : spec.Get(list).items()) {
      Value resources = container.Get("resources");
      CheckOne(limit, quota::ParseAmounts(resources.Get("requests")), quota::ParseAmounts(resources.Get("limits")), faults);
    }
  }
}

void CheckVolumeClaim(const Value& limit, const Value& claim, std::vector<std::string>& faults) {
  if (limit.Get("type").AsString() != "PersistentVolumeClaim") return;
  Amounts requests = quota::ParseAmounts(claim.Get("spec").Get("resources").Get("requests")), none;
  Checker checker("PersistentVolumeClaim", requests, none, faults);
  for (const auto& [name, bound] : quota::ParseAmounts(limit.Get("min"))) checker.Min(name, bound);
  for (const auto& [name, bound] : quota::ParseAmounts(limit.Get("max"))) checker.MaxRequest(name, bound);
}

// Sets what the container lacks; the names set, ", " between them.
std::string FillIn(Edit& resources, std::string_view which, const Amounts& defaults) {
  std::string filled;
  for (const auto& [name, amount] : defaults) {
    if (resources.Get(which).Get(name)) continue;
    resources.SetEntry(which, name, Value::String(resources.arena(), amount.ToString()));
    filled += (filled.empty() ? "" : ", ") + name;
  }
  return filled;
}

Amounts DefaultsOf(const Value& range, std::string_view which) {
  Amounts defaults;
  for (const Value& limit : range.Get("spec").Get("limits").items()) {
    if (limit.Get("type").AsString() != "Container") continue;
    for (const auto& [name, amount] : quota::ParseAmounts(limit.Get(which))) defaults.insert_or_assign(name, amount);
  }
  return defaults;
}

Value WithDefaults(object::Arena& arena, const Value& pod, const Value& range) {
  Amounts requests = DefaultsOf(range, "defaultRequest"), limits = DefaultsOf(range, "default");
  if (requests.empty() && limits.empty()) return pod;
  std::string told;
  auto fill = [&](Edit& container, const char* what) {
    container.In("resources", [&](Edit& resources) {
      std::string name(container.Get("name").AsString());
      for (auto [which, word, defaults] : {std::tuple("requests", "request", &requests), std::tuple("limits", "limit", &limits)}) {
        std::string filled = FillIn(resources, which, *defaults);
        if (!filled.empty()) told += fmt::format("{}{} {} for {} {}", told.empty() ? "" : "; ", filled, word, what, name);
      }
    });
  };
  Edit edit(arena, types::kPod, pod);
  edit.In("spec", [&](Edit& spec) {
    spec.Each("containers", [&](Edit& container) { fill(container, "container"); });
    spec.Each("initContainers", [&](Edit& container) { fill(container, "init container"); });
  });
  if (!told.empty()) {
    edit.In("metadata", [&](Edit& metadata) {
      metadata.SetEntry("annotations", kAnnotation, Value::String(arena, "LimitRanger plugin set: " + told));
    });
  }
  return edit.Build();
}

class LimitRanger : public PlainPlugin {
 public:
  explicit LimitRanger(const PluginParts& parts) : objects_(parts.objects) {}
  std::string_view name() const override { return "LimitRanger"; }

  // Pods' resources change through resize alone.
  bool Handles(const Request& request) const override {
    if (request.Is("", "pods")) return request.subresource == "resize" ? request.updates() : request.subresource.empty() && request.creates();
    return request.IsWhole("", "persistentvolumeclaims") && (request.creates() || request.updates());
  }

  Result<Value> MutateNow(const Request& request) override {
    if (!request.Is("", "pods") || IsGoing(request)) return request.object;
    Value pod = request.object;
    for (const object::DocumentPtr& range : Ranges(request)) {
      pod = WithDefaults(request.arena(), pod, range->root());
    }
    return pod;
  }

  Result<void> ValidateNow(const Request& request) override {
    if (IsGoing(request)) return {};
    for (const object::DocumentPtr& range : Ranges(request)) {
      std::vector<std::string> faults;
      for (const Value& limit : range->root().Get("spec").Get("limits").items()) {
        if (request.Is("", "pods")) CheckPod(limit, request.object, faults);
        else CheckVolumeClaim(limit, request.object, faults);
      }
      if (!faults.empty()) return Fail(Forbid(request, JoinFaults(faults)));
    }
    return {};
  }

 private:
  static bool IsGoing(const Request& request) { return static_cast<bool>(request.old_object.Path({"metadata", "deletionTimestamp"})); }
  std::vector<object::DocumentPtr> Ranges(const Request& request) const { return objects_.List("", "limitranges", request.ns); }

  const kinds::ObjectReader& objects_;
};

}  // namespace

std::unique_ptr<Plugin> MakeLimitRanger(const PluginParts& parts) { return std::make_unique<LimitRanger>(parts); }

}  // namespace homeostat::admission
