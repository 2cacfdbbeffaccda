#include "patch/internal/metadata.h"

namespace homeostat::patch::internal {

bool IsTyped(const Value& object) { return !object.members().empty() && object.members()[0].field != object::kNoField; }

const schema::Type* TypeAt(const schema::Type& type, std::initializer_list<std::string_view> steps) {
  const schema::Type* at = &type;
  for (std::string_view step : steps) {
    if (step == "[]") {
      at = at->element;
    } else {
      const schema::Field* field = at->FindField(step);
      at = field ? field->type : nullptr;
    }
    if (at == nullptr) return nullptr;
  }
  return at;
}

Value WithMetadata(Arena& arena, const schema::Type& type, const Value& object, std::string_view name, Value value) {
  bool typed = IsTyped(object);
  Value metadata = object.Get("metadata");
  if (!metadata.IsObject() && value.IsAbsent()) return object;
  FieldWriter inner(arena, typed ? TypeAt(type, {"metadata"}) : nullptr,
                    metadata.IsObject() ? metadata : Value::EmptyObject());
  inner.Set(name, value);
  FieldWriter outer(arena, typed ? &type : nullptr, object);
  outer.Set("metadata", inner.Build());
  return outer.Build();
}

void FieldWriter::Set(std::string_view name, Value value) {
  int index = type_ ? type_->FieldIndex(name) : -1;
  if (index < 0) {
    builder_.Set(name, value);
  } else {
    builder_.Set(type_->fields[static_cast<size_t>(index)].name, value, static_cast<uint16_t>(index));
  }
}

}  // namespace homeostat::patch::internal
