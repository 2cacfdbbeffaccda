// ChangeMark: whether configurations of admission have changed since they were last looked at.
#pragma once

#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>

#include "admission/plugins.h"

namespace homeostat::admission {

// May go before the server that tells it. Loop only.
class ChangeMark {
 public:
  // plurals: of resources of admissionregistration.k8s.io.
  ChangeMark(const PluginParts& parts, std::initializer_list<std::string_view> plurals) : is_told_(static_cast<bool>(parts.observe)) {
    if (!is_told_) return;
    for (std::string_view plural : plurals) {
      parts.observe("admissionregistration.k8s.io", plural, [changed = changed_] { *changed = true; });
    }
  }
  // True the first time, and always where nobody tells.
  bool Take() { return std::exchange(*changed_, false) || !is_told_; }

 private:
  bool is_told_;
  std::shared_ptr<bool> changed_ = std::make_shared<bool>(true);
};

}  // namespace homeostat::admission
