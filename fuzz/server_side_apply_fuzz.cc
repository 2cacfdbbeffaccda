// Server-side apply: writes of one object, one a line: {"m":"manager","f":true,"a":{…}} applies,
// {"m":"manager","u":{…}} updates. Entries of managedFields can always be read again, and a configuration of which
// nothing gets lost in a typed object (as zero values do) applies again without conflicts. It need not give the same
// object: an empty object in it, of which the applier owned parts before, becomes null the first time, as upstream.
#include "homeostat/api/registry.h"
#include "homeostat/schema/conform.h"
#include "homeostat/schema/json_encoder.h"
#include "json_input.h"
#include "patch/field_manager.h"
#include "patch/typed_merge.h"

namespace {

using namespace homeostat;
using object::Value;

class Object {
 public:
  Object(object::Arena& arena, const schema::Kind& kind)
      : arena_(arena),
        kind_(kind),
        manager_({.kind = kind.gvk, .type = kind.type, .subresource = {}, .reset_fields = {}, .versions = {}}) {}

  void Write(const Value& line) {
    std::string_view name = line.Get("m").AsString();
    if (Value sent = line.Get("u")) {
      if (auto typed = Typed(sent)) Store(manager_.Update(arena_, live_, *typed, name, Now()));
    } else if (Value config = line.Get("a")) {
      Apply(config, name, line.Get("f").AsBool());
    }
  }

 private:
  WallTime Now() { return WallTime(std::chrono::seconds(++second_)); }

  std::optional<Value> Typed(const Value& untyped) {
    schema::ConformReport report;
    report.collect = false;
    auto typed = schema::Conform(arena_, untyped, *kind_.type, report);
    return typed ? std::optional(*typed) : std::nullopt;
  }

  void Store(const Value& object) {
    fuzz::Require(patch::ValidateManagedFieldsList(patch::ManagedFieldsOf(object)).has_value(),
                  "managedFields can be read");
    bool has_uid = !object.Path({"metadata", "uid"}).AsString().empty();
    live_ = has_uid ? object : *Typed(object::WithPath(arena_, object, {"metadata", "uid"}, Value::StringRef("u")));
  }

  bool SurvivesTyping(const Value& config) {
    std::optional<Value> typed = Typed(config);
    if (!typed) return false;
    patch::Comparison change =
        patch::CompareTyped(arena_, *kind_.type, config, schema::ToJsonForm(arena_, *kind_.type, *typed));
    return change.modified.empty() && change.removed.empty();
  }

  void Apply(const Value& config, std::string_view name, bool force) {
    auto applied = manager_.Apply(arena_, live_, config, name, force, Now());
    if (!applied) return;
    std::optional<Value> typed = Typed(applied->object);
    if (!typed) return;
    Store(*typed);
    if (name == "kubectl" || !SurvivesTyping(config)) return;  // kubectl's annotation is rewritten
    auto again = manager_.Apply(arena_, live_, config, name, false, Now());
    fuzz::Require(again.has_value(), "the same applies again");
  }

  object::Arena& arena_;
  const schema::Kind& kind_;
  patch::FieldManager manager_;
  Value live_;
  int second_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  object::Arena arena;
  auto values = fuzz::JsonLines(arena, data, size);
  if (!values || values->empty()) return 0;
  Value first = (*values)[0].Get("u") ? (*values)[0].Get("u") : (*values)[0].Get("a");
  const schema::Kind* kind = api::FindKind("", "v1", first.Get("kind").AsString());
  if (kind == nullptr) return 0;
  Object object(arena, *kind);
  for (const Value& line : *values) object.Write(line);
  return 0;
}
