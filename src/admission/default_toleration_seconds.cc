// DefaultTolerationSeconds: a pod stays for five minutes on a node that is not ready or can't be reached, unless it says else.
#include <algorithm>

#include "admission/plugins.h"
#include "homeostat/api/core/v1.h"
#include "kinds/edit.h"

namespace homeostat::admission {
namespace {

namespace types = api::core::v1::types;
using kinds::Edit;
using object::Value;

constexpr std::string_view kNoExecute = "NoExecute";
constexpr int64_t kSeconds = 300;

bool Tolerates(const Value& tolerations, std::string_view taint) {
  return std::ranges::any_of(tolerations.items(), [&](const Value& toleration) {
    std::string_view key = toleration.Get("key").AsString(), effect = toleration.Get("effect").AsString();
    return (key.empty() || key == taint) && (effect.empty() || effect == kNoExecute);
  });
}

Value Toleration(object::Arena& arena, std::string_view taint) {
  return kinds::Edited(arena, types::kToleration, Value(), [&](Edit& toleration) {
    toleration.Set("key", Value::StringRef(taint));
    toleration.Set("operator", Value::StringRef("Exists"));
    toleration.Set("effect", Value::StringRef(kNoExecute));
    toleration.Set("tolerationSeconds", Value::Int(kSeconds));
  });
}

class DefaultTolerationSeconds : public PlainPlugin {
 public:
  std::string_view name() const override { return "DefaultTolerationSeconds"; }
  bool Handles(const Request& request) const override {
    return (request.creates() || request.updates()) && request.IsWhole("", "pods");
  }

  Result<Value> MutateNow(const Request& request) override {
    return kinds::Edited(request.arena(), types::kPod, request.object, [](Edit& pod) {
      pod.In("spec", [](Edit& spec) {
        Value known = spec.Get("tolerations");
        object::ListBuilder tolerations(spec.arena(), known);
        for (std::string_view taint : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
          if (!Tolerates(known, taint)) tolerations.Append(Toleration(spec.arena(), taint));
        }
        if (tolerations.items().size() > known.size()) spec.Set("tolerations", tolerations.Build());
      });
    });
  }
};

}  // namespace

std::unique_ptr<Plugin> MakeDefaultTolerationSeconds(const PluginParts&) { return std::make_unique<DefaultTolerationSeconds>(); }

}  // namespace homeostat::admission
