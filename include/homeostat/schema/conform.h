// Conform: an untyped tree (parsed JSON, YAML or CBOR, or the result of a patch) becomes a typed one.
//
// A typed tree is canonical: it holds exactly what a Go struct of the type would hold after decoding.
//   - Members carry field indexes and the table's names, in field order; map entries are sorted by key.
//   - What is zero to Go is absent, unless the field is a pointer; null is absent (a null item of a list is a zero
//   item).
//     So are empty lists and maps: Kubernetes stores built-in kinds as protobuf, which does not know them.
//   - Quantities, times and durations are texts in canonical form; []byte is Bytes; a float64 is a Double.
//   - Subtrees of untyped fields (RawExtension, JSON) stay as they were; FieldsV1 is Bytes with its JSON text.
// Structural types (custom resources) differ: zero values and FieldsV1 stay, and so do values of a wrong kind, for validation to
// report; null stays only where the schema says nullable, or says nothing of the value at all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/result.h"
#include "homeostat/object/value.h"
#include "homeostat/schema/empty_fields.h"
#include "homeostat/schema/type.h"

namespace homeostat::schema {

// What strict decoding objects to. Parsers add the duplicates they see, Conform the fields it does not know.
struct ConformReport {
  // False: unknown fields are dropped without a word (fieldValidation=Ignore), which is faster.
  bool collect = true;
  // True: empty lists and maps stay where Go writes them, as managed fields must know of them. See WithoutEmpty.
  bool keep_empty = false;
  // True: in structural types null stays also where the schema says that it can't be, unless there is a default for it, and faults of
  // resources within stay as they are: what server-side apply made is for validation to tell of.
  bool keep_nulls = false;
  // True: members may stand twice (ParseJsonWithRepeats), and become one as Go's decoder makes it; each is told of as a
  // duplicate. Not for structural types.
  bool repeats = false;
  // Where to note what came empty, at most 1000 fields; null: nobody wants to know.
  EmptyFields* empty_fields = nullptr;
  // `unknown field "spec.foo"`, `duplicate field "spec.replicas"`: each once, at most 100, in the order found. Each is
  // the text of one Warning under fieldValidation=Warn.
  std::vector<std::string> problems;
  // Repeated keys of a YAML document, as ParseYaml tells them (one Warning each); to strict decoding they are one problem, the first.
  std::vector<std::string> yaml_duplicates;

  bool HasProblems() const { return !problems.empty() || !yaml_duplicates.empty(); }
  // The path is spelt as in spec.template.spec.containers[0].foo.
  void AddUnknown(std::string_view path) { Add("unknown field ", path); }
  void AddDuplicate(std::string_view path) { Add("duplicate field ", path); }
  // Puts what was found from `first` on into the order of the texts.
  void SortFrom(size_t first);
  // "strict decoding error: unknown field "a", duplicate field "b"": the refusal under fieldValidation=Strict.
  std::string StrictMessage() const;

 private:
  void Add(std::string_view what, std::string_view path);
};

// The typed tree of an untyped one. A tree that was conformed to the same type before comes out equal. Shares texts and
// untyped subtrees with the input. Trees nested deeper than 400 objects are refused.
//
// Errors are 400 with Go's text, e.g. `json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas
// of type int32`; the caller puts its own words before it (what could not be handled as what).
Result<object::Value> Conform(object::Arena& arena, const object::Value& untyped, const Type& type,
                              ConformReport& report);

// A tree that was conformed with keep_empty as it would be without: as built-in kinds are stored.
object::Value WithoutEmpty(object::Arena& arena, const Type& type, const object::Value& value);

// What Go's converter from maps to structs makes of an untyped tree, ready for Conform: whole doubles become integers, integers
// that are too large lose their upper bits. 400 for what it can't convert, in its words (`unrecognized type: string`), which
// are not those of a JSON decoder. Strategic merge patches come this way.
Result<object::Value> FromUnstructured(object::Arena& arena, const object::Value& untyped, const Type& type);

// How Go's messages name a type: v1.Container, []v1.Container, map[string]string.
std::string GoTypeName(const Type& type);

}  // namespace homeostat::schema
