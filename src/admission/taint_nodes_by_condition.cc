// TaintNodesByCondition: a new node takes no pods until it was seen to be ready.
#include <algorithm>

#include "admission/plugins.h"
#include "homeostat/api/core/v1.h"
#include "kinds/edit.h"

namespace homeostat::admission {
namespace {

namespace types = api::core::v1::types;
using kinds::Edit;
using object::Value;

constexpr std::string_view kNotReady = "node.kubernetes.io/not-ready", kNoSchedule = "NoSchedule";

class TaintNodesByCondition : public PlainPlugin {
 public:
  std::string_view name() const override { return "TaintNodesByCondition"; }
  bool Handles(const Request& request) const override { return request.creates() && request.IsWhole("", "nodes"); }

  Result<Value> MutateNow(const Request& request) override {
    return kinds::Edited(request.arena(), types::kNode, request.object, [](Edit& node) {
      node.In("spec", [](Edit& spec) {
        Value taints = spec.Get("taints");
        bool known = std::ranges::any_of(taints.items(), [](const Value& taint) {
          return taint.Get("key").AsString() == kNotReady && taint.Get("effect").AsString() == kNoSchedule;
        });
        if (known) return;
        object::ListBuilder more(spec.arena(), taints);
        more.Append(kinds::Edited(spec.arena(), types::kTaint, Value(), [](Edit& taint) {
          taint.Set("key", Value::StringRef(kNotReady));
          taint.Set("effect", Value::StringRef(kNoSchedule));
        }));
        spec.Set("taints", more.Build());
      });
    });
  }
};

}  // namespace

std::unique_ptr<Plugin> MakeTaintNodesByCondition(const PluginParts&) { return std::make_unique<TaintNodesByCondition>(); }

}  // namespace homeostat::admission
