#include "homeostat/schema/validate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "homeostat/base/text.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/diff.h"
#include "schema/internal/patterns.h"
#include "schema/internal/presence.h"

namespace homeostat::schema {

using internal::ElementType;
using object::Member;
using object::Value;
using object::ValueKind;

namespace {

using Matches = std::function<bool(std::string_view pattern, std::string_view text)>;

std::string NumberText(double number) {
  std::string text;
  object::AppendJsonDouble(text, number);
  return text;
}

// What OpenAPI calls the value.
std::string_view OpenApiKind(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kBool:
      return "boolean";
    case ValueKind::kInt:
      return "integer";
    case ValueKind::kDouble:
      return "number";
    case ValueKind::kString:
    case ValueKind::kBytes:
      return "string";
    case ValueKind::kList:
      return "array";
    case ValueKind::kObject:
      return "object";
    default:
      return "null";
  }
}

// What OpenAPI calls the type that is wanted; empty for types that take anything.
std::string_view OpenApiType(Form form) {
  switch (form) {
    case Form::kBool:
      return "boolean";
    case Form::kInt32:
    case Form::kInt64:
    case Form::kUint32:
    case Form::kUint64:
      return "integer";
    case Form::kDouble:
      return "number";
    case Form::kIntOrString:
      return "integer,string";
    case Form::kStruct:
    case Form::kMap:
      return "object";
    case Form::kList:
      return "array";
    case Form::kFieldsV1:
    case Form::kRawExtension:
    case Form::kJson:
      return "";
    default:
      return "string";
  }
}

bool FitsOpenApiType(Form form, const Value& value) {
  std::string_view wanted = OpenApiType(form), found = OpenApiKind(value);
  if (wanted.empty() || wanted == found) return true;
  if (form == Form::kDouble) return value.IsNumber();
  if (wanted == "integer") return value.IsDouble() && value.AsDouble() == std::floor(value.AsDouble());
  return form == Form::kIntOrString && (value.IsInt() || value.IsString());
}

class Check {
 public:
  Check(FieldErrors& errors, const ValidateOptions& options, Matches matches)
      : errors_(errors), options_(options), matches_(std::move(matches)) {}

  void Run(const Type& type, const Value& value, const FieldPath& path) {
    if (++depth_ <= internal::kMaxDepth) Present(type, value, path);
    --depth_;
  }

 private:
  void Present(const Type& type, const Value& value, const FieldPath& path) {
    if (type.structural && !FitsOpenApiType(type.form, value)) return WrongType(type, value, path);
    if (type.constraints != nullptr) Constrained(type, *type.constraints, value, path);
    const Type& object_type = value.IsObject() ? internal::ObjectType(type) : type;
    if (value.IsList()) {
      Items(type, value, path);
    } else if (value.IsObject() && object_type.form == Form::kStruct) {
      Fields(object_type, value, path);
    } else if (value.IsObject() && object_type.form == Form::kMap) {
      for (const Member& member : value.members()) {
        if (!Skips(type.element_nullable, member.value))
          Run(ElementType(type), member.value, Entry(type, path, member.name()));
      }
    }
  }

  // OpenAPI validation names entries like fields.
  static FieldPath Entry(const Type& type, const FieldPath& path, std::string_view key) {
    return type.structural ? path.Child(key) : path.Key(key);
  }
  static bool Skips(bool nullable, const Value& value) { return nullable && value.IsNull(); }

  void Fields(const Type& type, const Value& value, const FieldPath& path) {
    auto members = value.members();
    size_t next = 0;
    for (size_t i = 0; i < type.fields.size(); ++i) {
      const Field& field = type.fields[i];
      Value found;
      if (next < members.size() && members[next].field == i) found = members[next++].value;
      if (found.IsAbsent()) {
        Absent(field, path);
      } else if (!Skips(field.Has(kNullable), found)) {
        Run(*field.type, found, path.Child(field.name));
      }
    }
    for (; next < members.size() && type.element != nullptr; ++next) {
      Run(*type.element, members[next].value, path.Child(members[next].name()));
    }
  }

  void Absent(const Field& field, const FieldPath& path) {
    bool zero_counts = !field.Has(kPointer) && field.type->form <= Form::kDouble;
    if (options_.required && field.Has(kRequired) && !zero_counts) errors_.Required(path.Child(field.name));
  }

  void Items(const Type& type, const Value& list, const FieldPath& path) {
    const Type& element = ElementType(type);
    for (size_t i = 0; i < list.size(); ++i) {
      if (!Skips(type.element_nullable, list.items()[i])) Run(element, list.items()[i], path.Index(i));
    }
    if (type.structural && type.list_type != ListType::kAtomic) Duplicates(type, list, path);
  }

  void Duplicates(const Type& type, const Value& list, const FieldPath& path) {
    for (size_t i = 1; i < list.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (!IsSameItem(type, list.items()[i], list.items()[j])) continue;
        errors_.Duplicate(path.Index(i), Identity(type, list.items()[i]));
        break;
      }
    }
  }

  static bool IsSameItem(const Type& type, const Value& a, const Value& b) {
    if (type.list_type == ListType::kSet) return object::Equal(a, b);
    return std::all_of(type.list_map_keys.begin(), type.list_map_keys.end(),
                       [&](std::string_view key) { return object::Equal(a.Get(key), b.Get(key)); });
  }

  // The item of a set, or the keys of an item of a map.
  static BadValue Identity(const Type& type, const Value& item) {
    if (type.list_type == ListType::kSet) return BadValue(item);
    object::Arena arena;
    object::ObjectBuilder keys(arena);
    std::vector<std::string_view> names(type.list_map_keys.begin(), type.list_map_keys.end());
    std::sort(names.begin(), names.end());
    for (std::string_view name : names) {
      if (Value key = item.Get(name); !key.IsAbsent()) keys.Append(name, key);
    }
    return BadValue(keys.Build());
  }

  void WrongType(const Type& type, const Value& value, const FieldPath& path) {
    std::string found(OpenApiKind(value));
    errors_.TypeInvalid(
        path, found, InBody(path) + "must be of type " + std::string(OpenApiType(type.form)) + ": " + GoQuote(found));
  }

  static std::string InBody(const FieldPath& path) {
    return (path.IsRoot() ? std::string() : path.String()) + " in body ";
  }

  void Constrained(const Type& type, const Constraints& limits, const Value& value, const FieldPath& path) {
    if (options_.enums && !limits.enum_values.empty()) Enum(limits, value, path);
    if (!options_.limits) return;
    if (value.IsNumber()) Number(type, limits, value, path);
    if (value.IsString()) Text(type, limits, value, path);
    if (value.IsList()) ItemCount(type, limits, value, path);
    if (value.IsObject()) MemberCount(limits, value, path);
  }

  void Enum(const Constraints& limits, const Value& value, const FieldPath& path) {
    std::string text = value.IsString() ? std::string(value.AsString()) : object::JsonText(value);
    auto allowed = limits.enum_values;
    if (std::find(allowed.begin(), allowed.end(), text) == allowed.end())
      errors_.NotSupported(path, BadValue(value), allowed);
  }

  void Number(const Type& type, const Constraints& limits, const Value& value, const FieldPath& path) {
    double number = value.AsDouble();
    auto report = [&](std::string detail) {
      errors_.Invalid(path, BadValue(value),
                      type.structural ? InBody(path) + "should be " + detail : "must be " + detail);
    };
    if (limits.has_maximum && (limits.exclusive_maximum ? number >= limits.maximum : number > limits.maximum)) {
      report((limits.exclusive_maximum ? "less than " : "less than or equal to ") + NumberText(limits.maximum));
    }
    if (limits.has_minimum && (limits.exclusive_minimum ? number <= limits.minimum : number < limits.minimum)) {
      report((limits.exclusive_minimum ? "greater than " : "greater than or equal to ") + NumberText(limits.minimum));
    }
    if (limits.multiple_of > 0) {
      double quotient = number / limits.multiple_of;
      if (quotient != std::floor(quotient)) report("a multiple of " + NumberText(limits.multiple_of));
    }
  }

  void Text(const Type& type, const Constraints& limits, const Value& value, const FieldPath& path) {
    int64_t length = static_cast<int64_t>(CountCharacters(value.AsString()));
    if (limits.max_length >= 0 && length > limits.max_length) {
      type.structural ? errors_.TooLong(path, limits.max_length) : errors_.TooLongCharacters(path, limits.max_length);
    }
    if (limits.min_length >= 0 && length < limits.min_length) {
      if (type.structural) {
        errors_.Invalid(path, value,
                        InBody(path) + "should be at least " + std::to_string(limits.min_length) + " chars long");
      } else {
        errors_.TooShort(path, limits.min_length);
      }
    }
    if (!limits.pattern.empty() && !matches_(limits.pattern, value.AsString())) {
      std::string detail = "should match '" + std::string(limits.pattern) + "'";
      errors_.Invalid(path, value, type.structural ? InBody(path) + detail : detail);
    }
  }

  void ItemCount(const Type& type, const Constraints& limits, const Value& value, const FieldPath& path) {
    int64_t count = value.size();
    if (limits.max_items >= 0 && count > limits.max_items) errors_.TooMany(path, count, limits.max_items);
    if (limits.min_items >= 0 && count < limits.min_items) {
      if (type.structural) {
        errors_.Invalid(path, BadValue(count),
                        InBody(path) + "should have at least " + std::to_string(limits.min_items) + " items");
      } else {
        errors_.TooFew(path, count, limits.min_items);
      }
    }
    if (limits.unique_items && HasDuplicates(value))
      errors_.Invalid(path, BadValue(value), InBody(path) + "shouldn't contain duplicates");
  }

  static bool HasDuplicates(const Value& list) {
    std::vector<Value> sorted(list.items().begin(), list.items().end());
    std::sort(sorted.begin(), sorted.end(), [](const Value& a, const Value& b) { return object::Compare(a, b) < 0; });
    return std::adjacent_find(sorted.begin(), sorted.end(),
                              [](const Value& a, const Value& b) { return object::Equal(a, b); }) != sorted.end();
  }

  void MemberCount(const Constraints& limits, const Value& value, const FieldPath& path) {
    int64_t count = value.size();
    if (limits.max_properties >= 0 && count > limits.max_properties)
      errors_.TooMany(path, count, limits.max_properties);
    if (limits.min_properties >= 0 && count < limits.min_properties) {
      errors_.Invalid(path, BadValue(count),
                      InBody(path) + "should have at least " + std::to_string(limits.min_properties) + " properties");
    }
  }

  FieldErrors& errors_;
  const ValidateOptions& options_;
  Matches matches_;
  int depth_ = 0;
};

// Items of lists that are maps, found in the old list by their keys.
Value FindItem(const Type& list_type, const Value& list, const Value& item) {
  for (const Value& candidate : list.items()) {
    bool same = std::all_of(list_type.list_map_keys.begin(), list_type.list_map_keys.end(),
                            [&](std::string_view key) { return object::Equal(candidate.Get(key), item.Get(key)); });
    if (same) return candidate;
  }
  return {};
}

void CheckUpdate(const Type& type, const Value& value, const Value& old, const FieldPath& path, FieldErrors& errors,
                 int depth) {
  if (depth > internal::kMaxDepth || IsEqual(type, value, old)) return;
  if (type.form == Form::kList && type.list_type == ListType::kMap) {
    for (size_t i = 0; i < value.size(); ++i) {
      Value before = FindItem(type, old, value.items()[i]);
      if (before) CheckUpdate(ElementType(type), value.items()[i], before, path.Index(i), errors, depth + 1);
    }
  } else if (type.form == Form::kMap) {
    for (const Member& member : value.members()) {
      Value before = old.Get(member.name());
      if (before) CheckUpdate(ElementType(type), member.value, before, path.Key(member.name()), errors, depth + 1);
    }
  } else if (type.form == Form::kStruct) {
    for (uint16_t index : ChangedFields(type, value, old)) {
      const Field& field = type.fields[index];
      FieldPath below = path.Child(field.name);
      if (field.Has(kImmutable)) {
        errors.Immutable(below, BadValue(*field.type, value.Field(index)));
      } else {
        CheckUpdate(*field.type, value.Field(index), old.Field(index), below, errors, depth + 1);
      }
    }
  }
}

}  // namespace

Validator::Validator() : patterns_(std::make_unique<Patterns>()) {}
Validator::~Validator() = default;

void Validator::Validate(const Type& type, const Value& value, const FieldPath& path, FieldErrors& errors,
                         const ValidateOptions& options) const {
  Check check(errors, options,
              [this](std::string_view pattern, std::string_view text) { return patterns_->Matches(pattern, text); });
  check.Run(type, value, path);
}

void Validator::ValidateUpdate(const Type& type, const Value& value, const Value& old, const FieldPath& path,
                               FieldErrors& errors) const {
  CheckUpdate(type, value, old, path, errors, 0);
}

}  // namespace homeostat::schema
