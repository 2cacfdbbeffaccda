#include "homeostat/schema/conform.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_set>
#include <utility>

#include "homeostat/base/text.h"
#include "homeostat/object/json.h"
#include "homeostat/object/member_order.h"
#include "homeostat/schema/field_errors.h"
#include "schema/internal/fields_v1.h"
#include "schema/internal/presence.h"
#include "schema/internal/scalars.h"
#include "schema/internal/tree.h"

namespace homeostat::schema {

using internal::ElementType;
using object::Arena;
using object::kNoField;
using object::Member;
using object::Value;

namespace {

// Where the walk is: one frame on the stack for each step from the root.
struct Frame {
  const Frame* parent = nullptr;
  const Type* type = nullptr;  // the struct that `field` belongs to; null for items and entries
  const Field* field = nullptr;
  std::string_view key = {};  // of a map's entry
  size_t index = 0;           // of a list's item
  bool go_root = false;       // Go decodes the field's value by itself: its errors name paths from there
};

// spec.containers[0].foo
void AppendStrictPath(const Frame* frame, std::string& out) {
  if (frame == nullptr) return;
  AppendStrictPath(frame->parent, out);
  if (frame->field == nullptr && frame->key.data() == nullptr) {
    out += '[' + std::to_string(frame->index) + ']';
    return;
  }
  if (!out.empty()) out += '.';
  out += frame->field != nullptr ? frame->field->name : frame->key;
}

// spec.sidecars[left].image[0]: entries of maps stand in brackets.
void AppendPlace(const Frame* frame, std::string& out) {
  if (frame == nullptr) return;
  AppendPlace(frame->parent, out);
  if (frame->field != nullptr) {
    if (!out.empty()) out += '.';
    out += frame->field->name;
  } else {
    out += '[' + (frame->key.data() != nullptr ? std::string(frame->key) : std::to_string(frame->index)) + ']';
  }
}

// Go's path in type errors: fields alone, with the names of inlined structs.
void AppendGoPath(const Frame* frame, std::string& out) {
  if (frame == nullptr || frame->go_root) return;
  AppendGoPath(frame->parent, out);
  if (frame->field == nullptr) return;
  const Field& field = *frame->field;
  std::string_view inlined = field.inline_name;
  if (inlined.empty() && field.Has(kJsonOnly)) inlined = "TypeMeta";
  if (!out.empty()) out += '.';
  if (!inlined.empty()) (out += inlined) += '.';
  out += field.name;
}

class Conformer {
 public:
  Conformer(Arena& arena, ConformReport* report) : arena_(arena), report_(report), repeats_(report->repeats), keep_nulls_(report->keep_nulls) {}

  Result<Value> Run(const Type& type, const Value& value) {
    structural_ = type.structural;
    Value result = Convert(type, value, nullptr);
    if (hard_error_) return Fail(BadRequestError(*hard_error_));
    if (soft_error_) return Fail(BadRequestError(*soft_error_));
    if (embedded_fault_) return Fail(BadRequestError(*embedded_fault_));
    if (type.structural && report_ != nullptr) SortProblems(report_->problems);
    return result ? result : internal::ZeroElement(type);
  }

 private:
  // Of custom resources, those of the metadata come first, then the others by name, those of embedded metadata last.
  void SortProblems(std::vector<std::string>& problems) const {
    auto of_metadata = [](const std::string& problem) { return problem.starts_with("unknown field \"metadata."); };
    auto others = std::stable_partition(problems.begin(), problems.end(), of_metadata);
    std::sort(others, problems.end());
    std::stable_partition(others, problems.end(), [&](const std::string& problem) { return !embedded_.contains(problem); });
  }

  // A value's typed form; absent if it is zero to Go, or if there was an error.
  Value Convert(const Type& type, const Value& value, const Frame* frame) {
    switch (type.form) {
      case Form::kStruct:
        return ConvertStruct(type, value, frame);
      case Form::kList:
        return ConvertList(type, value, frame);
      case Form::kMap:
        return ConvertMap(type, value, frame);
      case Form::kSchemaOrBool:
      case Form::kSchemaOrList:
      case Form::kSchemaOrStrings:
        return ConvertVariant(type, value, frame);
      case Form::kFieldsV1:
        return ConvertFieldsV1(value);
      case Form::kRawExtension:
      case Form::kJson:
        if (value.IsNull()) return {};
        return repeats_ ? object::WithoutRepeats(arena_, value) : value;
      default:
        return ConvertScalar(type, value, frame);
    }
  }

  // Custom resources are stored as they are, in JSON as a whole.
  Value ConvertFieldsV1(const Value& value) {
    if (value.IsNull()) return {};
    return structural_ || value.IsBytes() ? value : internal::FieldsV1Text(arena_, repeats_ ? object::WithoutRepeats(arena_, value) : value);
  }

  Value ConvertScalar(const Type& type, const Value& value, const Frame* frame) {
    if (value.IsNull() && type.form != Form::kDuration) return {};
    switch (type.form) {
      case Form::kBool:
        return value.IsBool() ? value : WrongKind(type, value, frame);
      case Form::kString:
        return value.IsString() ? value : WrongKind(type, value, frame);
      case Form::kInt32:
        return ConvertInt(type, value, frame, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
      case Form::kUint32:
        return ConvertInt(type, value, frame, 0, std::numeric_limits<uint32_t>::max());
      case Form::kInt64:
        return ConvertInt(type, value, frame, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
      case Form::kUint64:
        return ConvertInt(type, value, frame, 0, std::numeric_limits<int64_t>::max());
      case Form::kDouble:
        if (value.IsInt() && !type.structural) return Value::Double(static_cast<double>(value.AsInt()));
        return value.IsNumber() ? value : WrongKind(type, value, frame);
      case Form::kBytes:
        return ConvertBytes(type, value, frame);
      default:
        return ConvertCanonical(type, value, frame);
    }
  }

  Value ConvertInt(const Type& type, const Value& value, const Frame* frame, int64_t least, int64_t most) {
    if (value.IsInt() && value.AsInt() >= least && value.AsInt() <= most) return value;
    if (value.IsNumber() && !type.structural) {
      return SoftError(type, "number " + internal::NumberText(value), frame);
    }
    return WrongKind(type, value, frame);
  }

  Value ConvertBytes(const Type& type, const Value& value, const Frame* frame) {
    if (value.IsBytes() || (type.structural && value.IsString())) return value;
    if (value.IsList() && !type.structural) return BytesOfList(value, frame);
    if (!value.IsString()) return WrongKind(type, value, frame);
    auto octets = object::DecodeBase64(value.AsString());
    if (octets) return Value::BytesCopy(arena_, *octets);
    if (!soft_error_) soft_error_ = octets.error().message();
    return {};
  }

  // Go takes a list of small numbers for bytes, too.
  Value BytesOfList(const Value& list, const Frame* frame) {
    static constexpr Type kByte{.form = Form::kUint32, .go_name = "uint8"};
    std::string octets;
    for (const Value& item : list.items()) {
      Value number = item.IsNull() ? Value::Int(0) : ConvertInt(kByte, item, frame, 0, 255);
      octets += static_cast<char>(number.AsInt());
    }
    return Value::BytesCopy(arena_, octets);
  }

  Value ConvertCanonical(const Type& type, const Value& value, const Frame* frame) {
    // What is neither has no members either that anyone knows.
    if (type.structural) return value.IsObject() || value.IsList() ? WrongKind(type, value, frame) : value;
    if (!value.IsString() && type.form != Form::kQuantity) return ConvertNumberForm(type, value, frame);
    auto canonical = internal::CanonicalScalar(arena_, type.form, value);
    if (canonical) return *canonical;
    HardError(std::move(canonical.error()));
    return {};
  }

  // What is no text where Go's own decoders want one; int-or-string takes numbers, too.
  Value ConvertNumberForm(const Type& type, const Value& value, const Frame* frame) {
    if (type.form == Form::kDuration && value.IsNull()) {
      HardError("time: invalid duration \"\"");
      return {};
    }
    bool number = type.form == Form::kIntOrString;
    const Type& wanted = ScalarType(number ? Form::kInt32 : Form::kString);
    bool fits = value.IsInt() && value.AsInt() == static_cast<int32_t>(value.AsInt());
    if (number && fits) return value;
    std::string found = number && value.IsNumber() ? "number " + internal::NumberText(value)
                                                   : std::string(internal::JsonKindName(value));
    HardError(TypeError(wanted, found, frame));
    return {};
  }

  Value ConvertStruct(const Type& type, const Value& value, const Frame* frame) {
    if (!value.IsObject()) return value.IsNull() ? Value() : WrongKind(type, value, frame);
    if (!Enter()) return {};
    Member* members = arena_.AllocateArray<Member>(value.size());
    size_t count = 0;
    size_t expected = 0;  // members mostly come in the table's order
    std::vector<bool> seen(repeats_ ? type.fields.size() : 0);
    for (const Member& member : value.members()) {
      int index = IndexOf(type, member, expected);
      if (index < 0) {
        Value kept = Unknown(type, member, frame);
        // Where anything is kept, custom resources keep null as well, unless a schema says that it can't be.
        bool null_kept = kept.IsNull() && type.structural && (type.element == nullptr || StaysNull(type));
        if (kept || null_kept) new (&members[count++]) Member(member.name(), kept);
      } else {
        expected = static_cast<size_t>(index) + 1;
        const Field& field = type.fields[static_cast<size_t>(index)];
        if (repeats_) {
          if (seen[static_cast<size_t>(index)]) ReportRepeated(field.name, frame);
          seen[static_cast<size_t>(index)] = true;
        }
        // The metadata of custom resources is a Go struct within something that is none.
        Frame here{
            .parent = frame, .type = &type, .field = &field, .go_root = type.structural && !field.type->structural};
        const bool embedded = here.go_root && frame != nullptr;
        if (type.embedded_resource && !keep_nulls_ && !IsTypeMetaText(field, member.value)) {
          NoteEmbeddedFault(&here, member.value, "must be a string");
        }
        Value converted = embedded ? ConvertEmbedded(field, member.value, here) : Convert(*field.type, member.value, &here);
        if (report_ != nullptr && report_->empty_fields != nullptr) NoteEmpty(field, converted, &here);
        if (repeats_) {
          count = DecodeInto({members, count}, type, static_cast<uint16_t>(index), member.value, converted);
        } else if (Value kept = Kept(type, field, embedded && member.value.IsNull() ? converted : member.value, converted); !kept.IsAbsent()) {
          new (&members[count++]) Member(field.name, kept, static_cast<uint16_t>(index));
        }
      }
      if (hard_error_) return {};
    }
    --depth_;
    return Value::Object({members, internal::SortByField({members, count})});
  }

  // Of a resource within a custom object, kind and apiVersion are texts. What a schema says of them has dropped null before that is looked at.
  static bool IsTypeMetaText(const Field& field, const Value& value) {
    if (field.name != "kind" && field.name != "apiVersion") return true;
    const bool drops_null = field.type->condition != nullptr && field.default_json.empty() && !field.Has(kNullable);
    return value.IsString() || (value.IsNull() && drops_null);
  }

  // Told if nothing is wrong with the object's own metadata.
  void NoteEmbeddedFault(const Frame* frame, const Value& value, std::string_view why) {
    if (embedded_fault_) return;
    std::string path;
    AppendPlace(frame, path);
    FieldErrors told;
    told.Invalid(FieldPath(path), object::WithSortedMembers(arena_, value), why);
    embedded_fault_ = path + ": " + told.causes()[0].message;
  }

  // The metadata of a resource within a custom object, which Go decodes by itself: a fault in it is told with its place, and null is
  // as good as nothing in it.
  Value ConvertEmbedded(const Field& field, const Value& value, const Frame& frame) {
    std::optional<std::string> earlier = std::exchange(soft_error_, std::nullopt);
    Value converted = value.IsNull() ? Value::EmptyObject() : Convert(*field.type, value, &frame);
    std::optional<std::string> fault = hard_error_ ? hard_error_ : soft_error_;
    soft_error_ = std::move(earlier);
    if (!fault) return converted;
    hard_error_.reset();
    if (keep_nulls_) return value;
    NoteEmbeddedFault(&frame, value, *fault);
    return converted;
  }

  // Go decodes a member that stands twice into what the first one left: null empties what can be nil and does nothing to the rest,
  // objects are joined, and lists item by item. `members` has room for one more; returns how many there are then.
  size_t DecodeInto(std::span<Member> members, const Type& type, uint16_t index, const Value& original, const Value& converted) {
    const Field& field = type.fields[index];
    auto earlier = std::ranges::find(members, index, &Member::field);
    Value joined = converted;
    size_t count = members.size();
    if (earlier != members.end()) {
      if (original.IsNull() && !IsEmptiedByNull(field)) return count;
      if (!original.IsNull()) joined = Joined(*field.type, earlier->value, original, converted);
      std::move(earlier + 1, members.end(), earlier);
      --count;
    }
    if (Value kept = Kept(type, field, original, joined); !kept.IsAbsent()) new (&members.data()[count++]) Member(field.name, kept, index);
    return count;
  }

  static bool IsEmptiedByNull(const Field& field) {
    switch (field.type->form) {
      case Form::kList:
      case Form::kMap:
      case Form::kBytes:
      case Form::kQuantity:
      case Form::kTime:
      case Form::kMicroTime:
        return true;
      default:
        return field.Has(kPointer);
    }
  }

  // What both are typed of, `original` what the later one was made of.
  Value Joined(const Type& type, const Value& earlier, const Value& original, const Value& later) {
    if (type.form == Form::kList) {
      object::ListBuilder items(arena_, later);
      for (size_t i = 0; i < std::min(earlier.size(), later.size()); ++i) {
        const Value& sent = original.items()[i];
        items.items()[i] = sent.IsNull() ? earlier.items()[i] : Joined(ElementType(type), earlier.items()[i], sent, later.items()[i]);
      }
      return items.Build();
    }
    if (type.form != Form::kStruct && type.form != Form::kMap) return later;
    Member* members = arena_.AllocateArray<Member>(earlier.size() + later.size() + original.size());
    size_t count = 0;
    for (const Member& member : earlier.members()) new (&members[count++]) Member(member);
    if (type.form == Form::kMap) {
      for (const Member& member : later.members()) new (&members[count++]) Member(member);
      return Value::Object({members, internal::SortByName({members, count})});
    }
    for (const Member& member : original.members()) {
      int index = type.FieldIndex(member.name());
      if (index >= 0) count = DecodeInto({members, count}, type, static_cast<uint16_t>(index), member.value, later.Get(member.name()));
    }
    return Value::Object({members, internal::SortByField({members, count})});
  }

  void NoteEmpty(const Field& field, const Value& converted, const Frame* frame) {
    constexpr size_t kMost = 1000;
    std::string_view text;
    if (field.type->form == Form::kList && converted.IsList() && converted.empty()) text = "[]";
    else if (field.type->form == Form::kMap && converted.IsObject() && converted.empty()) text = "{}";
    else if (field.type->form == Form::kBytes && converted.IsBytes() && converted.AsString().empty()) text = "\"\"";
    if (text.empty() || report_->empty_fields->size() >= kMost) return;
    std::string path;
    AppendStrictPath(frame, path);
    report_->empty_fields->Add(std::move(path), text);
  }

  static int IndexOf(const Type& type, const Member& member, size_t expected) {
    size_t known = member.field;
    if (known < type.fields.size() && type.fields[known].name.data() == member.name_data) return member.field;
    if (expected < type.fields.size() && type.fields[expected].name == member.name()) return static_cast<int>(expected);
    return type.FieldIndex(member.name());
  }

  // What remains of a field's value: absent if it is left out.
  Value Kept(const Type& parent, const Field& field, const Value& original, const Value& converted) const {
    if (original.IsNull()) {
      const bool left = keep_nulls_ && parent.structural && field.type->structural && field.default_json.empty();
      return left || field.Has(kNullable) ? original : Value();
    }
    if (parent.structural) return converted.IsAbsent() ? original : converted;
    if (internal::IsZeroTime(field, converted)) return converted;
    if (!converted) return {};
    if (field.Has(kPointer) || field.type->form == Form::kBytes) return converted;
    if (report_ != nullptr && report_->keep_empty && !field.Has(kOmitZero)) {
      bool holder = field.type->form == Form::kList || field.type->form == Form::kMap;
      if (holder && !field.Has(kOmitEmpty)) return converted;
      if (field.type->form == Form::kStruct && !converted.empty()) return converted;
    }
    return internal::IsZero(*field.type, converted) ? Value() : converted;
  }

  // Whether a null element stays: it may be one, or its default comes in its place, or it is for validation to tell of.
  bool StaysNull(const Type& type) const { return type.element_nullable || keep_nulls_ || !type.element_default_json.empty(); }

  // The value under which a member that is not in the table is kept; absent if it is dropped.
  Value Unknown(const Type& type, const Member& member, const Frame* frame) {
    if (type.element != nullptr) {
      if (member.value.IsNull()) return type.structural ? member.value : Value();
      Frame here{.parent = frame, .key = member.name()};
      Value converted = Convert(*type.element, member.value, &here);
      return type.structural && converted.IsAbsent() ? member.value : converted;
    }
    if (type.preserve_unknown_fields) return member.value;
    ReportUnknown(member.name(), frame);
    return {};
  }

  Value ConvertList(const Type& type, const Value& value, const Frame* frame) {
    if (!value.IsList()) return value.IsNull() ? Value() : WrongKind(type, value, frame);
    if (!Enter()) return {};
    const Type& element = ElementType(type);
    Value* items = arena_.AllocateArray<Value>(value.size());
    for (size_t i = 0; i < value.size(); ++i) {
      Frame here{.parent = frame, .index = i};
      new (&items[i]) Value(ConvertElement(type, element, value.items()[i], &here));
      if (hard_error_) return {};
    }
    --depth_;
    return Value::List({items, value.size()});
  }

  Value ConvertMap(const Type& type, const Value& value, const Frame* frame) {
    if (!value.IsObject()) return value.IsNull() ? Value() : WrongKind(type, value, frame);
    if (!Enter()) return {};
    const Type& element = ElementType(type);
    Member* members = arena_.AllocateArray<Member>(value.size());
    size_t count = 0;
    std::unordered_set<std::string_view> seen;
    for (const Member& member : value.members()) {
      if (repeats_ && !seen.insert(member.name()).second) ReportRepeated(member.name(), frame);
      if (type.structural && member.value.IsNull() && !StaysNull(type)) continue;
      std::string_view key = member.name().empty() ? std::string_view("") : member.name();
      Frame here{.parent = frame, .key = key};
      new (&members[count++]) Member(key, ConvertElement(type, element, member.value, &here));
      if (hard_error_) return {};
    }
    --depth_;
    return Value::Object({members, internal::SortByName({members, count})});
  }

  // Items and entries can't be absent: zero stands for them.
  Value ConvertElement(const Type& container, const Type& element, const Value& value, const Frame* frame) {
    // Of lists in maps none is told from an empty one until they are stored.
    bool nothing = element.form == Form::kList && report_ != nullptr && report_->keep_empty;
    if (value.IsNull() && (container.element_nullable || container.structural || nothing)) return value;
    Value converted = Convert(element, value, frame);
    return converted ? converted : internal::ZeroElement(element);
  }

  // A schema or something else. Go decodes these by themselves: unknown fields in them are not reported, and it stops
  // at an error in them.
  Value ConvertVariant(const Type& type, const Value& value, const Frame* frame) {
    if (value.IsBool() && type.form == Form::kSchemaOrBool) return value;
    bool list = value.IsList() && type.form != Form::kSchemaOrBool;
    if (!value.IsObject() && !list) {
      if (type.form == Form::kSchemaOrBool && !value.IsNull()) HardError("boolean or JSON schema expected");
      return {};
    }
    ConformReport* report = std::exchange(report_, nullptr);
    std::optional<std::string> earlier = std::exchange(soft_error_, std::nullopt);
    Value result;
    if (list) {
      const Type items{.form = Form::kList, .element = &ElementType(type)};
      result = ConvertList(items, value, frame);
    } else {
      result = ConvertStruct(internal::ObjectType(type), value, frame);
    }
    report_ = report;
    if (soft_error_) HardError(*std::exchange(soft_error_, std::nullopt));
    if (earlier) soft_error_ = std::move(earlier);
    return list && result.empty() ? Value() : result;
  }

  bool Enter() {
    if (++depth_ <= internal::kMaxDepth) return true;
    HardError("json: exceeded max depth");
    return false;
  }

  Value WrongKind(const Type& type, const Value& value, const Frame* frame) {
    if (type.structural) return type.preserve_unknown_fields ? value : WithoutMembers(value, frame);
    return SoftError(type, internal::JsonKindName(value), frame);
  }

  // What stands where a schema has no place for members: they are unknown, in the items of lists too. That the value is of the
  // wrong kind is for the conditions to say.
  Value WithoutMembers(const Value& value, const Frame* frame) {
    if (value.IsObject()) {
      for (const Member& member : value.members()) ReportUnknown(member.name(), frame);
      return Value::EmptyObject();
    }
    if (!value.IsList() || !Enter()) return value;
    Value* items = arena_.AllocateArray<Value>(value.size());
    for (size_t i = 0; i < value.size(); ++i) {
      Frame here{.parent = frame, .index = i};
      new (&items[i]) Value(WithoutMembers(value.items()[i], &here));
    }
    --depth_;
    return Value::List({items, value.size()});
  }

  void ReportUnknown(std::string_view name, const Frame* frame) {
    if (report_ == nullptr || !report_->collect) return;
    std::string path = StrictPath(name, frame);
    for (const Frame* at = frame; at != nullptr; at = at->parent) {
      if (at->go_root && at->parent != nullptr) embedded_.insert("unknown field " + GoQuote(path));
    }
    report_->AddUnknown(path);
  }
  void ReportRepeated(std::string_view name, const Frame* frame) {
    if (report_ != nullptr && report_->collect) report_->AddDuplicate(StrictPath(name, frame));
  }
  static std::string StrictPath(std::string_view name, const Frame* frame) {
    std::string path;
    AppendStrictPath(frame, path);
    if (!path.empty()) path += '.';
    return path += name;
  }

  // Go goes on after such an error and reports the first.
  Value SoftError(const Type& type, std::string_view found, const Frame* frame) {
    if (!soft_error_) soft_error_ = TypeError(type, found, frame);
    return {};
  }

  static std::string TypeError(const Type& type, std::string_view found, const Frame* frame) {
    std::string message = "json: cannot unmarshal " + std::string(found) + " into Go ";
    const Frame* innermost = nullptr;
    for (const Frame* at = frame; at != nullptr && !at->go_root; at = at->parent) {
      // Of a field within a schema variant Go names the struct that holds the variant.
      if (at->field != nullptr && (innermost == nullptr || internal::IsVariant(at->field->type->form))) innermost = at;
    }
    if (innermost == nullptr) {
      message += "value";
    } else {
      std::string path;
      AppendGoPath(frame, path);
      message += "struct field " + std::string(innermost->type->go_name) + "." + path;
    }
    return message + " of type " + GoTypeName(type);
  }

  // Go stops at such an error, whatever it found before.
  void HardError(std::string message) {
    if (!hard_error_) hard_error_ = std::move(message);
  }

  Arena& arena_;
  ConformReport* report_;
  const bool repeats_, keep_nulls_;
  std::optional<std::string> soft_error_, hard_error_, embedded_fault_;
  bool structural_ = false;  // the type of the whole
  std::unordered_set<std::string> embedded_;  // problems within the metadata of embedded resources
  int depth_ = 0;
};

}  // namespace

Result<Value> Conform(Arena& arena, const Value& untyped, const Type& type, ConformReport& report) {
  return Conformer(arena, &report).Run(type, untyped);
}

}  // namespace homeostat::schema
