// For the tests of this layer only: the type of a custom resource with everything that apply looks at, as a
// CustomResourceDefinition would give it (x.io/v1 Widget of testdata/apply.jsonl.gz).
#pragma once

#include <algorithm>
#include <deque>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "homeostat/api/registry.h"
#include "homeostat/schema/type.h"

namespace homeostat::patch::test {

// Keeps what the types it makes refer to.
class TypeMaker {
 public:
  using Type = schema::Type;
  struct Named {
    std::string_view name;
    const Type* type;
    std::string_view default_json = {};
  };

  const Type* Scalar(schema::Form form) { return Add({.form = form, .structural = true}); }
  const Type* List(const Type* element, schema::ListType kind = schema::ListType::kAtomic,
                   std::vector<std::string_view> keys = {}) {
    std::vector<std::string_view>& kept = keys_.emplace_back(std::move(keys));
    return Add({.form = schema::Form::kList,
                .element = element,
                .list_type = kind,
                .list_map_keys = kept,
                .structural = true});
  }
  const Type* Map(const Type* element) {
    return Add({.form = schema::Form::kMap, .element = element, .element_nullable = true, .structural = true});
  }
  const Type* Struct(std::initializer_list<Named> named, bool atomic = false, bool preserve = false) {
    std::vector<schema::Field>& fields = fields_.emplace_back();
    std::vector<uint16_t>& by_name = orders_.emplace_back();
    for (const Named& one : named) {
      by_name.push_back(static_cast<uint16_t>(fields.size()));
      fields.push_back({.name = one.name,
                        .proto_name = one.name,
                        .flags = schema::kPointer | schema::kOmitEmpty | schema::kNullable,
                        .type = one.type,
                        .default_json = one.default_json});
    }
    std::sort(by_name.begin(), by_name.end(), [&](uint16_t a, uint16_t b) { return fields[a].name < fields[b].name; });
    return Add({.fields = fields,
                .by_name = by_name,
                .by_number = {},
                .atomic = atomic,
                .preserve_unknown_fields = preserve,
                .structural = true});
  }
  const Type* Formatted(std::string_view format) {
    const schema::Constraints& constraints = constraints_.emplace_back(schema::Constraints{.format = format});
    return Add({.form = schema::Form::kString, .constraints = &constraints, .structural = true});
  }

 private:
  const Type* Add(Type type) { return &types_.emplace_back(type); }

  std::deque<Type> types_;
  std::deque<std::vector<schema::Field>> fields_;
  std::deque<std::vector<uint16_t>> orders_;
  std::deque<std::vector<std::string_view>> keys_;
  std::deque<schema::Constraints> constraints_;
};

inline const schema::Type& WidgetType() {
  using schema::Form;
  static TypeMaker make;
  static const schema::Type* const widget = [] {
    const schema::Type *integer = make.Scalar(Form::kInt64), *string = make.Scalar(Form::kString);
    const schema::Type* part = make.Struct({{"id", string},
                                            {"note", string},
                                            {"port", integer, "80"},
                                            {"sub", make.Struct({{"deep", make.List(integer)}})}});
    const schema::Type* options =
        make.Struct({{"inner", make.Struct({{"v", integer}})}, {"known", integer}}, false, true);
    const schema::Type* spec = make.Struct({{"blob", make.Scalar(Form::kJson)},
                                            {"flag", make.Scalar(Form::kBool)},
                                            {"free", make.Map(nullptr)},
                                            {"name", string},
                                            {"named", make.Map(make.Struct({{"v", integer}, {"w", string}}))},
                                            {"numbers", make.List(integer, schema::ListType::kSet)},
                                            {"opts", options},
                                            {"parts", make.List(part, schema::ListType::kMap, {"id", "port"})},
                                            {"points", make.List(make.List(integer))},
                                            {"port", make.Scalar(Form::kIntOrString)},
                                            {"quota", make.Scalar(Form::kDouble)},
                                            {"size", integer},
                                            {"tags", make.List(string, schema::ListType::kSet)},
                                            {"when", make.Formatted("date-time")},
                                            {"whole", make.Struct({{"a", integer}, {"b", integer}}, true)}});
    return make.Struct({{"apiVersion", string},
                        {"kind", string},
                        {"metadata", api::FindType("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")},
                        {"spec", spec},
                        {"status", make.Struct({{"count", integer}, {"phase", string}})}});
  }();
  return *widget;
}

}  // namespace homeostat::patch::test
