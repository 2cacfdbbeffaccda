// ServiceCidrController: ranges of service addresses get a finalizer and the condition Ready, and go only when no address of
// theirs is without another range. Source of the rules: pkg/controller/servicecidrs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "homeostat/object/ip.h"
#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

inline constexpr std::string_view kServiceCidrFinalizer = "networking.k8s.io/service-cidr-finalizer";

// One range as far as the rules look at it.
struct ServiceRange {
  std::string name;
  std::vector<object::Cidr> cidrs;
};

// Whether services can have the address from the range: neither the network itself nor, of IPv4, the broadcast address.
bool IsAddressOfRange(const object::Cidr& range, const object::IpAddress& address);
// Whether the range may go: others hold all of it, or no address depends on it alone. addresses: those given out to services.
bool MayRangeGo(const ServiceRange& going, const std::vector<ServiceRange>& all, const std::vector<object::IpAddress>& addresses);

class ServiceCidrController {
 public:
  // All must outlive it. Loop only.
  ServiceCidrController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers);
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string name);
  Task<Result<sdk::ReconcileOutcome>> ReconcileGoing(object::DocumentPtr range);
  Task<Result<void>> SetReady(object::DocumentPtr range, std::string status, std::string reason, std::string message);
  Task<Result<void>> Patch(std::string name, std::string patch);
  // Ranges that the change may matter to.
  std::vector<std::string> Affected(const sdk::Change& change) const;
  std::vector<std::string> HoldersOf(const sdk::Change& change) const;
  std::vector<ServiceRange> Ranges() const;
  std::vector<object::IpAddress> Addresses() const;

  Runtime& runtime_;
  sdk::Client client_;
  sdk::Informer& ranges_;
  sdk::Informer& addresses_;
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
