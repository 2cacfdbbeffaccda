// Controllers: all of them together, each writing as its own user, reading through shared informers.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

struct ControllersOptions {
  // A client that acts as the service account kube-system/NAME, e.g. "deployment-controller".
  std::function<sdk::Client(std::string name)> client_for;
  std::string authority;          // PEM, for kube-root-ca.crt
};

class Controllers {
 public:
  Controllers(Runtime& runtime, sdk::InformerFactory& informers, ControllersOptions options);
  ~Controllers();
  // Starts them; the informers are started by whoever owns them.
  void Start();

 private:
  struct All;
  std::unique_ptr<All> all_;
};

}  // namespace homeostat::controllers
