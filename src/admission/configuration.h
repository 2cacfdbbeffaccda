// What plugins are configured with: kube-apiserver's --admission-control-config-file.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "homeostat/base/result.h"
#include "homeostat/object/value.h"

namespace homeostat::admission {

class Configurations {
 public:
  // An AdmissionConfiguration, with what it names in other files, whose paths count from its own folder. No path: none. Blocks.
  static Result<Configurations> Read(const std::string& path);

  // Absent if the plugin has none.
  object::Value For(std::string_view plugin) const;
  // The first plugin that is configured and that `knows` does not know; empty if there is none.
  template <typename Knows>
  std::string_view FirstBut(Knows knows) const {
    for (const auto& [name, held] : by_plugin_) if (!knows(name)) return name;
    return {};
  }

 private:
  struct Held {
    object::DocumentPtr document;
    object::Value configuration;
  };

  std::map<std::string, Held, std::less<>> by_plugin_;
};

}  // namespace homeostat::admission
