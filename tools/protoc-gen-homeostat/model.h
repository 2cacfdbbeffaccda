// What the generators work from: the messages of api/*.proto with their options, flattened as JSON sees them.
#pragma once

#include <google/protobuf/descriptor.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "api/schema.pb.h"

namespace homeostat::generator {

// A fault in the .proto files; what() says where and what.
struct SchemaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class Shape { kScalar, kStruct, kAny, kList, kMap };

struct Message;

// A field as JSON sees it: those of inlined messages stand in their parent.
struct Field {
  const google::protobuf::FieldDescriptor* descriptor = nullptr;  // null for kind and apiVersion of a type with both
  schema::FieldOptions options;
  std::string name;        // JSON name
  std::string proto_name;
  std::string accessor;    // snake case
  int number = 0;
  int inline_number = 0;
  int inline_inner_number = 0;
  std::string inline_name;  // Go's name of the inlined struct; outer.inner if nested
  bool json_only = false;
  bool omit_empty = false;
  std::string documentation;
  Shape shape = Shape::kScalar;
  // Of the field itself or, for lists and maps, of the elements.
  Shape element_shape = Shape::kScalar;
  std::string element_form;            // scalar: the name of the schema::Form enumerator, e.g. kInt32
  const Message* message = nullptr;    // the element's message, if any
};

struct Message {
  const google::protobuf::Descriptor* descriptor = nullptr;
  schema::TypeOptions type;
  bool is_kind = false;
  schema::KindOptions kind;
  std::string name;
  std::string definition_name;
  std::string go_name, go_package;
  std::string documentation;
  std::string form;                    // schema::Form enumerator
  std::string qualified;               // ::homeostat::api::core::v1
  std::vector<Field> fields;
  bool IsStruct() const { return form == "kStruct"; }
  bool IsBareList() const { return type.form() == schema::BARE_LIST; }
};

struct File {
  const google::protobuf::FileDescriptor* descriptor = nullptr;
  std::string base;                    // homeostat/api/apps/v1, without ending
  std::string space;                   // homeostat::api::apps::v1
  std::string group, version;
  bool has_group = false;
  std::vector<std::unique_ptr<Message>> messages;
};

class Model {
 public:
  // Throws SchemaError.
  explicit Model(const std::vector<const google::protobuf::FileDescriptor*>& files);

  const std::vector<std::unique_ptr<File>>& files() const { return files_; }
  const Message* Find(const google::protobuf::Descriptor* descriptor) const;
  // Of a name as options write it: "Name" in the file, or "core.v1.Name".
  struct StringTypeEntry {
    const schema::StringType* type;
    const File* file;
  };
  StringTypeEntry FindStringType(const File& file, const std::string& name) const;
  // The comment of a field written as "meta.v1.ObjectMeta.name".
  std::string DocumentationOf(const std::string& path) const;
  // Whether defaults lie in the message, or in structs that are always part of it.
  bool HasDefaults(const Message& message) const;

 private:
  void ReadFile(const google::protobuf::FileDescriptor* descriptor);
  void AddFields(Message& message, const google::protobuf::Descriptor* from, const Field& inlined);
  Field ReadField(const google::protobuf::FieldDescriptor* descriptor) const;

  std::vector<std::unique_ptr<File>> files_;
  std::map<const google::protobuf::Descriptor*, Message*> by_descriptor_;
  std::map<std::string, StringTypeEntry> string_types_;  // "core.v1.PodPhase"
  mutable std::map<const Message*, int> has_defaults_;
};

}  // namespace homeostat::generator
