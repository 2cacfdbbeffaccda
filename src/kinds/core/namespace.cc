// Namespace: it stays, once deleted, until its content is gone.
// Source of the rules: pkg/registry/core/namespace.
#include <algorithm>

#include "homeostat/api/core/v1.h"
#include "kinds/checks.h"
#include "kinds/core/behaviours.h"
#include "kinds/edit.h"

namespace homeostat::kinds {
namespace {

namespace types = api::core::v1::types;

constexpr std::string_view kFinalizer = "kubernetes", kNameLabel = "kubernetes.io/metadata.name";

void CheckFinalizer(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  CheckQualifiedName(name, path, errors);
  if (name.find('/') == name.npos && !IsOneOf(name, {"kubernetes", "orphan", "foregroundDeletion"})) {
    errors.Invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified");
  }
}

void CheckFinalizers(const Value& ns, bool by_index, FieldErrors& errors) {
  FieldPath spec("spec");
  FieldPath path = spec.Child("finalizers");
  Value finalizers = ns.Get("spec").Get("finalizers");
  for (size_t i = 0; i < finalizers.size(); ++i) CheckFinalizer(finalizers.At(i).AsString(), by_index ? path.Index(i) : path, errors);
}

void CheckPhase(const Value& ns, FieldErrors& errors) {
  FieldPath status("status");
  std::string_view phase = ns.Get("status").Get("phase").AsString();
  bool deleted = static_cast<bool>(ns.Get("metadata").Get("deletionTimestamp"));
  if (!deleted && phase != "Active") {
    errors.Invalid(status.Child("Phase"), phase, "may only be 'Active' if `deletionTimestamp` is empty");
  } else if (deleted && phase != "Terminating") {
    errors.Invalid(status.Child("Phase"), phase, "may only be 'Terminating' if `deletionTimestamp` is not empty");
  }
}

void SetPhase(Edit& ns, std::string_view phase) {
  ns.In("status", [&](Edit& status) { status.Set("phase", Value::StringRef(phase)); });
}

// Also of one whose name was just made up.
void LabelWithName(Edit& ns) {
  Value name = ns.Get("metadata").Get("name");
  if (!name) return;
  ns.In("metadata", [&](Edit& metadata) { metadata.SetEntry("labels", kNameLabel, name); });
}

Value PrepareCreate(RuleContext& context, Value ns) {
  return Edited(context.arena, types::kNamespace, ns, [](Edit& edit) {
    edit.Erase("status");
    SetPhase(edit, "Active");
    LabelWithName(edit);
    edit.In("spec", [](Edit& spec) {
      object::ListBuilder finalizers(spec.arena(), spec.Get("finalizers"));
      if (std::ranges::any_of(finalizers.items(), [](const Value& item) { return item.AsString() == kFinalizer; })) return;
      finalizers.Append(Value::StringRef(kFinalizer));
      spec.Set("finalizers", finalizers.Build());
    });
  });
}

// Finalizers are the business of their own subresource.
Value PrepareUpdate(RuleContext& context, Value ns, Value old) {
  return Edited(context.arena, types::kNamespace, ns, [&](Edit& edit) {
    if (context.subresource.empty()) edit.In("spec", [&](Edit& spec) { spec.Set("finalizers", old.Get("spec").Get("finalizers")); });
    if (context.subresource == "finalize") edit.Set("status", old.Get("status"));
    LabelWithName(edit);
  });
}

void ValidateCreate(RuleContext&, Value ns, FieldErrors& errors) { CheckFinalizers(ns, false, errors); }

void ValidateUpdate(RuleContext& context, Value ns, Value, FieldErrors& errors) {
  if (context.subresource == "status") CheckPhase(ns, errors);
  else CheckFinalizers(ns, context.subresource == "finalize", errors);
}

// The first deletion marks it, whatever its finalizers.
bool Held(Value ns) { return !ns.Path({"metadata", "deletionTimestamp"}) || !ns.Get("spec").Get("finalizers").empty(); }

Value MarkDeleting(RuleContext& context, Value ns) {
  return Edited(context.arena, types::kNamespace, ns, [](Edit& edit) { SetPhase(edit, "Terminating"); });
}

}  // namespace

const Behaviour kNamespaceBehaviour = {
    .group = "",
    .kind = "Namespace",
    .validate_name = object::NameIsDNSLabel,
    .prepare_create = PrepareCreate,
    .prepare_update = PrepareUpdate,
    .validate_create = ValidateCreate,
    .validate_update = ValidateUpdate,
    .held = Held,
    .first_deletion = FirstDeletion::kMarksAndCollects,
    .mark_deleting = MarkDeleting,
    .store_words_preconditions = true,
};

}  // namespace homeostat::kinds
