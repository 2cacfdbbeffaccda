#include "homeostat/schema/type.h"

#include <algorithm>
#include <array>

namespace homeostat::schema {

namespace {

// As string_view::compare; most names differ in their first letter, which is cheaper to see than to call for.
int Order(std::string_view a, std::string_view b) {
  if (!a.empty() && !b.empty() && a[0] != b[0]) return static_cast<unsigned char>(a[0]) < static_cast<unsigned char>(b[0]) ? -1 : 1;
  return a.compare(b);
}

}  // namespace

int Type::FieldIndex(std::string_view json_name) const {
  // Of a few, the one of the right length is found before a search has been halved twice.
  constexpr size_t kFew = 6;
  if (fields.size() <= kFew) {
    for (size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].name == json_name) return static_cast<int>(i);
    }
    return -1;
  }
  size_t low = 0, high = by_name.size();
  while (low < high) {
    size_t middle = (low + high) / 2;
    int order = Order(fields[by_name[middle]].name, json_name);
    if (order == 0) return by_name[middle];
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return -1;
}

namespace {

struct ScalarNames {
  Form form;
  std::string_view go_name;
};

// Go's names, as decoding errors show them.
constexpr ScalarNames kScalars[] = {
    {Form::kBool, "bool"},
    {Form::kInt32, "int32"},
    {Form::kInt64, "int64"},
    {Form::kUint32, "uint32"},
    {Form::kUint64, "uint64"},
    {Form::kDouble, "float64"},
    {Form::kString, "string"},
    {Form::kBytes, "[]uint8"},
    {Form::kQuantity, "resource.Quantity"},
    {Form::kTime, "v1.Time"},
    {Form::kMicroTime, "v1.MicroTime"},
    {Form::kDuration, "v1.Duration"},
    {Form::kIntOrString, "intstr.IntOrString"},
    {Form::kFieldsV1, "v1.FieldsV1"},
    {Form::kRawExtension, "runtime.RawExtension"},
    {Form::kJson, "v1.JSON"},
};
constexpr size_t kScalarCount = std::size(kScalars);
static_assert(kScalarCount == static_cast<size_t>(Form::kStruct), "every form before kStruct has its shared type");

constexpr std::array<Type, kScalarCount> MakeScalars() {
  std::array<Type, kScalarCount> types;
  for (size_t i = 0; i < kScalarCount; ++i) {
    types[i].form = kScalars[i].form;
    types[i].go_name = kScalars[i].go_name;
    types[i].preserve_unknown_fields = kScalars[i].form >= Form::kFieldsV1;
  }
  return types;
}

constexpr std::array<Type, kScalarCount> kScalarTypes = MakeScalars();

}  // namespace

const Type& ScalarType(Form form) {
  size_t index = std::min(static_cast<size_t>(form), static_cast<size_t>(Form::kJson));
  return kScalarTypes[index];
}

const Type& AnyType() { return ScalarType(Form::kJson); }

}  // namespace homeostat::schema
