#include "kinds/apiextensions/definition_names.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "homeostat/api/apiextensions/v1.h"
#include "homeostat/object/time.h"
#include "kinds/edit.h"
#include "kinds/group_checks.h"

namespace homeostat::kinds {
namespace {

constexpr std::string_view kPool = "names of custom resources";

const schema::Type& DefinitionType() { return api::apiextensions::v1::CustomResourceDefinition::SchemaType(); }
const schema::Type& ConditionType() {
  return *DefinitionType().FindField("status")->type->FindField("conditions")->type->element;
}

class NamesPool : public Pool {
 public:
  std::string_view name() const override { return kPool; }
  bool Exists(const ObjectReader&) const override { return true; }
  std::optional<std::string> Pick(const ObjectReader&, Runtime&, const std::function<bool(std::string_view)>&) const override {
    return std::nullopt;
  }
  std::string Refusal(const ObjectReader&, std::string_view) const override { return ""; }
  std::string_view taken_text() const override { return "already in use"; }
};

std::string Thing(std::string_view group, std::string_view sort, std::string_view name) {
  return std::string(group) + "/" + std::string(sort) + "/" + std::string(name);
}

// Everything a list of names takes: plural, singular and short names are of one sort, kind and listKind of another.
void EachName(std::string_view group, const Value& names, const std::function<void(const std::string&)>& visit) {
  std::set<std::string> things;
  auto add = [&](std::string_view sort, std::string_view name) {
    if (!name.empty()) things.insert(Thing(group, sort, name));
  };
  add("resources", names.Get("plural").AsString());
  add("resources", names.Get("singular").AsString());
  for (const Value& name : names.Get("shortNames").items()) add("resources", name.AsString());
  add("kinds", names.Get("kind").AsString());
  add("kinds", names.Get("listKind").AsString());
  for (const std::string& thing : things) visit(thing);
}

struct NewCondition {
  std::string_view type;
  bool status;
  std::string_view reason, message;
};

// Conditions stay where they are; the time is that of the last change of the status.
Value WithCondition(Arena& arena, const Value& definition, WallTime now, const NewCondition& condition) {
  Value conditions = definition.Path({"status", "conditions"});
  object::ListBuilder list(arena, conditions);
  std::string_view status = condition.status ? "True" : "False";
  size_t place = 0;
  while (place < list.items().size() && list.items()[place].Get("type").AsString() != condition.type) ++place;
  Value before = place < list.items().size() ? list.items()[place] : Value();
  Value after = Edited(arena, ConditionType(), before ? before : Value::EmptyObject(), [&](Edit& edit) {
    bool changed = edit.Get("status").AsString() != status || !edit.Get("lastTransitionTime");
    edit.SetText("type", condition.type);
    edit.SetText("status", status);
    if (changed) edit.SetText("lastTransitionTime", object::FormatTime(object::Timestamp::FromClock(now)));
    edit.SetText("reason", condition.reason);
    edit.SetText("message", condition.message);
  });
  if (before) list.items()[place] = after;
  else list.Append(after);
  return Edited(arena, DefinitionType(), definition, [&](Edit& edit) {
    edit.In("status", [&](Edit& part) { part.Set("conditions", list.Build()); });
  });
}

// Takes names one after the other; the definition's own are always free to it.
class Acceptance {
 public:
  Acceptance(RuleContext& context, const Value& definition, const Value& accepted)
      : context_(context), group_(definition.Path({"spec", "group"}).AsString()) {
    EachName(group_, accepted, [&](const std::string& thing) { own_.insert(thing); });
  }

  // Whether the name can be had; remembers the first that can't, and the last reason, as upstream does.
  bool Take(std::string_view sort, std::string_view name, std::string_view reason) {
    std::string fault = Claim(sort, name);
    if (fault.empty()) return true;
    reason_ = reason;
    message_ = std::move(fault);
    return false;
  }
  bool TakeAll(std::string_view sort, const Value& names, std::string_view reason) {
    std::vector<std::string> faults;
    for (const Value& name : names.items()) {
      std::string fault = Claim(sort, name.AsString());
      if (!fault.empty() && std::ranges::find(faults, fault) == faults.end()) faults.push_back(std::move(fault));
    }
    if (faults.empty()) return true;
    reason_ = reason;
    message_.clear();
    for (const std::string& fault : faults) message_ += (message_.empty() ? "" : ", ") + fault;
    if (faults.size() > 1) message_ = "[" + message_ + "]";
    return false;
  }

  bool accepted() const { return reason_.empty(); }
  std::string_view reason() const { return accepted() ? std::string_view("NoConflicts") : reason_; }
  std::string_view message() const { return accepted() ? std::string_view("no conflicts found") : std::string_view(message_); }

 private:
  std::string Claim(std::string_view sort, std::string_view name) {
    std::string thing = Thing(group_, sort, name);
    if (name.empty() || own_.contains(thing)) return "";
    if (context_.claims != nullptr && !context_.claims->Take(kPool, thing)) return GoQuote(name) + " is already in use";
    own_.insert(thing);
    return "";
  }

  RuleContext& context_;
  const std::string group_;
  std::set<std::string> own_;
  std::string_view reason_;
  std::string message_;
};

}  // namespace

const Pool& DefinitionNamesPool() {
  static const NamesPool pool;
  return pool;
}

void HoldNames(Value definition, const std::function<void(std::string_view, std::string_view)>& held) {
  EachName(definition.Path({"spec", "group"}).AsString(), definition.Path({"status", "acceptedNames"}),
           [&](const std::string& thing) { held(kPool, thing); });
}

bool HasAcceptedNames(const Value& definition) { return IsTrue(definition.Path({"status", "conditions"}), "NamesAccepted"); }

Value WithAcceptedNames(RuleContext& context, Value definition, Value old) {
  Arena& arena = context.arena;
  Value wanted = definition.Path({"spec", "names"}), before = old.Path({"status", "acceptedNames"});
  if (HasAcceptedNames(definition) && object::Equal(wanted, before)) return definition;
  Acceptance acceptance(context, definition, before);
  Value after = Edited(arena, *DefinitionType().FindField("spec")->type->FindField("names")->type, before ? before : Value::EmptyObject(),
                       [&](Edit& names) {
    auto take = [&](std::string_view field, std::string_view sort, std::string_view reason) {
      if (acceptance.Take(sort, wanted.Get(field).AsString(), reason)) names.Set(field, wanted.Get(field));
    };
    take("plural", "resources", "PluralConflict");
    take("singular", "resources", "SingularConflict");
    if (acceptance.TakeAll("resources", wanted.Get("shortNames"), "ShortNamesConflict")) names.Set("shortNames", wanted.Get("shortNames"));
    take("kind", "kinds", "KindConflict");
    take("listKind", "kinds", "ListKindConflict");
    names.Set("categories", wanted.Get("categories"));
  });
  // Names that it no longer has are free once this is stored.
  std::string_view group = definition.Path({"spec", "group"}).AsString();
  std::set<std::string> kept;
  EachName(group, after, [&](const std::string& thing) { kept.insert(thing); });
  EachName(group, before, [&](const std::string& thing) {
    if (!kept.contains(thing) && context.claims != nullptr) context.claims->GiveBack(kPool, thing);
  });
  definition = Edited(arena, DefinitionType(), definition, [&](Edit& edit) {
    edit.In("status", [&](Edit& status) { status.Set("acceptedNames", after); });
  });
  WallTime now = context.runtime.WallNow();
  bool established = IsTrue(definition.Path({"status", "conditions"}), "Established");
  definition = WithCondition(arena, definition, now, {"NamesAccepted", acceptance.accepted(), acceptance.reason(), acceptance.message()});
  if (!established) {
    definition = WithCondition(arena, definition, now,
                               acceptance.accepted()
                                   ? NewCondition{"Established", true, "InitialNamesAccepted", "the initial names have been accepted"}
                                   : NewCondition{"Established", false, "NotAccepted", "not all names are accepted"});
  }
  if (!IsProtectedGroup(group)) return definition;
  ApiApprovalState approval = ApprovalOf(definition);
  std::string_view reason = approval.state == ApiApproval::kApproved   ? "ApprovedAnnotation"
                            : approval.state == ApiApproval::kBypassed ? "UnapprovedAnnotation"
                            : approval.state == ApiApproval::kInvalid  ? "InvalidAnnotation"
                                                                       : "MissingAnnotation";
  return WithCondition(arena, definition, now,
                       {"KubernetesAPIApprovalPolicyConformant", approval.state == ApiApproval::kApproved, reason, approval.text});
}

Value WithTerminating(Arena& arena, const Value& definition, WallTime now, bool terminating, std::string_view reason,
                      std::string_view message) {
  return WithCondition(arena, definition, now, {"Terminating", terminating, reason, message});
}

Value MarkDefinitionDeleting(RuleContext& context, Value definition) {
  Value finalizers = definition.Path({"metadata", "finalizers"});
  bool held = std::ranges::any_of(finalizers.items(), [](const Value& name) { return name.AsString() == kCleanupFinalizer; });
  if (!held) {
    object::ListBuilder list(context.arena, finalizers);
    list.Append(Value::StringRef(kCleanupFinalizer));
    definition = Edited(context.arena, DefinitionType(), definition, [&](Edit& edit) {
      edit.In("metadata", [&](Edit& metadata) { metadata.Set("finalizers", list.Build()); });
    });
  }
  return WithTerminating(context.arena, definition, context.runtime.WallNow(), true, "InstanceDeletionPending",
                         "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon");
}

Value WithoutCleanupFinalizer(Arena& arena, const Value& definition) {
  object::ListBuilder kept(arena);
  for (const Value& name : definition.Path({"metadata", "finalizers"}).items()) {
    if (name.AsString() != kCleanupFinalizer) kept.Append(name);
  }
  return Edited(arena, DefinitionType(), definition, [&](Edit& edit) {
    edit.In("metadata", [&](Edit& metadata) { metadata.Set("finalizers", kept.empty() ? Value() : kept.Build()); });
  });
}

bool IsProtectedGroup(std::string_view group) {
  return group == "k8s.io" || group == "kubernetes.io" || group.ends_with(".k8s.io") || group.ends_with(".kubernetes.io");
}

ApiApprovalState ApprovalOf(const Value& definition) {
  std::string annotation(definition.Path({"metadata", "annotations"}).Get("api-approved.kubernetes.io").AsString());
  constexpr std::string_view kSee = ", see https://github.com/kubernetes/enhancements/pull/1111";
  std::string wanted = "protected groups must have approval annotation \"api-approved.kubernetes.io\"";
  if (annotation.empty()) return {ApiApproval::kMissing, wanted + std::string(kSee)};
  if (annotation.starts_with("unapproved")) return {ApiApproval::kBypassed, "not approved: " + GoQuote(annotation)};
  size_t scheme = annotation.find("://");
  bool url = scheme != annotation.npos && scheme > 0 && annotation.size() > scheme + 3 && annotation[scheme + 3] != '/' &&
             annotation.find(' ') == annotation.npos;
  if (url) return {ApiApproval::kApproved, "approved in " + annotation};
  return {ApiApproval::kInvalid, wanted + " with either a URL or a reason starting with \"unapproved\"" + std::string(kSee)};
}

}  // namespace homeostat::kinds
