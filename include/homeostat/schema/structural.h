// Structural schemas: a CustomResourceDefinition's OpenAPI v3 schema, compiled at run time into the same Type that
// built-in kinds have, so that decoding, defaults, pruning, comparing, patches and tables are the same code for both.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "homeostat/object/arena.h"
#include "homeostat/object/value.h"
#include "homeostat/schema/conditions.h"
#include "homeostat/schema/type.h"

namespace homeostat::schema {

struct StructuralOptions {
  const Type* object_meta = nullptr;   // the type of metadata; required
  std::string_view name;               // of the definition, as OpenAPI publishes it; kept by reference
  std::string_view go_name;            // as messages name the kind; kept by reference
  bool preserve_unknown_fields = false;  // at the root, whatever the schema says
  // Conditions as upstream asks them of defaults, which it checks against the structural form of the schema: formats that
  // nobody knows count, an int-or-string is of any type, alternatives know no additionalProperties.
  bool for_defaults = false;
};

// The memory of one compiled schema. Immutable after Compile; trees made with its types refer to its names, so they keep
// it alive (object::Arena::Keep). Thread-safe.
class StructuralSchema {
 public:
  // `schema` is the tree of a JSONSchemaProps, typed or not; absent: nothing is known of the kind's fields. `owner` keeps
  // that tree. What validation of definitions would refuse (array items without a type …) is read leniently, since it
  // may be stored: such parts take any value.
  static std::shared_ptr<const StructuralSchema> Compile(const object::Value& schema, std::shared_ptr<const void> owner,
                                                         const StructuralOptions& options);
  ~StructuralSchema();

  // Of the whole object: kind, apiVersion and metadata are its first fields, whatever the schema says of them.
  const Type& type() const { return *type_; }
  const Condition& condition() const { return *type_->condition; }
  // Bytes taken, about.
  size_t size() const { return arena_.capacity(); }

 private:
  friend class StructuralCompiler;
  StructuralSchema();

  object::Arena arena_;
  std::vector<std::unique_ptr<const Pattern>> patterns_;
  std::shared_ptr<const void> owner_;
  const Type* type_ = nullptr;
};

// Every schema below and including this one, with those of junctors, until the visitor says true; says whether it did.
bool AnySchema(const object::Value& schema, const std::function<bool(const object::Value&)>& visit);

}  // namespace homeostat::schema
