// RuntimeClass. Source of the rules: pkg/apis/node/validation.
#include "homeostat/api/core/v1.h"
#include "homeostat/api/node/v1.h"
#include "kinds/core/pod_warnings.h"
#include "kinds/core/resource_checks.h"
#include "kinds/core/scheduling.h"
#include "kinds/edit.h"
#include "kinds/group_checks.h"
#include "kinds/internal_json.h"
#include "kinds/node/node.h"

namespace homeostat::kinds {
namespace {

void CheckScheduling(const Value& scheduling, FieldErrors& errors) {
  FieldPath path = FieldPath("scheduling").Child("tolerations");
  CheckLabels(scheduling.Get("nodeSelector"), FieldPath("scheduling").Child("nodeSelector"), errors);
  Value tolerations = scheduling.Get("tolerations");
  CheckTolerations(tolerations, {}, path, errors);
  for (size_t i = 0; i < tolerations.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      bool same = true;
      for (std::string_view field : {"key", "operator", "value", "effect"}) {
        same &= tolerations.At(i).Get(field).AsString() == tolerations.At(j).Get(field).AsString();
      }
      if (!same) continue;
      errors.Duplicate(path.Index(i), InternalValue(api::core::v1::Toleration::SchemaType(), tolerations.At(i)));
      break;
    }
  }
}

void CheckNew(RuleContext& context, Value runtime_class, FieldErrors& errors) {
  std::string_view handler = runtime_class.Get("handler").AsString();
  if (handler.empty()) {
    errors.Required(FieldPath("handler"));
  } else {
    CheckDns1123Label(handler, FieldPath("handler"), errors);
  }
  if (Value overhead = runtime_class.Get("overhead")) {
    Value limits = Edited(context.arena, api::core::v1::ResourceRequirements::SchemaType(), Value(),
                          [&](Edit& edit) { edit.Set("limits", overhead.Get("podFixed")); });
    CheckResourceRequirements(limits, ResourceLevel::kContainer, {}, FieldPath("overhead"), {}, errors);
  }
  if (Value scheduling = runtime_class.Get("scheduling")) CheckScheduling(scheduling, errors);
}

void CheckUpdate(RuleContext& context, Value runtime_class, Value old, FieldErrors& errors) {
  CheckNew(context, runtime_class, errors);
  CheckRestOfMetadata(context, errors);
  CheckImmutableField(api::node::v1::RuntimeClass::SchemaType(), "handler", runtime_class, old, FieldPath(), errors);
}

void Warn(RuleContext& context, Value runtime, Value) {
  if (context.warnings == nullptr) return;
  for (const object::Member& entry : runtime.Path({"scheduling", "nodeSelector"}).members()) {
    std::string_view text = DeprecatedNodeLabel(entry.name());
    if (!text.empty()) context.warnings->push_back("scheduling.nodeSelector: " + std::string(text));
  }
}

}  // namespace

const Behaviour kRuntimeClass{.group = "node.k8s.io", .kind = "RuntimeClass", .validate_create = CheckNew, .validate_update = CheckUpdate,
                              .warn = Warn};

}  // namespace homeostat::kinds
