#include <algorithm>
#include <array>
#include <vector>

#include "homeostat/object/json.h"
#include "homeostat/schema/protobuf.h"
#include "schema/internal/presence.h"
#include "schema/internal/scalars.h"
#include "schema/internal/wire_path.h"

namespace homeostat::schema {

using internal::ElementType;
using object::Member;
using object::Value;
using object::WireWriter;

namespace {

// A struct's values by field index.
class Slots {
 public:
  Slots(const Type& type, const Value& value) : members_(value.members()) {
    direct_ = type.fields.size() <= positions_.size();
    if (!direct_) return;
    std::fill_n(positions_.begin(), type.fields.size(), uint16_t{0});
    for (size_t i = 0; i < members_.size() && members_[i].field < type.fields.size(); ++i) {
      positions_[members_[i].field] = static_cast<uint16_t>(i + 1);
    }
  }

  // Whether the field, absent, leaves nothing on the wire.
  bool IsNothing(const Type& type, uint16_t field) const {
    return direct_ && positions_[field] == 0 && (type.absent_on_wire >> field & 1) == 0;
  }
  Value operator[](uint16_t field) const {
    if (direct_) return positions_[field] == 0 ? Value() : members_[positions_[field] - 1].value;
    for (const Member& member : members_) {
      if (member.field == field) return member.value;
    }
    return {};
  }

 private:
  std::span<const Member> members_;
  std::array<uint16_t, 64> positions_;
  bool direct_;
};

class Encoder {
 public:
  explicit Encoder(WireWriter& out) : out_(out) {}

  void WriteStruct(const Type& type, const Value& value) { WriteFields(type, Slots(type, value), type.by_number, 0); }

 private:
  // The fields of one level: of the struct itself, or of a struct inlined in it.
  void WriteFields(const Type& type, const Slots& values, std::span<const uint16_t> order, int level) {
    size_t end = order.size();
    while (end > 0) {
      if (values.IsNothing(type, order[end - 1])) {
        --end;
        continue;
      }
      const Field& field = type.fields[order[end - 1]];
      uint32_t number = internal::WireNumber(field, level);
      if (internal::IsLeaf(field, level)) {
        if (number != 0) WriteField(field, number, values[order[end - 1]]);
        --end;
        continue;
      }
      size_t begin = end - 1;
      while (begin > 0 && internal::IsSameGroup(type.fields[order[begin - 1]], field, level)) --begin;
      size_t mark = out_.size();
      WriteFields(type, values, order.subspan(begin, end - begin), level + 1);
      out_.Message(number, mark);
      end = begin;
    }
  }

  void WriteField(const Field& field, uint32_t number, const Value& value) {
    const Type& type = *field.type;
    switch (type.form) {
      case Form::kList:
        if (!type.wrapped_on_wire) return WriteItems(type, number, value);
        if (!value.empty()) WriteWrapped(type, number, value);
        return;
      case Form::kMap:
        return WriteEntries(type, number, value);
      case Form::kBytes:
        if (value) WriteValue(type, number, value);
        return;
      default:
        if (value || !field.Has(kPointer) || internal::IsZeroTime(field, value)) WriteValue(type, number, value);
    }
  }

  void WriteItems(const Type& list, uint32_t number, const Value& value) {
    const Type& element = ElementType(list);
    auto items = value.items();
    for (size_t i = items.size(); i > 0; --i) WriteValue(element, number, items[i - 1]);
  }

  void WriteWrapped(const Type& list, uint32_t number, const Value& value) {
    size_t mark = out_.size();
    WriteItems(list, 1, value);
    out_.Message(number, mark);
  }

  void WriteEntries(const Type& map, uint32_t number, const Value& value) {
    auto members = value.members();
    auto by_name = [](const Member& a, const Member& b) { return a.name() < b.name(); };
    std::vector<Member> sorted;
    if (!std::is_sorted(members.begin(), members.end(), by_name)) {
      sorted.assign(members.begin(), members.end());
      std::stable_sort(sorted.begin(), sorted.end(), by_name);
      members = sorted;
    }
    const Type& element = ElementType(map);
    for (size_t i = members.size(); i > 0; --i) {
      const Member& member = members[i - 1];
      size_t mark = out_.size();
      WriteValue(element, 2, member.value);
      out_.Field(1, member.name());
      out_.Message(number, mark);
    }
  }

  // One value, zero if absent.
  void WriteValue(const Type& type, uint32_t number, const Value& value) {
    switch (type.form) {
      case Form::kBool:
        return out_.VarintField(number, value.AsBool() ? 1 : 0);
      case Form::kInt32:
      case Form::kInt64:
      case Form::kUint32:
      case Form::kUint64:
        return out_.VarintField(number, static_cast<uint64_t>(value.AsInt()));
      case Form::kDouble:
        return out_.DoubleField(number, value.AsDouble());
      case Form::kString:
      case Form::kBytes:
        return out_.Field(number, value.AsString());
      default:
        break;
    }
    size_t mark = out_.size();
    WriteMessage(type, value);
    out_.Message(number, mark);
  }

  // The fields of a value that is a message on the wire.
  void WriteMessage(const Type& type, const Value& value) {
    switch (type.form) {
      case Form::kQuantity:
        return out_.Field(1, value.IsString() ? value.AsString() : "0");
      case Form::kTime:
      case Form::kMicroTime:
        return WriteTime(type.form, value);
      case Form::kDuration:
        return out_.VarintField(1, static_cast<uint64_t>(internal::DurationNanoseconds(value)));
      case Form::kIntOrString:
        out_.Field(3, value.AsString());
        out_.VarintField(2, static_cast<uint64_t>(value.AsInt()));
        return out_.VarintField(1, value.IsString() ? 1 : 0);
      case Form::kFieldsV1:
      case Form::kRawExtension:
      case Form::kJson:
        return WriteUntyped(value);
      case Form::kSchemaOrBool:
      case Form::kSchemaOrList:
      case Form::kSchemaOrStrings:
        return WriteVariant(type, value);
      case Form::kStruct:
        return WriteStruct(type, value);
      case Form::kList:
        return WriteItems(type, 1, value);
      default:
        return WriteEntries(type, 1, value);
    }
  }

  void WriteTime(Form form, const Value& value) {
    internal::WireTime time = internal::TimeOnWire(form, value);
    if (time.zero) return;
    out_.VarintField(2, static_cast<uint64_t>(time.nanoseconds));
    out_.VarintField(1, static_cast<uint64_t>(time.seconds));
  }

  void WriteUntyped(const Value& value) {
    if (!value) return;
    if (value.IsBytes()) return out_.Field(1, value.AsString());  // FieldsV1
    scratch_.clear();
    if (object::AppendJson(scratch_, value)) out_.Field(1, scratch_);
  }

  void WriteVariant(const Type& type, const Value& value) {
    if (value.IsList()) {
      WriteItems(type, 2, value);
      return;
    }
    bool is_schema = value.IsObject();
    if (type.form == Form::kSchemaOrBool) {
      if (is_schema) WriteValue(ElementType(type), 2, value);
      return out_.VarintField(1, is_schema || value.AsBool() ? 1 : 0);
    }
    if (is_schema) WriteValue(*type.element, 1, value);
  }

  WireWriter& out_;
  std::string scratch_;
};

}  // namespace

void EncodeProtobuf(const Type& type, const Value& value, WireWriter& writer) {
  Encoder(writer).WriteStruct(type, value);
}

std::string EncodeProtobuf(const Type& type, const Value& value) {
  WireWriter writer;
  EncodeProtobuf(type, value, writer);
  return std::move(writer).Take();
}

std::string EncodeProtobufObject(const Type& type, const Value& value) {
  WireWriter writer;
  size_t mark = object::BeginProtobufEnvelope(writer);
  EncodeProtobuf(type, value, writer);
  object::EndProtobufEnvelope(writer, mark, value.Get("apiVersion").AsString(), value.Get("kind").AsString());
  return std::move(writer).Take();
}

}  // namespace homeostat::schema
