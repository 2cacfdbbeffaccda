// Walks a document along tables of gnostic's messages. Field names and numbers are those of OpenAPIv2.proto and
// OpenAPIv3.proto in github.com/google/gnostic-models v0.7; what the messages call what follows its parser.
#include "schema/openapi_protobuf.h"

#include <algorithm>
#include <vector>

#include "homeostat/object/wire.h"
#include "homeostat/object/yaml.h"
#include "schema/internal/openapi_messages.h"

namespace homeostat::schema {

using internal::Choice;
using internal::MessageId;
using internal::MessageShape;
using internal::Slot;
using object::Member;
using object::Value;
using object::WireWriter;

namespace {

// In messages. A level of a schema takes up to four; readers give up at 100 (C++, Java) or 10,000 (Go).
constexpr int kMaxMessageDepth = 1000;

// Writes backwards, as WireWriter does: the last field first.
class MessageEncoder {
 public:
  void Message(const Value& value, MessageId id, int depth) {
    const MessageShape& shape = internal::ShapeOf(id);
    if (shape.choose != nullptr) {
      if (Choice choice = shape.choose(value); choice.field != 0) Item(choice.field, value, choice.id, depth);
    } else if (shape.list_field != 0) {
      Items(shape.list_field, value, shape.list_item, depth);
    } else {
      Object(value, shape, depth);
    }
  }

  std::string Take() && { return std::move(writer_).Take(); }

 private:
  void Object(const Value& value, const MessageShape& shape, int depth) {
    // Slots stand in the order of their numbers; names of the document's own may come before or between them.
    uint32_t below = UINT32_MAX;
    for (auto slot = shape.slots.rbegin(); slot != shape.slots.rend(); ++slot) {
      Named(value, shape, slot->field, below, depth);
      below = slot->field;
      const Value member = value.Get(slot->name);
      if (!member) continue;
      if (slot->repeated) {
        Items(slot->field, member, slot->id, depth);
      } else {
        Field(slot->field, member, slot->id, depth);
      }
    }
    Named(value, shape, 0, below, depth);
  }

  // The two fields for names of the document's own, where their number is between the two given.
  void Named(const Value& value, const MessageShape& shape, uint32_t above, uint32_t below, int depth) {
    auto due = [&](uint32_t field) { return field > above && field < below; };
    const bool extensions_first = shape.extensions > shape.others;
    for (bool extensions : {extensions_first, !extensions_first}) {
      uint32_t field = extensions ? shape.extensions : shape.others;
      if (!due(field)) continue;
      std::vector<const Member*> members;
      for (const Member& member : value.members()) {
        if (!member.value || IsSlot(shape, member.name())) continue;
        bool is_extension = shape.extensions != 0 && member.name().starts_with("x-");
        if (is_extension == extensions) members.push_back(&member);
      }
      std::sort(members.begin(), members.end(),
                [](const Member* a, const Member* b) { return a->name() > b->name(); });
      for (const Member* member : members) {
        size_t mark = writer_.size();
        Item(2, member->value, extensions ? MessageId::kAny : shape.other, depth + 1);
        writer_.Field(1, member->name());
        writer_.Message(field, mark);
      }
    }
  }

  static bool IsSlot(const MessageShape& shape, std::string_view name) {
    return std::any_of(shape.slots.begin(), shape.slots.end(), [&](const Slot& slot) { return slot.name == name; });
  }

  // A list's items, or a value that stands for a list of one.
  void Items(uint32_t field, const Value& value, MessageId id, int depth) {
    auto items = value.items();
    if (!value.IsList()) return Item(field, value, id, depth);
    for (auto item = items.rbegin(); item != items.rend(); ++item) Item(field, *item, id, depth);
  }

  // A field that proto3 leaves out when it is zero.
  void Field(uint32_t field, const Value& value, MessageId id, int depth) {
    bool zero = false;
    switch (id) {
      case MessageId::kText:
        zero = value.AsString().empty();
        break;
      case MessageId::kBool:
        zero = !value.AsBool();
        break;
      case MessageId::kInt:
      case MessageId::kNumber:
        zero = value.AsDouble() == 0;
        break;
      default:
        break;
    }
    if (!zero) Item(field, value, id, depth);
  }

  // An item of a list or an alternative, written even when it is zero.
  void Item(uint32_t field, const Value& value, MessageId id, int depth) {
    switch (id) {
      case MessageId::kText:
        if (value.IsString()) writer_.Field(field, value.AsString());
        return;
      case MessageId::kBool:
        if (value.IsBool()) writer_.VarintField(field, value.AsBool() ? 1 : 0);
        return;
      case MessageId::kInt:
        // CustomResourceDefinitions may give 1.0.
        if (value.IsNumber()) writer_.VarintField(field, static_cast<uint64_t>(Whole(value)));
        return;
      case MessageId::kNumber:
        if (value.IsNumber()) writer_.DoubleField(field, value.AsDouble());
        return;
      default:
        break;
    }
    size_t mark = writer_.size();
    if (id == MessageId::kAny) {
      writer_.Field(2, object::WriteYaml(value));
    } else if (depth < kMaxMessageDepth) {
      Message(value, id, depth + 1);
    }
    writer_.Message(field, mark);
  }

  static int64_t Whole(const Value& value) {
    constexpr double kBound = 9007199254740992;  // 2^53: beyond it a double is no count
    return value.IsInt() ? value.AsInt() : static_cast<int64_t>(std::clamp(value.AsDouble(), -kBound, kBound));
  }

  WireWriter writer_{1 << 16};
};

}  // namespace

std::string OpenApiProtobuf(const Value& document, OpenApiVersion version) {
  MessageEncoder encoder;
  encoder.Message(document, version == OpenApiVersion::kV2 ? MessageId::kDocument2 : MessageId::kDocument3, 0);
  return std::move(encoder).Take();
}

}  // namespace homeostat::schema
