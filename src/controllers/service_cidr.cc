#include "controllers/service_cidr.h"

#include <algorithm>
#include <set>
#include <utility>

#include "controllers/conditions.h"
#include "controllers/finalizers.h"
#include "homeostat/api/networking/v1_builders.h"
#include "homeostat/object/time.h"
#include "sdk/apply.h"

namespace homeostat::controllers {

using api::networking::v1::IPAddress;
using api::networking::v1::ServiceCIDR;
using api::networking::v1::ServiceCIDRBuilder;
using object::Cidr;
using object::IpAddress;

namespace {

constexpr std::string_view kManagedBy = "ipaddress.kubernetes.io/managed-by", kAllocator = "ipallocator.k8s.io";
constexpr std::string_view kFieldManager = "service-cidr-controller";
// So long a range that goes waits, that nobody who has not heard of it gives out an address of it.
constexpr Duration kDeletionGrace = std::chrono::seconds(10);

ServiceRange RangeOf(const object::Value& object) {
  ServiceRange range{std::string(sdk::meta::Name(object)), {}};
  for (const object::Value& text : object.Path({"spec", "cidrs"}).items()) {
    if (auto cidr = object::ParseCidr(text.AsString())) range.cidrs.push_back(*cidr);
  }
  return range;
}

bool Overlap(const Cidr& a, const Cidr& b) { return a.v4 == b.v4 && (a.Contains(b.Network()) || b.Contains(a.Network())); }

IpAddress LastOf(const Cidr& range) {
  IpAddress last = range.Network();
  int length = range.v4 ? range.prefix_length + 96 : range.prefix_length;
  for (int bit = length; bit < 128; ++bit) last.octets[static_cast<size_t>(bit / 8)] |= static_cast<uint8_t>(0x80 >> (bit % 8));
  return last;
}

bool Holds(const ServiceRange& range, const IpAddress& address) {
  return std::ranges::any_of(range.cidrs, [&](const Cidr& cidr) { return IsAddressOfRange(cidr, address); });
}

// The address of an object that stands for one of a service.
std::optional<IpAddress> ServiceAddress(const object::Value& object) {
  const object::Member* managed = object.Path({"metadata", "labels"}).Find(kManagedBy);
  if (managed == nullptr || managed->value.AsString() != kAllocator) return std::nullopt;
  return object::ParseIp(sdk::meta::Name(object));
}

}  // namespace

bool IsAddressOfRange(const Cidr& range, const IpAddress& address) {
  if (address == range.Network() || (range.v4 && address == LastOf(range))) return false;
  return range.v4 == address.IsV4() && range.Contains(address);
}

bool MayRangeGo(const ServiceRange& going, const std::vector<ServiceRange>& all, const std::vector<IpAddress>& addresses) {
  bool held_by_others = std::ranges::all_of(going.cidrs, [&](const Cidr& cidr) {
    return std::ranges::any_of(all, [&](const ServiceRange& other) {
      return other.name != going.name && std::ranges::any_of(other.cidrs, [&](const Cidr& wider) {
               return Overlap(wider, cidr) && wider.prefix_length <= cidr.prefix_length;
             });
    });
  });
  if (held_by_others) return true;
  return std::ranges::none_of(addresses, [&](const IpAddress& address) {
    return Holds(going, address) &&
           std::ranges::none_of(all, [&](const ServiceRange& other) { return other.name != going.name && Holds(other, address); });
  });
}

ServiceCidrController::ServiceCidrController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers)
    : runtime_(runtime),
      client_(std::move(client)),
      ranges_(informers.For<ServiceCIDR>()),
      addresses_(informers.For<IPAddress>()),
      controller_(runtime, {.name = "ipaddresses", .workers = 1, .backoff = {}, .log = client_.options().log},
                  [this](std::string name) { return Reconcile(std::move(name)); }) {
  controller_.WatchMapped(ranges_, [this](const sdk::Change& change) { return Affected(change); });
  controller_.WatchMapped(addresses_, [this](const sdk::Change& change) { return HoldersOf(change); });
}

std::vector<ServiceRange> ServiceCidrController::Ranges() const {
  std::vector<ServiceRange> ranges;
  for (const object::DocumentPtr& document : ranges_.List()) ranges.push_back(RangeOf(document->root()));
  return ranges;
}

std::vector<IpAddress> ServiceCidrController::Addresses() const {
  std::vector<IpAddress> addresses;
  for (const object::DocumentPtr& document : addresses_.List()) {
    if (auto address = ServiceAddress(document->root())) addresses.push_back(*address);
  }
  return addresses;
}

// A range that comes may set others free that wait to go.
std::vector<std::string> ServiceCidrController::Affected(const sdk::Change& change) const {
  ServiceRange changed = RangeOf((change.current ? change.current : change.previous)->root());
  std::vector<std::string> names = {changed.name};
  if (change.previous) return names;
  for (const ServiceRange& other : Ranges()) {
    bool overlaps = std::ranges::any_of(other.cidrs, [&](const Cidr& cidr) {
      return std::ranges::any_of(changed.cidrs, [&](const Cidr& own) { return Overlap(own, cidr); });
    });
    if (overlaps && other.name != changed.name) names.push_back(other.name);
  }
  return names;
}

std::vector<std::string> ServiceCidrController::HoldersOf(const sdk::Change& change) const {
  std::vector<std::string> names;
  if (change.previous && change.current) return names;
  auto address = ServiceAddress((change.current ? change.current : change.previous)->root());
  if (!address) return names;
  for (const object::DocumentPtr& document : ranges_.List()) {
    // What is not going cares for no address.
    if (!sdk::meta::IsDeleting(document->root())) continue;
    ServiceRange range = RangeOf(document->root());
    if (Holds(range, *address)) names.push_back(range.name);
  }
  return names;
}

Task<Result<sdk::ReconcileOutcome>> ServiceCidrController::Reconcile(std::string name) {
  object::DocumentPtr range = ranges_.Get(name);
  if (!range) co_return sdk::ReconcileOutcome();
  if (sdk::meta::IsDeleting(range->root())) {
    auto going = ReconcileGoing(range);
    co_return co_await std::move(going);
  }
  if (!HasFinalizer(range->root(), kServiceCidrFinalizer)) {
    auto patch = Patch(name, R"({"metadata":{"finalizers":[")" + std::string(kServiceCidrFinalizer) + R"("]}})");
    CO_TRY(co_await std::move(patch));
  }
  auto ready = SetReady(range, "True", "", "Kubernetes Service CIDR is ready");
  CO_TRY(co_await std::move(ready));
  co_return sdk::ReconcileOutcome();
}

Task<Result<sdk::ReconcileOutcome>> ServiceCidrController::ReconcileGoing(object::DocumentPtr range) {
  if (!MayRangeGo(RangeOf(range->root()), Ranges(), Addresses())) {
    auto blocked = SetReady(range, "False", "Terminating",
                            "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR");
    CO_TRY(co_await std::move(blocked));
    co_return sdk::ReconcileOutcome();
  }
  auto marked = object::ParseTime(range->root().Path({"metadata", "deletionTimestamp"}).AsString());
  Duration waited = marked ? runtime_.WallNow() - marked->ToClock() : kDeletionGrace;
  if (waited < kDeletionGrace) co_return sdk::ReconcileOutcome{kDeletionGrace - waited};
  if (HasFinalizer(range->root(), kServiceCidrFinalizer)) {
    Bytes drop = DropFinalizerPatch(kServiceCidrFinalizer);
    auto patch = Patch(std::string(sdk::meta::Name(range->root())), drop.str());
    CO_TRY(co_await std::move(patch));
  }
  co_return sdk::ReconcileOutcome();
}

Task<Result<void>> ServiceCidrController::Patch(std::string name, std::string patch) {
  auto send = client_.Patch(ServiceCIDR::SchemaKind(), "", std::move(name), sdk::PatchType::kStrategicMerge, Bytes(std::move(patch)), "", {});
  auto sent = co_await std::move(send);
  if (!sent && !sent.error().IsNotFound()) co_return Fail(sent.error());
  co_return Done();
}

Task<Result<void>> ServiceCidrController::SetReady(object::DocumentPtr range, std::string status, std::string reason, std::string message) {
  for (const object::Value& condition : range->root().Path({"status", "conditions"}).items()) {
    if (condition.Get("type").AsString() != "Ready") continue;
    if (condition.Get("status").AsString() == status && condition.Get("reason").AsString() == reason &&
        condition.Get("message").AsString() == message) {
      co_return Done();
    }
  }
  ServiceCIDRBuilder wanted;
  wanted.mutable_metadata().set_name(sdk::meta::Name(range->root()));
  auto ready = wanted.mutable_status().add_conditions();
  ready.set_type("Ready").set_status(status).set_reason(reason).set_message(message).set_last_transition_time(TimeText(runtime_.WallNow()));
  auto apply = sdk::Apply(client_, ServiceCIDR::SchemaKind(), wanted.Freeze(), "status", kFieldManager);
  CO_TRY(co_await apply);
  co_return Done();
}

}  // namespace homeostat::controllers
