// DeclType: a type of the language together with what a schema says of it: fields, list type, bounds of sizes.
//
// Source of the rules: Kubernetes' apiserver/pkg/cel (types.go, common/schemas.go, common/valuesunstructured.go).
// Immutable; shared between environments, programs and threads.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cel/type.h"
#include "homeostat/object/value.h"

namespace homeostat::cel {

class DeclType;
using DeclTypePtr = std::shared_ptr<const DeclType>;

// The largest request that a server takes, and so the largest object: 3 MiB.
inline constexpr int64_t kMaxRequestSizeBytes = 3 * 1024 * 1024;
inline constexpr int64_t kNoMaxElements = std::numeric_limits<int64_t>::max();

class DeclType {
 public:
  enum class Shape : uint8_t { kScalar, kObject, kList, kMap };
  // How a list's items are told apart and joined.
  enum class ListKind : uint8_t { kAtomic, kSet, kMap };
  // What a JSON value becomes.
  enum class Scalar : uint8_t { kAsIs, kBytes, kDuration, kDate, kDateTime, kIntOrString, kDouble };

  struct Field {
    std::string name;       // as expressions name it: escaped
    std::string json_name;  // as the object has it
    DeclTypePtr type;
  };

  // From an OpenAPI v3 (structural) schema as JSON. A resource's root has apiVersion, kind and metadata whether the
  // schema says so or not. nullptr: expressions cannot see such values (x-kubernetes-preserve-unknown-fields without
  // a type, lists without items).
  static DeclTypePtr FromSchema(const object::Value& schema, bool is_resource_root);
  static DeclTypePtr Of(Type type, int64_t max_elements = kNoMaxElements, int64_t min_serialized_size = 1);
  static DeclTypePtr Object(std::string_view name, std::vector<Field> fields);
  static DeclTypePtr List(DeclTypePtr element, int64_t max_items = kNoMaxElements);
  static DeclTypePtr Map(DeclTypePtr element, int64_t max_properties = kNoMaxElements);
  // The same with keys of at most that length; named_entries: entries are sized alike when they are named as fields are.
  static DeclTypePtr MapOf(DeclTypePtr element, int64_t max_properties, int64_t max_key_length, bool named_entries);
  // An object that has every field one may name, of any type: Object.spec in mutating policies.
  static DeclTypePtr OpenObject(std::string_view name);

  // The same with names for its objects: NAME, NAME.field, NAME.list.@idx, NAME.map.@elem.
  DeclTypePtr Named(std::string_view name) const;

  Shape shape() const { return shape_; }
  Scalar scalar() const { return scalar_; }
  const Type& type() const { return type_; }
  const std::vector<Field>& fields() const { return fields_; }  // by name
  const Field* FindField(std::string_view name) const;
  const Field* FindJsonField(std::string_view json_name) const;
  const DeclTypePtr& element() const { return element_; }
  ListKind list_kind() const { return list_kind_; }
  const std::vector<std::string>& map_keys() const { return map_keys_; }
  int64_t max_elements() const { return max_elements_; }
  int64_t max_key_length() const { return max_key_length_; }
  bool named_entries() const { return named_entries_; }
  int64_t min_serialized_size() const { return min_serialized_size_; }
  bool nullable() const { return nullable_; }

 private:
  friend class SchemaReader;

  Shape shape_ = Shape::kScalar;
  Scalar scalar_ = Scalar::kAsIs;
  ListKind list_kind_ = ListKind::kAtomic;
  bool nullable_ = false;
  bool open_ = false;
  Type type_;
  std::string name_;
  std::vector<Field> fields_;
  DeclTypePtr element_;
  std::vector<std::string> map_keys_;
  int64_t max_elements_ = kNoMaxElements;
  int64_t max_key_length_ = 0;
  bool named_entries_ = false;
  int64_t min_serialized_size_ = 1;
};

// A property's name as expressions write it: __namespace__, x__dot__y. nullopt if it cannot be written.
std::optional<std::string> EscapeIdentifier(std::string_view name);

}  // namespace homeostat::cel
