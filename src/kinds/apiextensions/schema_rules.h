// Rules of the schemas in a CustomResourceDefinition. A schema is the typed tree of a JSONSchemaProps.
// Source of the rules: apiextensions-apiserver's pkg/apis/apiextensions/validation and pkg/apiserver/schema.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "homeostat/schema/structural.h"
#include "kinds/behaviour.h"
#include "kinds/checks.h"

namespace homeostat::kinds {

// What an update need not put right, because the stored definition has it already.
struct SchemaRuleOptions {
  bool require_known_types = true;
  bool require_pruned_defaults = true;
  bool require_atomic_sets = true;
  bool require_map_keys = true;
  bool suppress_rule_costs = false;  // of a schema that has not changed
};
SchemaRuleOptions OptionsOfOld(const Value& old_definition);

// `schema` stands at `path`, which ends in openAPIV3Schema. has_status: the status subresource is on.
void CheckSchema(const Value& schema, bool has_status, const SchemaRuleOptions& options, const FieldPath& path, FieldErrors& errors);

// Every value has one place that says what it is: types outside of junctors, nothing but conditions within them.
void CheckStructural(const Value& schema, const FieldPath& path, FieldErrors& errors);
// A part that structural schemas can't have at all (`$ref`, `id` …), in upstream's words; empty if there is none.
std::string UnsupportedPart(const Value& schema);
bool HasDefaults(const Value& schema);
// Whether defaults are nothing but what their own schemas know.
bool DefaultsArePruned(const Value& schema);
// Defaults are what their own schemas allow and, if that is required, nothing that they don't know.
void CheckDefaults(const Value& schema, bool require_pruned, const FieldPath& path, FieldErrors& errors);
// What each part of a schema may say by itself, whether it is structural or not. Gives the paths of the parts that something was
// found wrong with, or with what is below them; what a list says of its items is the list's.
std::set<std::string> CheckSchemaParts(const Value& schema, const SchemaRuleOptions& options, const FieldPath& path, FieldErrors& errors);

// The rules among these that came later, of one part alone: definitions that were stored before need not keep them.
void CheckKnownType(const Value& part, const FieldPath& path, FieldErrors& errors);
void CheckAtomicItems(const Value& part, const FieldPath& path, FieldErrors& errors);
void CheckFixedKeys(const Value& part, const FieldPath& path, FieldErrors& errors);

// Rules of the schema (x-kubernetes-validations): that they compile, and what they may cost. Those of parts in `faulty` (paths) are not
// looked at.
void CheckRuleExpressions(const Value& schema, const SchemaRuleOptions& options, const std::set<std::string>& faulty,
                          const FieldPath& path, FieldErrors& errors);

// A path such as .spec.a['b'] in a schema: the schema it leads to. The fault is why it leads nowhere.
struct SchemaPath {
  Value schema;
  std::string fault;
  std::string root;   // the first step
  std::string text;   // as upstream prints the path
};
SchemaPath FollowSchemaPath(std::string_view path, const Value& schema, bool with_brackets);

// Formats that nobody checks, in the order found, each once.
std::vector<std::string> UnknownFormats(const Value& definition);

}  // namespace homeostat::kinds
