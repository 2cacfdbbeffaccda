// Claims: of volumes, in all and by storage class, and of devices by device class.
#include <algorithm>

#include "quota/internal/evaluators.h"

namespace homeostat::quota {
namespace {

using object::Quantity;

constexpr std::string_view kClaimsOfClass = ".storageclass.storage.k8s.io/persistentvolumeclaims";
constexpr std::string_view kStorageOfClass = ".storageclass.storage.k8s.io/requests.storage";
constexpr std::string_view kOfDeviceClass = ".deviceclass.resource.k8s.io/devices", kImplicitPrefix = "requests.deviceclass.resource.kubernetes.io/";
constexpr std::string_view kExtendedClaim = "resource.kubernetes.io/extended-resource-claim";
constexpr std::string_view kDeviceGroup = "resource.k8s.io";
constexpr int64_t kMostDevices = 32;  // of one claim

std::string StorageClassOf(const Value& claim) {
  // The annotation of old wins.
  Value annotation = claim.Get("metadata").Get("annotations").Get("volume.beta.kubernetes.io/storage-class");
  return std::string(annotation ? annotation.AsString() : claim.Get("spec").Get("storageClassName").AsString());
}

// Whole bytes, as a quota's status must have them.
std::optional<Quantity> StorageOf(const Value& claim) {
  Amounts asked = ParseAmounts(claim.Get("spec").Get("resources").Get("requests"));
  auto found = asked.find("storage");
  if (found == asked.end()) return std::nullopt;
  Quantity storage = found->second;
  storage.RoundUp(0);
  Amounts allocated = ParseAmounts(claim.Get("status").Get("allocatedResources"));
  if (auto other = allocated.find("storage"); other != allocated.end() && other->second > storage) {
    storage = other->second;
    storage.RoundUp(0);
  }
  return storage;
}

class VolumeClaimEvaluator : public Evaluator {
 public:
  bool Handles(const Attempt& attempt) const override {
    return attempt.subresource.empty() || (attempt.subresource == "status" && attempt.update);
  }

  Names Matching(const Names& hard, const Surroundings&) const override {
    Names matching;
    for (const std::string& name : hard) {
      bool of_class = name.ends_with(kClaimsOfClass) || name.ends_with(kStorageOfClass);
      if (of_class || name == "count/persistentvolumeclaims" || name == "persistentvolumeclaims" || name == "requests.storage") matching.insert(name);
    }
    return matching;
  }

  Amounts Usage(const Value& claim, const Surroundings&) const override {
    Amounts usage{{"persistentvolumeclaims", Quantity::Of(1)}, {"count/persistentvolumeclaims", Quantity::Of(1)}};
    std::string storage_class = StorageClassOf(claim);
    if (!storage_class.empty()) usage.emplace(storage_class + std::string(kClaimsOfClass), Quantity::Of(1));
    if (auto storage = StorageOf(claim)) {
      usage.emplace("requests.storage", *storage);
      if (!storage_class.empty()) usage.emplace(storage_class + std::string(kStorageOfClass), *storage);
    }
    return usage;
  }

  bool IsInScope(const ScopeRequirement& requirement, const Value& claim) const override {
    if (requirement.scope != "VolumeAttributesClass") return false;
    std::vector<std::string_view> names;
    Value status = claim.Get("status");
    for (std::string_view name : {claim.Get("spec").Get("volumeAttributesClassName").AsString(),
                                  status.Get("currentVolumeAttributesClassName").AsString(),
                                  status.Get("modifyVolumeStatus").Get("targetVolumeAttributesClassName").AsString()}) {
      if (!name.empty()) names.push_back(name);
    }
    return internal::MatchesNames(requirement, names);
  }
};

int64_t DevicesOf(const Value& request) {
  std::string_view mode = request.Get("allocationMode").AsString();
  if (mode == "ExactCount") return request.Get("count").AsInt();
  return mode == "All" ? kMostDevices : 0;
}

std::string ExtendedResourceOf(const Surroundings& around, std::string_view device_class) {
  object::DocumentPtr document = around.Get(kDeviceGroup, "deviceclasses", "", device_class);
  return document ? std::string(document->root().Get("spec").Get("extendedResourceName").AsString()) : std::string();
}

bool IsOfferedByClass(const Surroundings& around, std::string_view resource) {
  constexpr std::string_view kImplicit = "deviceclass.resource.kubernetes.io/";
  if (resource.starts_with(kImplicit)) return around.Get(kDeviceGroup, "deviceclasses", "", resource.substr(kImplicit.size())) != nullptr;
  return std::ranges::any_of(around.List(kDeviceGroup, "deviceclasses", ""), [&](const object::DocumentPtr& document) {
    return document->root().Get("spec").Get("extendedResourceName").AsString() == resource;
  });
}

Value ControllerOf(const Value& object) {
  for (const Value& owner : object.Get("metadata").Get("ownerReferences").items()) if (owner.Get("controller").AsBool()) return owner;
  return {};
}

// Whether it stands for the extended resources of a pod, which pays for them.
bool StandsForPod(const Value& claim, const Value& owner) {
  return claim.Get("metadata").Get("annotations").Get(kExtendedClaim).AsString() == "true" && owner.Get("kind").AsString() == "Pod" &&
         owner.Get("apiVersion").AsString() == "v1";
}

// Whether an older claim of the same pod stands for it.
bool IsPreceded(const Value& claim, const Value& owner, const Surroundings& around) {
  Value metadata = claim.Get("metadata");
  auto age = [](const Value& of) { return std::pair(of.Get("creationTimestamp").AsString(), of.Get("name").AsString()); };
  for (const object::DocumentPtr& other : around.List(kDeviceGroup, "resourceclaims", metadata.Get("namespace").AsString())) {
    Value controller = ControllerOf(other->root());
    if (StandsForPod(other->root(), controller) && controller.Get("uid").AsString() == owner.Get("uid").AsString() &&
        age(other->root().Get("metadata")) < age(metadata)) {
      return true;
    }
  }
  return false;
}

// What the pod that the claim was made for is charged with already.
Amounts PaidByPod(const Value& claim, const Surroundings& around) {
  Value owner = ControllerOf(claim);
  if (!StandsForPod(claim, owner)) return {};
  Value metadata = claim.Get("metadata");
  object::DocumentPtr pod = around.Get("", "pods", metadata.Get("namespace").AsString(), owner.Get("name").AsString());
  if (!pod || pod->root().Get("metadata").Get("uid").AsString() != owner.Get("uid").AsString()) return {};
  Value status = pod->root().Get("status").Get("extendedResourceClaimStatus");
  bool its_own = status ? status.Get("resourceClaimName").AsString() == metadata.Get("name").AsString() : !IsPreceded(claim, owner, around);
  return its_own ? internal::MakePodEvaluator()->Usage(pod->root(), around) : Amounts();
}

class ResourceClaimEvaluator : public Evaluator {
 public:
  bool Handles(const Attempt& attempt) const override { return attempt.subresource.empty(); }

  Names Matching(const Names& hard, const Surroundings& around) const override {
    Names matching;
    for (const std::string& name : hard) {
      std::string_view text = name;
      if (text == "count/resourceclaims.resource.k8s.io" || text.ends_with(kOfDeviceClass)) {
        matching.insert(name);
      } else if (text.starts_with(kImplicitPrefix) && !ExtendedResourceOf(around, text.substr(kImplicitPrefix.size())).empty()) {
        matching.insert(name);
      } else if (internal::IsExtendedResourceForQuota(text) && IsOfferedByClass(around, text.substr(std::string_view("requests.").size()))) {
        matching.insert(name);
      }
    }
    return matching;
  }

  Amounts Usage(const Value& claim, const Surroundings& around) const override {
    std::map<std::string, int64_t> devices;  // by class
    for (const Value& request : claim.Get("spec").Get("devices").Get("requests").items()) {
      if (Value choices = request.Get("firstAvailable"); !choices.empty()) {
        // Of each class what the most demanding choice may take.
        std::map<std::string, int64_t> most;
        for (const Value& choice : choices.items()) {
          int64_t& known = most[std::string(choice.Get("deviceClassName").AsString())];
          known = std::max(known, DevicesOf(choice));
        }
        for (const auto& [name, count] : most) if (count > 0) devices[name] += count;
      } else if (Value exactly = request.Get("exactly")) {
        devices[std::string(exactly.Get("deviceClassName").AsString())] += DevicesOf(exactly);
      }
    }
    Amounts usage{{"count/resourceclaims.resource.k8s.io", Quantity::Of(1)}};
    if (devices.empty()) return usage;
    Amounts paid = PaidByPod(claim, around);
    for (const auto& [name, count] : devices) {
      usage.insert_or_assign(name + std::string(kOfDeviceClass), Quantity::Of(count));
      if (!name.empty()) AddExtended(usage, paid, name, Quantity::Of(count), around);
    }
    return usage;
  }

 private:
  static void AddExtended(Amounts& usage, const Amounts& paid, const std::string& device_class, const Quantity& count, const Surroundings& around) {
    std::vector<std::string> names{std::string(kImplicitPrefix) + device_class};
    if (std::string resource = ExtendedResourceOf(around, device_class); !resource.empty()) names.push_back("requests." + resource);
    for (std::string& name : names) {
      Quantity rest = count;
      if (auto known = paid.find(name); known != paid.end()) rest.Sub(known->second);
      if (rest.Sign() > 0) usage.insert_or_assign(std::move(name), rest);
    }
  }
};

}  // namespace

namespace internal {

std::unique_ptr<const Evaluator> MakeVolumeClaimEvaluator() { return std::make_unique<VolumeClaimEvaluator>(); }
std::unique_ptr<const Evaluator> MakeResourceClaimEvaluator() { return std::make_unique<ResourceClaimEvaluator>(); }

}  // namespace internal
}  // namespace homeostat::quota
