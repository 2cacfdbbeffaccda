// KeptSlices: the EndpointSlices that one controller keeps for Services or Endpoints: which they are, what is planned for them
// carried out, and what has not been seen of that yet. The server makes their names: a slice that is written twice stays, so that
// nothing may be planned from a copy that does not show the last write.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controllers/endpoint_plan.h"
#include "controllers/expectations.h"
#include "homeostat/sdk/client.h"
#include "homeostat/sdk/informer.h"

namespace homeostat::controllers {

// Keys are those of the Services or Endpoints. Loop only; the informer must outlive it, and it the tasks it gave.
class KeptSlices {
 public:
  // `manager`: the value of the label that says whose slices they are. `owner`: what the keys are of, for errors.
  KeptSlices(sdk::Client client, sdk::Informer& slices, std::string_view manager, std::string_view owner);

  std::vector<object::DocumentPtr> Of(const std::string& key) const { return slices_.ByIndex(manager_, key); }
  // Whose slices the change of one concerns: whose it was, and whose it is.
  std::vector<std::string> KeysConcerned(const sdk::Change& change) const;

  // Whether the informer shows what was written for the key. Asks the server where an answer was lost.
  Task<Result<bool>> IsUpToDate(std::string key);
  // Makes, changes and removes slices, in this order, up to the first error. In a namespace that is going nothing is made.
  Task<Result<void>> Write(std::string key, SlicePlan plan);
  void Forget(const std::string& key) { own_writes_.Forget(key); }

 private:
  Status Fault(const std::string& key, std::string_view doing, const Status& error) const;

  sdk::Client client_;
  sdk::Informer& slices_;
  std::string manager_, owner_;
  OwnWrites own_writes_;
};

}  // namespace homeostat::controllers
