#include "patch/internal/strategic_errors.h"

#include "homeostat/base/text.h"
#include "object/go_value.h"

namespace homeostat::patch::internal {

using object::Value;
using schema::Field;
using schema::Form;
using schema::Type;

namespace {

constexpr object::GoNumbers kNumbers = object::GoNumbers::kIntegers;

std::string ReceivedType(const Value& value) {
  return value ? std::string(object::GoTypeOf(value, kNumbers)) : "%!s(<nil>)";
}

// reflect.Kind of what Go holds a value of the form in.
std::string_view GoKind(Form form) {
  switch (form) {
    case Form::kBool:
      return "bool";
    case Form::kInt32:
      return "int32";
    case Form::kInt64:
      return "int64";
    case Form::kUint32:
      return "uint32";
    case Form::kUint64:
      return "uint64";
    case Form::kDouble:
      return "float64";
    case Form::kString:
      return "string";
    case Form::kBytes:
    case Form::kList:
      return "slice";
    case Form::kMap:
      return "map";
    default:
      return "struct";
  }
}

std::string_view StructName(const Type& type) {
  if (!type.go_name.empty()) return type.go_name;
  switch (type.form) {
    case Form::kQuantity:
      return "Quantity";
    case Form::kTime:
      return "Time";
    case Form::kMicroTime:
      return "MicroTime";
    case Form::kDuration:
      return "Duration";
    case Form::kIntOrString:
      return "IntOrString";
    case Form::kFieldsV1:
      return "FieldsV1";
    case Form::kRawExtension:
      return "RawExtension";
    case Form::kJson:
      return "JSON";
    case Form::kSchemaOrBool:
      return "JSONSchemaPropsOrBool";
    case Form::kSchemaOrList:
      return "JSONSchemaPropsOrArray";
    case Form::kSchemaOrStrings:
      return "JSONSchemaPropsOrStringArray";
    default:
      return "";
  }
}

}  // namespace

Status BadPrimitiveList() { return BadRequestError("invalid patch format of primitive list"); }
Status BadRetainKeys() { return BadRequestError("invalid patch format of retainKeys"); }
Status BadSetElementOrder() { return BadRequestError("invalid patch format of setElementOrder list"); }

Status NoListOfLists() {
  return Status(422, "Invalid", "the server rejected our request due to an error in our request")
      .WithDetails(StatusDetails());
}

Status NoMergeKey(const Value& item, std::string_view merge_key) {
  return Other("map: " + object::GoText(item, kNumbers) + " does not contain declared merge key: " + std::string(merge_key));
}

Status BadDirective(const Value& directive, const Value& in) {
  return Other("unknown patch type: " + object::GoStringText(directive, kNumbers) + " in map: " + object::GoText(in, kNumbers));
}

Status NotAList(const Value& found) {
  return Other("expected a []interface {}, but received a " + ReceivedType(found));
}
Status NotAMap(const Value& found) {
  return Other("expected a map[string]interface {}, but received a " + ReceivedType(found));
}
Status Other(std::string_view text) { return Status(500, "", text); }

const Field* LookUpField(const Type& type, std::string_view name, Status& status) {
  if (GoKind(type.form) != "struct") {
    status =
        Other("merging an object in json but data type is not struct, instead is: " + std::string(GoKind(type.form)));
    return nullptr;
  }
  if (const Field* exact = type.FindField(name)) return exact;
  for (const Field& field : type.fields) {
    if (EqualsIgnoreCase(field.name, name)) return &field;
  }
  status = Other("unable to find api field in struct " + std::string(StructName(type)) + " for the json field " +
                 GoQuote(name));
  return nullptr;
}

bool SameKinds(std::span<const Value> first, std::span<const Value> second, Status& status) {
  const Value* example = !first.empty() ? &first[0] : !second.empty() ? &second[0] : nullptr;
  if (example == nullptr) {
    status = Other("no elements in any of the given slices");
    return false;
  }
  if (example->IsList()) {
    status = NoListOfLists();
    return false;
  }
  std::string_view kind = object::GoTypeOf(*example, kNumbers);
  for (std::span<const Value> items : {first, second}) {
    for (const Value& item : items) {
      if (item && object::GoTypeOf(item, kNumbers) == kind) continue;
      status = Other("list element types are not identical: [" + object::GoText(Value::List(first), kNumbers) + " " +
                     object::GoText(Value::List(second), kNumbers) + "]");
      return false;
    }
  }
  return true;
}

}  // namespace homeostat::patch::internal
