#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <vector>

#include "homeostat/object/json.h"
#include "homeostat/schema/protobuf.h"
#include "schema/internal/fields_v1.h"
#include "schema/internal/presence.h"
#include "schema/internal/scalars.h"
#include "schema/internal/tree.h"
#include "schema/internal/wire_path.h"

namespace homeostat::schema {

using internal::ElementType;
using object::Arena;
using object::Member;
using object::Value;
using object::WireReader;
using object::WireType;

namespace {

// A value that was read for a field; of list and map fields there may be many.
struct Piece {
  uint16_t field = 0;
  std::string_view text;  // an entry's key; of a message that is no item, its bytes
  Value value;
};

// Which fields of a struct came already.
class Seen {
 public:
  // True if it came before.
  bool Mark(uint16_t field) {
    uint64_t& word = words_[field / 64 % words_.size()];
    uint64_t bit = uint64_t{1} << field % 64;
    bool before = (word & bit) != 0;
    word |= bit;
    return before;
  }

 private:
  std::array<uint64_t, 2> words_{};
};

bool IsMessage(Form form) { return form >= Form::kQuantity && form != Form::kList && form != Form::kMap; }

class Decoder {
 public:
  explicit Decoder(Arena& arena) : arena_(arena) { pieces_.reserve(128); }

  Result<Value> Run(std::string_view bytes, const Type& type) {
    Value value = ReadStruct(bytes, type);
    if (!error_.empty()) return Fail(BadRequestError(error_));
    return value;
  }

 private:
  Value ReadStruct(std::string_view bytes, const Type& type) {
    if (++depth_ > internal::kMaxDepth) Error("proto: message is nested too deep");
    size_t base = pieces_.size();
    Seen seen;
    ReadFields(bytes, type, type.by_number, 0, base, seen);
    Value value = ok() ? Assemble(type, base) : Value();
    pieces_.resize(base);
    --depth_;
    return value;
  }

  void ReadFields(std::string_view bytes, const Type& type, std::span<const uint16_t> order, int level, size_t base,
                  Seen& seen) {
    if (!ok()) return;
    WireReader reader(bytes, type.go_name);
    size_t expected = 0;  // fields mostly come in wire order
    while (reader.Next() && ok()) {
      size_t at = Position(type, order, level, reader.field(), expected);
      if (at == order.size()) {
        reader.Skip();
        continue;
      }
      expected = at;
      const Field& field = type.fields[order[at]];
      if (internal::IsLeaf(field, level)) {
        ReadField(reader, field, order[at], base, seen);
        continue;
      }
      if (!reader.Expect(WireType::kLength, field.inline_name)) break;
      size_t end = at + 1;
      while (end < order.size() && internal::IsSameGroup(type.fields[order[end]], field, level)) ++end;
      ReadFields(reader.Bytes(), type, order.subspan(at, end - at), level + 1, base, seen);
    }
    Check(reader);
  }

  // Position in `order` of the first field that the number leads to, or the end.
  static size_t Position(const Type& type, std::span<const uint16_t> order, int level, uint32_t number,
                         size_t expected) {
    for (size_t i = expected; i < order.size(); ++i) {
      uint32_t here = internal::WireNumber(type.fields[order[i]], level);
      if (here == number) return i;
      if (here > number) break;
    }
    for (size_t i = 0; i < std::min(expected, order.size()); ++i) {
      if (internal::WireNumber(type.fields[order[i]], level) == number) return i;
    }
    return order.size();
  }

  void ReadField(WireReader& reader, const Field& field, uint16_t index, size_t base, Seen& seen) {
    const Type& type = *field.type;
    if (type.form == Form::kMap) {
      if (reader.Expect(WireType::kLength, field.name)) ReadEntry(reader.Bytes(), ElementType(type), index);
      return;
    }
    if (type.form == Form::kList && !type.wrapped_on_wire) return ReadItems(reader, field, ElementType(type), index);
    bool again = seen.Mark(index);
    if (!IsMessage(type.form) && type.form != Form::kList) {
      Value value = ReadScalar(reader, type, field.name);
      if (ok()) Put({index, {}, value}, again, base);
      return;
    }
    if (!reader.Expect(WireType::kLength, field.name)) return;
    Piece piece{index, reader.Bytes(), {}};
    if (Piece* earlier = again ? FindPiece(index, base) : nullptr) piece.text = Joined(earlier->text, piece.text);
    piece.value = ReadMessage(piece.text, type);
    if (ok()) Put(piece, again, base);
  }

  Piece* FindPiece(uint16_t field, size_t base) {
    for (size_t i = base; i < pieces_.size(); ++i) {
      if (pieces_[i].field == field) return &pieces_[i];
    }
    return nullptr;
  }

  void Put(const Piece& piece, bool again, size_t base) {
    Piece* earlier = again ? FindPiece(piece.field, base) : nullptr;
    if (earlier != nullptr) {
      *earlier = piece;
    } else {
      pieces_.push_back(piece);
    }
  }

  // A message in parts is the message of the parts' bytes in a row.
  std::string_view Joined(std::string_view first, std::string_view second) {
    joined_bytes_ += first.size() + second.size();
    if (joined_bytes_ > kMostJoined) {
      Error("proto: message comes in too many parts");
      return {};
    }
    std::string both(first);
    both += second;
    return arena_.Copy(both);
  }

  void ReadItems(WireReader& reader, const Field& field, const Type& element, uint16_t index) {
    bool packed = reader.type() == WireType::kLength && element.form <= Form::kDouble;
    if (!packed) {
      Value item = ReadElement(reader, element, field.name);
      if (ok()) pieces_.push_back({index, {}, item});
      return;
    }
    std::string_view rest = reader.Bytes();
    if (element.form == Form::kDouble) {
      for (; rest.size() >= 8; rest.remove_prefix(8)) pieces_.push_back({index, {}, Value::Double(FixedDouble(rest))});
      if (!rest.empty()) Error("unexpected EOF");
      return;
    }
    // Each varint stands alone: give each the tag that a reader wants.
    while (!rest.empty() && ok()) {
      size_t length = 1;
      while (length < rest.size() && length < 10 && (static_cast<uint8_t>(rest[length - 1]) & 0x80) != 0) ++length;
      char field_bytes[11] = {0x08};
      std::copy_n(rest.data(), length, field_bytes + 1);
      WireReader one({field_bytes, length + 1}, field.name);
      if (one.Next()) pieces_.push_back({index, {}, ReadScalar(one, element, field.name)});
      Check(one);
      rest.remove_prefix(length);
    }
  }

  static double FixedDouble(std::string_view bytes) {
    uint64_t bits = 0;
    for (size_t i = 8; i > 0; --i) bits = bits << 8 | static_cast<uint8_t>(bytes[i - 1]);
    return std::bit_cast<double>(bits);
  }

  void ReadEntry(std::string_view bytes, const Type& element, uint16_t index) {
    Piece piece{index, std::string_view(""), Value()};
    WireReader reader(bytes, "map entry");
    while (reader.Next() && ok()) {
      if (reader.field() == 1) {
        if (reader.Expect(WireType::kLength, "key")) piece.text = reader.Bytes();
      } else if (reader.field() == 2) {
        piece.value = ReadElement(reader, element, "value");
      } else {
        reader.Skip();
      }
    }
    Check(reader);
    if (piece.value.IsAbsent()) piece.value = internal::ZeroElement(element);
    if (ok()) pieces_.push_back(piece);
  }

  // An item or an entry's value: never absent.
  Value ReadElement(WireReader& reader, const Type& element, std::string_view name) {
    Value value;
    if (IsMessage(element.form) || element.form == Form::kList || element.form == Form::kMap) {
      if (reader.Expect(WireType::kLength, name)) value = ReadMessage(reader.Bytes(), element);
    } else {
      value = ReadScalar(reader, element, name);
    }
    return value.IsAbsent() ? internal::ZeroElement(element) : value;
  }

  Value ReadScalar(WireReader& reader, const Type& type, std::string_view name) {
    Value value;
    switch (type.form) {
      case Form::kBool:
        if (reader.Expect(WireType::kVarint, name)) value = Value::Bool(reader.Bool());
        break;
      case Form::kInt32:
        if (reader.Expect(WireType::kVarint, name)) value = Value::Int(reader.Int32());
        break;
      case Form::kUint32:
        if (reader.Expect(WireType::kVarint, name)) value = Value::Int(static_cast<uint32_t>(reader.Varint()));
        break;
      case Form::kInt64:
      case Form::kUint64:
        if (reader.Expect(WireType::kVarint, name)) value = Value::Int(reader.Int64());
        break;
      case Form::kDouble:
        if (reader.Expect(WireType::kFixed64, name)) value = Value::Double(reader.Double());
        if (value.IsDouble() && !(value.AsDouble() - value.AsDouble() == 0)) reader.Fail("proto: not a finite number");
        break;
      default:
        if (!reader.Expect(WireType::kLength, name)) break;
        value = type.form == Form::kBytes ? Value::BytesRef(reader.Bytes()) : Value::StringRef(reader.Bytes());
    }
    Check(reader);
    return value;
  }

  // Absent if the message says zero.
  Value ReadMessage(std::string_view bytes, const Type& type) {
    switch (type.form) {
      case Form::kStruct:
        return ReadStruct(bytes, type);
      case Form::kQuantity:
        return ReadQuantity(bytes);
      case Form::kTime:
      case Form::kMicroTime:
        return ReadTime(bytes, type.form);
      case Form::kDuration: {
        Numbers numbers = ReadNumbers(bytes);
        return ok() ? internal::DurationText(arena_, numbers.first) : Value();
      }
      case Form::kIntOrString: {
        Numbers numbers = ReadNumbers(bytes);
        return numbers.first == 0 ? Value::Int(static_cast<int32_t>(numbers.second)) : Value::StringRef(numbers.text);
      }
      case Form::kFieldsV1:
        return ReadFieldsV1(bytes);
      case Form::kRawExtension:
      case Form::kJson:
        return ReadUntyped(bytes);
      default:
        return ReadWithOneField(bytes, type);
    }
  }

  // Variants and wrapped lists: read as a struct with the fields that their message has.
  Value ReadWithOneField(std::string_view bytes, const Type& type) {
    static constexpr uint16_t kOrder[] = {0, 1};
    const Type& element = ElementType(type);
    const Type list{.form = Form::kList, .element = &element};
    const bool schema_first = type.form != Form::kSchemaOrBool;
    const bool wrapped = type.form == Form::kList;
    const Type& second = schema_first ? list : *type.element;
    const Field fields[] = {
        {.name = "first",
         .number = 1,
         .flags = kPointer,
         .type = wrapped        ? &list
                 : schema_first ? type.element
                                : &ScalarType(Form::kBool)},
        {.name = "second", .number = 2, .flags = kPointer, .type = &second},
    };
    const Type message{.form = Form::kStruct, .fields = fields, .by_number = std::span(kOrder, wrapped ? 1 : 2)};
    Value value = ReadStruct(bytes, message);
    Value chosen = value.Field(1).IsAbsent() ? value.Field(0) : value.Field(1);
    if (chosen.IsAbsent() && type.form == Form::kSchemaOrBool) return Value::Bool(false);
    return chosen;
  }

  struct Numbers {
    int64_t first = 0, second = 0;
    std::string_view text;
  };

  // A message with numbers at 1 and 2 and a text at 3.
  Numbers ReadNumbers(std::string_view bytes) {
    Numbers numbers;
    WireReader reader(bytes);
    while (reader.Next() && ok()) {
      switch (reader.field()) {
        case 1:
          if (reader.Expect(WireType::kVarint, "Type")) numbers.first = reader.Int64();
          break;
        case 2:
          if (reader.Expect(WireType::kVarint, "IntVal")) numbers.second = reader.Int64();
          break;
        case 3:
          if (reader.Expect(WireType::kLength, "StrVal")) numbers.text = reader.Bytes();
          break;
        default:
          reader.Skip();
      }
    }
    Check(reader);
    return numbers;
  }

  // The bytes at number 1; null data if there are none.
  std::string_view ReadOnlyBytes(std::string_view bytes) {
    std::string_view found;
    WireReader reader(bytes);
    while (reader.Next() && ok()) {
      if (reader.field() != 1) {
        reader.Skip();
      } else if (reader.Expect(WireType::kLength, "Raw")) {
        found = reader.Bytes();
      }
    }
    Check(reader);
    return found;
  }

  Value ReadQuantity(std::string_view bytes) {
    std::string_view text = ReadOnlyBytes(bytes);
    if (!ok()) return {};
    if (text.empty()) return Value::StringRef("0");
    return Take(internal::CanonicalScalar(arena_, Form::kQuantity, Value::StringRef(text)));
  }

  Value ReadTime(std::string_view bytes, Form form) {
    if (bytes.empty()) return Value::Null();
    Numbers numbers = ReadNumbers(bytes);
    if (!ok()) return {};
    internal::WireTime time{
        .zero = false, .seconds = numbers.first, .nanoseconds = static_cast<int32_t>(numbers.second)};
    return Take(internal::TimeFromWire(arena_, form, time));
  }

  Value ReadUntyped(std::string_view bytes) {
    std::string_view text = ReadOnlyBytes(bytes);
    if (!ok() || text.empty()) return {};
    auto parsed = object::ParseJson(arena_, text);
    if (!parsed) {
      Error(parsed.error().message());
      return {};
    }
    return parsed->IsNull() ? Value() : *parsed;
  }

  Value ReadFieldsV1(std::string_view bytes) {
    std::string_view text = ReadOnlyBytes(bytes);
    if (ok() && object::IsJson(text)) return Value::BytesRef(text);
    Value tree = ReadUntyped(bytes);
    return tree ? internal::FieldsV1Text(arena_, tree) : tree;
  }

  Value Take(internal::ScalarResult result) {
    if (result) return *result;
    Error(std::move(result.error()));
    return {};
  }

  // The struct from the pieces since `base`.
  Value Assemble(const Type& type, size_t base) {
    auto pieces = std::span(pieces_).subspan(base);
    auto by_field = [](const Piece& a, const Piece& b) { return a.field < b.field; };
    if (!std::is_sorted(pieces.begin(), pieces.end(), by_field))
      std::stable_sort(pieces.begin(), pieces.end(), by_field);
    Member* members = arena_.AllocateArray<Member>(pieces.size());
    size_t count = 0;
    for (size_t begin = 0, end; begin < pieces.size(); begin = end) {
      uint16_t index = pieces[begin].field;
      for (end = begin + 1; end < pieces.size() && pieces[end].field == index;) ++end;
      const Field& field = type.fields[index];
      Value value = FieldValue(field, pieces.subspan(begin, end - begin));
      bool kept = value ? field.Has(kPointer) || field.type->form == Form::kBytes || !internal::IsZero(*field.type, value) : internal::IsZeroTime(field, value);
      if (kept) new (&members[count++]) Member(field.name, value, index);
    }
    return Value::Object({members, count});
  }

  Value FieldValue(const Field& field, std::span<const Piece> pieces) {
    if (field.type->form == Form::kMap) {
      Member* entries = arena_.AllocateArray<Member>(pieces.size());
      for (size_t i = 0; i < pieces.size(); ++i) new (&entries[i]) Member(pieces[i].text, pieces[i].value);
      return Value::Object({entries, internal::SortByName({entries, pieces.size()})});
    }
    if (field.type->form != Form::kList || field.type->wrapped_on_wire) return pieces.back().value;
    Value* items = arena_.AllocateArray<Value>(pieces.size());
    for (size_t i = 0; i < pieces.size(); ++i) new (&items[i]) Value(pieces[i].value);
    return Value::List({items, pieces.size()});
  }

  bool ok() const { return error_.empty(); }
  void Error(std::string message) {
    if (error_.empty()) error_ = std::move(message);
  }
  void Check(const WireReader& reader) {
    if (!reader.ok() && ok()) Error(reader.status().error().message());
  }

  // Bounds what messages in parts may cost: each part copies what came before.
  static constexpr size_t kMostJoined = size_t{16} << 20;

  Arena& arena_;
  std::vector<Piece> pieces_;
  std::string error_;
  size_t joined_bytes_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<Value> DecodeProtobuf(Arena& arena, std::string_view bytes, const Type& type) {
  return Decoder(arena).Run(bytes, type);
}

Result<Value> DecodeProtobufObject(Arena& arena, std::string_view bytes, const Type& type) {
  TRY_ASSIGN(object::ProtobufEnvelope envelope, object::ParseProtobufEnvelope(bytes));
  TRY_ASSIGN(Value value, DecodeProtobuf(arena, envelope.raw, type));
  return WithTypeMeta(arena, type, value, envelope.api_version, envelope.kind);
}

Value WithTypeMeta(Arena& arena, const Type& type, const Value& value, std::string_view api_version,
                   std::string_view kind) {
  object::ObjectBuilder builder(arena, value);
  auto set = [&](std::string_view name, std::string_view text) {
    int index = type.FieldIndex(name);
    if (index < 0) return;
    std::string_view table_name = type.fields[static_cast<size_t>(index)].name;
    builder.SetField(static_cast<uint16_t>(index), table_name, text.empty() ? Value() : Value::String(arena, text));
  };
  set("kind", kind);
  set("apiVersion", api_version);
  return builder.Build();
}

}  // namespace homeostat::schema
