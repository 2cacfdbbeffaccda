#include "homeostat/schema/member_field.h"
#include "homeostat/schema/conditions.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <compare>
#include <limits>
#include <unordered_map>
#include <vector>

#include "homeostat/base/go_text.h"
#include "homeostat/base/text.h"
#include "homeostat/object/json.h"
#include "homeostat/object/member_lookup.h"
#include "homeostat/object/member_order.h"
#include "schema/internal/pattern.h"
#include "schema/internal/presence.h"

namespace homeostat::schema {

using object::Member;
using object::Value;
using object::ValueKind;

const Condition* Condition::FindProperty(std::string_view name) const {
  auto found = std::lower_bound(properties.begin(), properties.end(), name,
                                [](const PropertyCondition& p, std::string_view n) { return p.name < n; });
  return found == properties.end() || found->name != name ? nullptr : found->condition;
}

bool BlocksRules(std::string_view reason) {
  return reason == "FieldValueNotSupported" || reason == "FieldValueRequired" || reason == "FieldValueTooLong" ||
         reason == "FieldValueTooMany" || reason == "FieldValueTypeInvalid";
}

namespace {

// Where the walk is; put into text only when something is to be reported.
struct Frame {
  const Frame* parent = nullptr;
  std::string_view name = {};
  size_t index = 0;
  enum class Step : uint8_t { kRoot, kProperty, kFurther, kItem } step = Step::kRoot;

  void AppendTo(std::string& out) const {
    if (step == Step::kRoot) return;
    parent->AppendTo(out);
    if (step == Step::kItem) {
      out += '[' + std::to_string(index) + ']';
      return;
    }
    // A member that is no property has a dot before it even at the root.
    if (!out.empty() || step == Step::kFurther) out += '.';
    out += name;
  }
  std::string Path() const {
    std::string path;
    AppendTo(path);
    return path;
  }
};

enum class FaultCode : uint8_t { kPlain, kRequired, kEnum, kTooLong, kTooMany, kType, kOther };

struct Fault {
  FaultCode code = FaultCode::kOther;
  std::string name;     // of the field
  std::string message;  // two of the same text are one
  BadValue value = BadValue::Omitted();
  int64_t limit = -1, count = -1;
  std::span<const Value> enums = {};
};

// What checking one value came to: its faults, and how many checks it passed.
struct Outcome {
  std::vector<Fault> faults;
  int matches = 0;

  bool ok() const { return faults.empty(); }
  void Add(Fault fault) {
    // The object is refused anyway; an answer of more would help nobody.
    constexpr size_t kMost = 500;
    if (faults.size() >= kMost) return;
    for (const Fault& known : faults) {
      if (known.message == fault.message) return;
    }
    faults.push_back(std::move(fault));
  }
  void Merge(Outcome other) {
    for (Fault& fault : other.faults) Add(std::move(fault));
    matches += other.matches;
  }
};

// What stood where the value stands now. Without one, nothing is forgiven.
struct Before {
  const Type* shape = nullptr;
  Value old;
  bool known() const { return shape != nullptr && !old.IsAbsent(); }
};

// in_old: looks in the old object.
Before BeforeMember(const Before& before, const Member& member, object::MemberLookup& in_old) {
  if (!before.known() || !before.old.IsObject()) return {};
  const Type& type = internal::ObjectType(*before.shape);
  const Field* field = type.form == Form::kStruct ? FieldOfMember(type, member) : nullptr;
  const Type* shape = field != nullptr ? field->type : type.element;
  const Member* old = in_old.Find(member.name());
  return shape == nullptr || old == nullptr ? Before{} : Before{shape, old->value};
}

// The old items of a list that is a map, found by their keys.
class OldItems {
 public:
  explicit OldItems(const Before& before) : before_(before) {
    bool correlates = before.known() && before.shape->form == Form::kList && before.shape->element != nullptr &&
                      before.shape->list_type == ListType::kMap;
    if (!correlates) return;
    for (const Value& item : before.old.items()) {
      if (item.IsObject()) items_.try_emplace(KeyOf(item), item);
    }
  }
  Before Of(const Value& item) const {
    if (items_.empty() || !item.IsObject()) return {};
    auto found = items_.find(KeyOf(item));
    return found == items_.end() ? Before{} : Before{before_.shape->element, found->second};
  }

 private:
  std::string KeyOf(const Value& item) const {
    std::string key;
    for (std::string_view name : before_.shape->list_map_keys) {
      Value value = item.Get(name);
      if (value.IsString()) {  // with its length before it, so that no two look the same
        key.append(std::to_string(value.AsString().size())).append(1, ':').append(value.AsString());
      } else {
        key += object::JsonText(value);
      }
      key += ',';
    }
    return key;
  }

  const Before& before_;
  std::unordered_map<std::string, Value> items_;
};

struct KindOf {
  uint8_t bit;
  std::string_view name;    // OpenAPI's
  std::string_view format;  // what the value is by itself
};
KindOf Classify(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kBool: return {kBooleanKind, "boolean", ""};
    case ValueKind::kInt: return {kIntegerKind, "integer", "int64"};
    case ValueKind::kDouble: return {kNumberKind, "number", "float64"};
    case ValueKind::kList: return {kArrayKind, "array", ""};
    case ValueKind::kObject: return {kObjectKind, "object", ""};
    default: return {kStringKind, "string", ""};
  }
}

// Whether a number counts as an integer: what is a hair's breadth above one does, as what a division leaves may be.
bool IsWhole(double number) {
  if (!(std::abs(number) <= 9007199254740991.0)) return false;
  double below = std::trunc(number);
  if (number == below) return true;
  return number >= 1 && (number - below) / (number + below) < 1e-9;
}

// A limit as integers are compared with it: without its fraction, and what no int64 can hold is the least of them.
int64_t WholeOf(double limit) {
  constexpr double kBeyond = 9223372036854775808.0;
  return limit >= -kBeyond && limit < kBeyond ? static_cast<int64_t>(limit) : std::numeric_limits<int64_t>::min();
}

std::string InBody(const std::string& name) { return name + " in body "; }

Fault TypeFault(const std::string& name, std::string_view wanted, std::string_view found) {
  return {FaultCode::kType, name, InBody(name) + "must be of type " + std::string(wanted) + ": " + GoQuote(found),
          BadValue(found)};
}

// The member of an enum that the value equals, as Go converts numbers.
bool IsOneOf(const Value& value, std::span<const Value> enums) {
  return std::any_of(enums.begin(), enums.end(), [&](const Value& one) {
    if (value.IsDouble() && one.IsInt()) return static_cast<int64_t>(value.AsDouble()) == one.AsInt();
    if (value.IsInt() && one.IsDouble()) return value.AsDouble() == one.AsDouble();
    return !one.IsNull() && object::Equal(value, one);
  });
}

class Checker {
 public:
  Outcome Run(const Condition& condition, const Value& value, const Frame& frame, const Before& before) {
    Outcome outcome;
    if (++depth_ <= internal::kMaxDepth) outcome = Whole(condition, value, frame, before);
    --depth_;
    if (!outcome.ok() && before.known() && object::Equal(before.old, value)) outcome.faults.clear();
    return outcome;
  }

 private:
  Outcome Whole(const Condition& condition, const Value& value, const Frame& frame, const Before& before) {
    Outcome outcome;
    if (value.IsNull() || value.IsAbsent()) {
      ++outcome.matches;
      if (condition.kinds != 0 && !condition.nullable) {
        outcome.Add(TypeFault(frame.Path(), condition.kind_text, "null"));
        --outcome.matches;
      }
      Enum(condition, value, frame, outcome);
      return outcome;
    }
    if (condition.kinds != 0 || !condition.format.empty()) {
      Kind(condition, value, frame, outcome);
      ++outcome.matches;
    }
    Junctors(condition, value, frame, before, outcome);
    ++outcome.matches;
    if (value.IsString()) {
      Text(condition, value, frame, outcome);
      ++outcome.matches;
      if (condition.format_of_texts) {
        Format(condition, value, frame, outcome);
        ++outcome.matches;
      }
    }
    if (value.IsNumber()) {
      Number(condition, value, frame, outcome);
      outcome.matches += 2;
    }
    if (value.IsList()) {
      Items(condition, value, frame, before, outcome);
      outcome.matches += 2;
    }
    Enum(condition, value, frame, outcome);
    ++outcome.matches;
    if (value.IsObject()) {
      Members(condition, value, frame, before, outcome);
      ++outcome.matches;
    }
    ++outcome.matches;
    return outcome;
  }

  static void Kind(const Condition& condition, const Value& value, const Frame& frame, Outcome& outcome) {
    KindOf kind = Classify(value);
    bool accepted = (condition.kinds & kind.bit) != 0;
    bool whole = value.IsDouble() && IsWhole(value.AsDouble()) && (condition.kinds & kIntegerKind) != 0;
    bool number = value.IsInt() && (condition.kinds & kNumberKind) != 0;
    bool textual = value.IsString() || value.IsList();
    if (!textual && !condition.format.empty() && !(accepted || kind.format == condition.format || whole || number)) {
      return outcome.Add(TypeFault(frame.Path(), condition.format, kind.format));
    }
    bool numeric = (condition.kinds & (kNumberKind | kIntegerKind)) != 0;
    if ((!numeric && !condition.format.empty() && textual) || accepted || whole || number) {
      ++outcome.matches;
      return;
    }
    outcome.Add(TypeFault(frame.Path(), condition.kind_text, kind.name));
  }

  void Junctors(const Condition& condition, const Value& value, const Frame& frame, const Before& before, Outcome& outcome) {
    if (!condition.any_of.empty()) AnyOf(condition, value, frame, before, outcome);
    if (!condition.one_of.empty()) OneOf(condition, value, frame, before, outcome);
    if (!condition.all_of.empty()) AllOf(condition, value, frame, before, outcome);
    if (condition.none_of != nullptr && Nested(*condition.none_of, value, frame, before).ok()) {
      Plain(frame, " must not validate the schema (not)", outcome);
    }
    ++outcome.matches;
  }

  // An alternative sees the same value: what stood there before is forgiven only by the schema around it.
  Outcome Nested(const Condition& condition, const Value& value, const Frame& frame, const Before& before) {
    Outcome outcome;
    if (++depth_ <= internal::kMaxDepth) outcome = Whole(condition, value, frame, before);
    --depth_;
    return outcome;
  }

  static void Plain(const Frame& frame, std::string_view message, Outcome& outcome) {
    outcome.Add({FaultCode::kPlain, "", GoQuote(frame.Path()) + std::string(message)});
  }

  void AnyOf(const Condition& condition, const Value& value, const Frame& frame, const Before& before, Outcome& outcome) {
    Outcome best;
    bool first = true, succeeded = false;
    for (const Condition* alternative : condition.any_of) {
      Outcome result = Nested(*alternative, value, frame, before);
      succeeded = result.ok();
      if (succeeded || first || result.matches > best.matches) best = std::move(result);
      first = false;
      if (succeeded) break;
    }
    if (!succeeded) Plain(frame, " must validate at least one schema (anyOf)", outcome);
    outcome.Merge(std::move(best));
  }

  void OneOf(const Condition& condition, const Value& value, const Frame& frame, const Before& before, Outcome& outcome) {
    Outcome best, success;
    bool first = true;
    int succeeded = 0;
    for (const Condition* alternative : condition.one_of) {
      Outcome result = Nested(*alternative, value, frame, before);
      if (result.ok()) {
        if (++succeeded == 1) success = std::move(result);
        continue;
      }
      if (succeeded == 0 && (first || result.matches > best.matches)) best = std::move(result);
      first = false;
    }
    if (succeeded == 1) return outcome.Merge(std::move(success));
    Plain(frame, std::string(" must validate one and only one schema (oneOf). ") +
                     (succeeded == 0 ? std::string("Found none valid")
                                     : "Found " + std::to_string(succeeded) + " valid alternatives"),
          outcome);
    if (succeeded == 0) outcome.Merge(std::move(best));
  }

  void AllOf(const Condition& condition, const Value& value, const Frame& frame, const Before& before, Outcome& outcome) {
    size_t succeeded = 0;
    for (const Condition* alternative : condition.all_of) {
      Outcome result = Nested(*alternative, value, frame, before);
      if (result.ok()) ++succeeded;
      outcome.Merge(std::move(result));
    }
    if (succeeded == condition.all_of.size()) return;
    Plain(frame, std::string(" must validate all the schemas (allOf)") + (succeeded == 0 ? ". None validated" : ""), outcome);
  }

  static void Text(const Condition& condition, const Value& value, const Frame& frame, Outcome& outcome) {
    const Constraints& limits = condition.limits;
    std::string_view text = value.AsString();
    auto length = static_cast<int64_t>(CountCharacters(text));
    if (condition.caps_length && length > limits.max_length) {
      std::string name = frame.Path();
      std::string message = InBody(name) + "should be at most " + std::to_string(limits.max_length) + " chars long";
      return outcome.Add({FaultCode::kTooLong, name, message, BadValue(text), limits.max_length});
    }
    if (limits.min_length >= 0 && length < limits.min_length) {
      return Invalid(frame, value, "should be at least " + std::to_string(limits.min_length) + " chars long", outcome);
    }
    if (condition.pattern == nullptr || condition.pattern->Matches(text)) return;
    std::string shown(limits.pattern);
    if (!condition.pattern->ok()) shown += ", but pattern is invalid: " + condition.pattern->Fault();
    Invalid(frame, value, "should match '" + shown + "'", outcome);
  }

  static void Format(const Condition& condition, const Value& value, const Frame& frame, Outcome& outcome) {
    if (FitsFormat(condition.format, value.AsString())) return;
    outcome.Add(TypeFault(frame.Path(), condition.format, value.AsString()));
  }

  static void Invalid(const Frame& frame, const BadValue& value, std::string_view detail, Outcome& outcome) {
    std::string name = frame.Path();
    std::string message = InBody(name) + std::string(detail);
    outcome.Add({FaultCode::kOther, std::move(name), std::move(message), value});
  }

  // Whether a number can be of the type and format that the schema names; if not, says so.
  static bool IsInRange(const Condition& condition, const Value& number, std::string_view what, const Frame& frame,
                        Outcome& outcome) {
    bool integer = condition.kinds == kIntegerKind, real = condition.kinds == kNumberKind;
    std::string_view format = (integer || real) && IsKnownFormat(integer ? "integer" : "number", condition.format) ? condition.format : std::string_view();
    bool fits = true;
    if (integer) {
      // The least of integers is printed with zeros at its end, and so is less than the least.
      const auto whole = static_cast<double>(WholeOf(number.AsDouble()));
      fits = number.IsInt() || (whole == number.AsDouble() && whole > -9223372036854775808.0);
      if (format == "int32") fits = fits && number.AsDouble() >= -2147483648.0 && number.AsDouble() <= 2147483647.0;
    } else if (format == "float") {
      fits = std::abs(number.AsDouble()) <= std::numeric_limits<float>::max();
    }
    if (fits) return true;
    std::string type = integer ? "integer" : "number";
    outcome.Add({FaultCode::kPlain, "", std::string(what) + " value must be of type " + type +
                                            (format.empty() ? std::string(" (default format)") : " with format " + std::string(format)) +
                                            " in " + frame.Path()});
    return false;
  }

  static void Number(const Condition& condition, const Value& value, const Frame& frame, Outcome& outcome) {
    const Constraints& limits = condition.limits;
    IsInRange(condition, value, "Checked", frame, outcome);
    if (condition.schema.Get("multipleOf")) MultipleOf(condition, value, frame, outcome);
    // A limit that can't be of the schema's own type is compared as a plain number; the order of faults is upstream's.
    if (limits.has_minimum) Limit(condition, value, limits.minimum, limits.exclusive_minimum, false, frame, outcome);
    if (limits.has_maximum) Limit(condition, value, limits.maximum, limits.exclusive_maximum, true, frame, outcome);
  }

  static void Limit(const Condition& condition, const Value& value, double limit, bool exclusive, bool upper, const Frame& frame,
                    Outcome& outcome) {
    bool native = IsInRange(condition, Value::Double(limit), upper ? "Maximum boundary" : "Minimum boundary", frame, outcome);
    const bool whole = native && value.IsInt();
    const int64_t bound = WholeOf(limit);
    const double number = value.AsDouble();
    const auto order = whole ? std::partial_ordering(value.AsInt() <=> bound) : number <=> limit;
    bool wrong = upper ? (exclusive ? order >= 0 : order > 0) : (exclusive ? order <= 0 : order < 0);
    if (!wrong) return;
    std::string detail = upper ? "should be less than " : "should be greater than ";
    if (!exclusive) detail += "or equal to ";
    detail += whole ? std::to_string(bound) : GoFloat(limit);
    Invalid(frame, native ? value : Value::Double(number), detail, outcome);
  }

  static void MultipleOf(const Condition& condition, const Value& value, const Frame& frame, Outcome& outcome) {
    double factor = condition.limits.multiple_of;
    bool native = IsInRange(condition, Value::Double(factor), "MultipleOf", frame, outcome);
    bool whole = native && value.IsInt();
    int64_t step = whole ? WholeOf(factor) : 0;
    if (whole ? step <= 0 : factor <= 0) {
      outcome.Add({FaultCode::kOther, frame.Path(), "factor MultipleOf declared for " + frame.Path() + " must be positive: " +
                                                        (whole ? std::to_string(step) : GoFloat(factor)),
                   whole ? BadValue(step) : BadValue(factor)});
      return;
    }
    double quotient = factor < 1 ? 1 / factor * value.AsDouble() : value.AsDouble() / factor;
    bool fits = whole ? value.AsInt() % step == 0 : IsWhole(quotient);
    if (fits) return;
    Invalid(frame, native ? value : Value::Double(value.AsDouble()), "should be a multiple of " + (whole ? std::to_string(step) : GoFloat(factor)), outcome);
  }

  void Items(const Condition& condition, const Value& list, const Frame& frame, const Before& before, Outcome& outcome) {
    OldItems old(before);
    for (size_t i = 0; condition.items != nullptr && i < list.size(); ++i) {
      Frame here{.parent = &frame, .index = i, .step = Frame::Step::kItem};
      outcome.Merge(Run(*condition.items, list.items()[i], here, old.Of(list.items()[i])));
    }
    int64_t count = list.size();
    const Constraints& limits = condition.limits;
    if (limits.min_items >= 0 && count < limits.min_items) {
      Invalid(frame, count, "should have at least " + std::to_string(limits.min_items) + " items", outcome);
    }
    if (condition.caps_items && count > limits.max_items) {
      std::string name = frame.Path();
      std::string message = InBody(name) + "should have at most " + std::to_string(limits.max_items) + " items";
      outcome.Add({FaultCode::kTooMany, name, message, BadValue(count), limits.max_items, count});
    }
    if (limits.unique_items && HasDuplicates(list)) Invalid(frame, BadValue(""), "shouldn't contain duplicates", outcome);
  }

  static bool HasDuplicates(const Value& list) {
    std::vector<Value> sorted(list.items().begin(), list.items().end());
    std::sort(sorted.begin(), sorted.end(), [](const Value& a, const Value& b) { return object::Compare(a, b) < 0; });
    return std::adjacent_find(sorted.begin(), sorted.end(),
                              [](const Value& a, const Value& b) { return object::Equal(a, b); }) != sorted.end();
  }

  static void Enum(const Condition& condition, const Value& value, const Frame& frame, Outcome& outcome) {
    if (condition.enums.empty() || IsOneOf(value, condition.enums)) return;
    std::string name = frame.Path();
    std::string message = InBody(name) + "should be one of";  // two enums are two faults
    for (const Value& one : condition.enums) message += " " + object::JsonText(one);
    outcome.Add({FaultCode::kEnum, name, message, value ? BadValue(value) : BadValue::Null(), -1, -1, condition.enums});
  }

  void Members(const Condition& condition, const Value& object, const Frame& frame, const Before& before, Outcome& outcome) {
    const Constraints& limits = condition.limits;
    int64_t count = object.size();
    if (limits.min_properties >= 0 && count < limits.min_properties) {
      Invalid(frame, count, "should have at least " + std::to_string(limits.min_properties) + " properties", outcome);
    }
    if (condition.caps_properties && count > limits.max_properties) {
      std::string name = frame.Path();
      std::string message = InBody(name) + "should have at most " + std::to_string(limits.max_properties) + " properties";
      outcome.Add({FaultCode::kTooMany, name, message, BadValue(count), limits.max_properties, count});
    }
    if (condition.additional != nullptr || condition.forbids_additional) Further(condition, object, frame, before, outcome);
    object::MemberLookup in_old(before.old);
    for (const PropertyCondition& property : condition.properties) {
      const Member* member = object.Find(property.name);
      if (member == nullptr) continue;
      Frame here{.parent = &frame, .name = property.name, .step = Frame::Step::kProperty};
      bool meta = frame.step == Frame::Step::kRoot && (property.name == "kind" || property.name == "apiVersion");
      outcome.Merge(Run(*property.condition, member->value, here, meta ? Before{} : BeforeMember(before, *member, in_old)));
    }
    for (std::string_view name : condition.required) {
      if (object.Find(name) != nullptr) continue;
      Frame here{.parent = &frame, .name = name, .step = Frame::Step::kFurther};
      std::string path = here.Path();
      outcome.Add({FaultCode::kRequired, path, InBody(path) + "is required"});
    }
  }

  // Members that are no properties.
  void Further(const Condition& condition, const Value& value, const Frame& frame, const Before& before, Outcome& outcome) {
    object::MemberLookup in_old(before.old);
    for (const Member* next : object::SortedByName(value)) {
      const Member& member = *next;
      if (condition.FindProperty(member.name()) != nullptr) continue;
      if (condition.forbids_additional) {
        std::string name = frame.Path();
        outcome.Add({FaultCode::kOther, name, name + "." + std::string(member.name()) + " in body is a forbidden property",
                     BadValue(member.name())});
        continue;
      }
      Frame here{.parent = &frame, .name = member.name(), .step = Frame::Step::kFurther};
      outcome.Merge(Run(*condition.additional, member.value, here, BeforeMember(before, member, in_old)));
    }
  }

  int depth_ = 0;
};

void Report(const Fault& fault, const FieldPath& root, FieldErrors& errors) {
  std::string_view name = fault.name;
  if (name.starts_with('.')) name.remove_prefix(1);
  FieldPath path = name.empty() ? root : root.Child(name);
  switch (fault.code) {
    case FaultCode::kPlain:
      return errors.Invalid(root, "", fault.message);
    case FaultCode::kRequired:
      return errors.Required(path);
    case FaultCode::kTooLong:
      return errors.TooLong(path, fault.limit);
    case FaultCode::kTooMany:
      return errors.TooMany(path, fault.count, fault.limit);
    case FaultCode::kType:
      return errors.TypeInvalid(path, fault.value, fault.message);
    case FaultCode::kOther:
      return errors.Invalid(path, fault.value, fault.message);
    case FaultCode::kEnum:
      break;
  }
  std::vector<std::string> texts;
  for (const Value& one : fault.enums) {
    texts.push_back(one.IsString() ? std::string(one.AsString()) : object::JsonText(one));
  }
  std::vector<std::string_view> supported(texts.begin(), texts.end());
  errors.NotSupported(path, fault.value, supported);
}

}  // namespace

void CheckConditions(const Condition& condition, const Value& value, const FieldPath& path, FieldErrors& errors,
                     const Type* shape, const Value& old) {
  Outcome outcome = Checker().Run(condition, value, Frame(), Before{shape, old});
  for (const Fault& fault : outcome.faults) Report(fault, path, errors);
}

}  // namespace homeostat::schema
