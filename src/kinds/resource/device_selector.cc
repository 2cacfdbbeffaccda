#include "kinds/resource/device_selector.h"

#include <string>

#include "cel/environment.h"

namespace homeostat::kinds {
namespace {

using cel::DeclType;
using cel::DeclTypePtr;

constexpr size_t kMaxExpression = 10 * 1024;
constexpr uint64_t kMaxCost = 1'000'000;
constexpr int64_t kMaxDomain = 63, kMaxIdentifier = 32, kMaxDriver = 63, kMaxAttributeText = 64, kMaxAttributes = 32;

// What `device` is: its driver, and attributes and capacities by domain and name, each bounded as the API bounds it.
cel::Environment MakeEnvironment() {
  cel::EnvironmentOptions options;
  options.bindings = true;
  cel::Environment environment(options);
  DeclTypePtr attribute = DeclType::Of(cel::Type::Any(), kMaxAttributeText);
  DeclTypePtr quantity = DeclType::Of(cel::Type::Struct("kubernetes.Quantity"));
  DeclTypePtr attributes = DeclType::MapOf(attribute, kMaxAttributes, kMaxIdentifier, true);
  DeclTypePtr capacities = DeclType::MapOf(quantity, kMaxAttributes, kMaxIdentifier, false);
  std::vector<DeclType::Field> fields = {
      {"allowMultipleAllocations", "allowMultipleAllocations", DeclType::Of(cel::Type::Bool(), 1)},
      {"attributes", "attributes", DeclType::MapOf(attributes, kMaxAttributes, kMaxDomain, false)},
      {"capacity", "capacity", DeclType::MapOf(capacities, kMaxAttributes, kMaxDomain, false)},
      {"driver", "driver", DeclType::Of(cel::Type::String(), kMaxDriver)},
  };
  environment.Declare("device", DeclType::Object("kubernetes.DRADevice", std::move(fields)));
  return environment;
}

const cel::Environment& DeviceEnvironment() {
  static const cel::Environment environment = MakeEnvironment();
  return environment;
}

}  // namespace

void CheckDeviceExpression(std::string_view expression, const FieldPath& path, FieldErrors& errors) {
  if (expression.size() > kMaxExpression) return errors.TooLong(path, kMaxExpression);
  auto checked = DeviceEnvironment().Check(expression);
  if (!checked) return errors.Invalid(path, expression, "compilation failed: " + checked.error().text);
  const cel::Type& type = checked->result_type();
  if (type.kind() != cel::TypeKind::kBool && type.kind() != cel::TypeKind::kAny) {
    return errors.Invalid(path, expression, "must evaluate to bool or the unknown type, not " + type.ToString());
  }
  if (auto program = checked->MakeProgram(); !program) {
    return errors.Invalid(path, expression, "program instantiation failed: " + program.error().text);
  }
  if (checked->EstimateCost().max > kMaxCost) errors.Forbidden(path, "too complex, exceeds cost limit");
}

}  // namespace homeostat::kinds
