#include "homeostat/schema/json_encoder.h"

#include <algorithm>
#include <vector>

#include "homeostat/object/json_output.h"
#include "schema/internal/presence.h"

namespace homeostat::schema {

using internal::ElementType;
using internal::HowWritten;
using object::JsonOutput;
using internal::Written;
using object::Member;
using object::Value;
using object::ValueKind;

namespace {

// Members in order of names without a copy where they already are.
template <class Visit>
void VisitSorted(std::span<const Member> members, Visit visit) {
  auto by_name = [](const Member& a, const Member& b) { return a.name() < b.name(); };
  if (std::is_sorted(members.begin(), members.end(), by_name)) {
    for (const Member& member : members) visit(member);
    return;
  }
  std::vector<Member> sorted(members.begin(), members.end());
  std::stable_sort(sorted.begin(), sorted.end(), by_name);
  for (const Member& member : sorted) visit(member);
}

void WriteScalar(JsonOutput& out, const Value& value) {
  switch (value.kind()) {
    case ValueKind::kBool:
      return out.Text(value.AsBool() ? "true" : "false");
    case ValueKind::kInt:
      return out.Int(value.AsInt());
    case ValueKind::kDouble:
      return out.Double(value.AsDouble());
    case ValueKind::kString:
      return out.String(value.AsString());
    default:
      return out.Text("null");
  }
}

// The zero value of a type whose value is always written.
std::string_view ZeroText(Form form) {
  switch (form) {
    case Form::kBool:
    case Form::kSchemaOrBool:
      return "false";
    case Form::kInt32:
    case Form::kInt64:
    case Form::kUint32:
    case Form::kUint64:
    case Form::kDouble:
    case Form::kIntOrString:
      return "0";
    case Form::kString:
      return "\"\"";
    case Form::kQuantity:
      return "\"0\"";
    case Form::kDuration:
      return "\"0s\"";
    default:
      return "null";
  }
}

// Writes one typed tree. `skip` is a field that is left out wherever it stands; null for none.
class Encoder {
 public:
  Encoder(JsonOutput& out, const Field* skip) : out_(out), skip_(skip) {}

  void Write(const Type& type, const Value& value) {
    switch (value.kind()) {
      case ValueKind::kObject:
        return WriteObject(internal::ObjectType(type), value);
      case ValueKind::kList:
        return WriteList(ElementType(type), value, type.element_nullable);
      case ValueKind::kAbsent:
      case ValueKind::kNull:
        return WriteZero(type);
      case ValueKind::kBytes:
        return type.form == Form::kFieldsV1 ? out_.Text(value.AsString()) : out_.Base64(value.AsString());
      default:
        return WriteScalar(out_, value);
    }
  }

 private:
  void WriteZero(const Type& type) {
    if (type.form == Form::kStruct) {
      WriteStruct(type, Value::EmptyObject());
    } else {
      out_.Text(ZeroText(type.form));
    }
  }

  void WriteList(const Type& element, const Value& list, bool nullable) {
    out_.Char('[');
    bool first = true;
    for (const Value& item : list.items()) {
      if (!first) out_.Char(',');
      first = false;
      WriteElement(element, item, nullable);
    }
    out_.Char(']');
  }

  void WriteElement(const Type& element, const Value& value, bool nullable) {
    if (nullable && value.IsNull()) return out_.Text("null");
    Write(element, value);
  }

  void WriteObject(const Type& type, const Value& value) {
    if (type.form == Form::kStruct) return WriteStruct(type, value);
    if (type.form != Form::kMap) return out_.Untyped(value, false);
    const Type& element = ElementType(type);
    bool first = true;
    out_.Char('{');
    VisitSorted(value.members(), [&](const Member& member) {
      out_.Key(member.name(), first);
      first = false;
      WriteElement(element, member.value, type.element_nullable);
    });
    out_.Char('}');
  }

  void WriteStruct(const Type& type, const Value& value) {
    out_.Char('{');
    bool first = true;
    auto unknown = internal::EachWritable(type, value, [&](uint16_t, const Field& field, const Value& found) {
      Written how = HowWritten(field, found);
      if (how == Written::kNot || &field == skip_) return;
      out_.PlainKey(field.name, first);
      first = false;
      switch (how) {
        case Written::kNull:
          return out_.Text("null");
        case Written::kZero:
          return WriteZero(*field.type);
        default:
          return Write(*field.type, found);
      }
    });
    for (const Member& member : unknown) {  // and kept
      out_.Key(member.name(), first);
      first = false;
      if (type.element != nullptr) {
        Write(*type.element, member.value);
      } else {
        out_.Untyped(member.value, false);
      }
    }
    out_.Char('}');
  }

  JsonOutput& out_;
  const Field* skip_;
};

const Field* ManagedFieldsOf(const Type& type) {
  const Field* metadata = type.FindField("metadata");
  return metadata == nullptr ? nullptr : metadata->type->FindField("managedFields");
}

// A structural object without metadata.managedFields. Uses memory of the arena given.
Value WithoutManagedFields(object::Arena& arena, const Value& value) {
  Value metadata = value.Get("metadata");
  if (metadata.Get("managedFields").IsAbsent()) return value;
  object::ObjectBuilder changed(arena, metadata), root(arena, value);
  changed.Erase("managedFields");
  root.Set("metadata", changed.Build());
  return root.Build();
}

}  // namespace

void EncodeJson(const Type& type, const Value& value, std::string& out, const JsonOptions& options) {
  JsonOutput output(out);
  if (type.structural) {
    object::Arena arena;
    output.Untyped(options.skip_managed_fields ? WithoutManagedFields(arena, value) : value, true);
    return;
  }
  Encoder(output, options.skip_managed_fields ? ManagedFieldsOf(type) : nullptr).Write(type, value);
}

}  // namespace homeostat::schema
