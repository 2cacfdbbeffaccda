#include "kinds/internal_json.h"

#include <algorithm>

#include "homeostat/object/json.h"
#include "homeostat/object/member_order.h"
#include "homeostat/schema/json_encoder.h"
#include "kinds/internal/go_structs.h"

namespace homeostat::kinds {
namespace {

using object::Value;
using schema::Form;
using schema::Type;

bool IsMeta(const Type& type) { return type.name.find(".apimachinery.") != type.name.npos; }

// Writes compact JSON.
class Writer {
 public:
  explicit Writer(std::string& out, const InternalForm& form = {})
      : out_(out), only_(form.fields), came_empty_(form.came_empty), path_(form.path) {
    if (came_empty_ != nullptr && came_empty_->empty()) came_empty_ = nullptr;
  }

  void Write(const Type& type, const Value& value, const Value& parent) {
    if (type.form == Form::kStruct && !IsMeta(type)) {
      WriteStruct(type, value, parent);
    } else if (type.form == Form::kList && value.IsList()) {
      WriteItems(type, value);
    } else if (type.form == Form::kMap && value.IsObject() && (type.element->form == Form::kStruct || type.element->form == Form::kSchemaOrStrings)) {
      WriteEntries(type, value);
    } else if (type.form == Form::kSchemaOrBool || type.form == Form::kSchemaOrList || type.form == Form::kSchemaOrStrings) {
      WriteSchemaOr(type, value);
    } else if (type.form == Form::kJson) {
      object::Arena arena;
      out_ += object::JsonText(object::WithSortedMembers(arena, value));
    } else {
      schema::EncodeJson(type, value, out_);
    }
  }

 private:
  void WriteStruct(const Type& type, const Value& value, const Value& parent) {
    std::span<const std::string_view> only = std::exchange(only_, {});
    out_ += '{';
    bool first = true;
    auto open = [&](std::string_view name) {
      if (!std::exchange(first, false)) out_ += ',';
      out_ += '"';
      out_ += name;
      out_ += "\":";
    };
    if (const internal::GoStruct* known = internal::FindGoStruct(type.name)) {
      WriteKnownFields(*known, type, value, parent, only, open);
    } else {
      for (const schema::Field& field : type.fields) {
        if (field.name == "metadata" && IsMeta(*field.type)) {
          WriteMetadata(*field.type, value.Get(field.name), first);
          continue;
        }
        if (field.Has(schema::kJsonOnly) || (!only.empty() && std::ranges::find(only, field.name) == only.end())) continue;
        open(internal::GoName(field.name));
        WriteField(field, 0, value.Get(field.name), value);
      }
    }
    out_ += '}';
  }

  // Go embeds it: its fields stand among those of the object.
  void WriteMetadata(const Type& type, const Value& value, bool& first) {
    std::string json;
    schema::EncodeJson(type, value ? value : Value::EmptyObject(), json);
    if (json.size() <= 2) return;
    if (!std::exchange(first, false)) out_ += ',';
    out_.append(json, 1, json.size() - 2);
  }

  template <class Open>
  void WriteKnownFields(const internal::GoStruct& known, const Type& type, const Value& value, const Value& parent,
                        std::span<const std::string_view> only, Open open) {
    std::string_view rest = known.fields;
    while (!rest.empty()) {
      size_t space = std::min(rest.find(' '), rest.size());
      std::string_view token = rest.substr(0, space);
      rest.remove_prefix(std::min(space + 1, rest.size()));
      char form = 0;
      if (size_t colon = token.find(':'); colon != token.npos) {
        form = token[colon + 1];
        token = token.substr(0, colon);
      }
      size_t equals = token.find('=');
      std::string_view json = equals == token.npos ? token : token.substr(equals + 1);
      std::string go = equals == token.npos ? internal::GoName(json) : std::string(token.substr(0, equals));
      if (!only.empty() && std::ranges::find(only, json) == only.end()) continue;
      open(go);
      if (json.starts_with('^')) {
        WriteScalar(form, parent.Get(json.substr(1)));
      } else if (const schema::Field* field = type.FindField(json)) {
        WriteField(*field, form, value.Get(json), value);
      } else {
        WriteScalar(form, Value());
      }
    }
  }

  void WriteScalar(char form, const Value& value) {
    if (value) {
      out_ += object::JsonText(value);
    } else {
      out_ += form == 'i' || form == 'o' ? "0" : form == 'b' ? "false" : form == 's' ? "\"\"" : "null";
    }
  }

  // form: what the field is in Go, where that is not what the API has.
  void WriteField(const schema::Field& field, char form, const Value& value, const Value& holder) {
    const Type& type = *field.type;
    size_t here = path_.size();
    if (came_empty_ != nullptr) {
      if (here > 0) path_ += '.';
      path_ += field.name;
    }
    if (value) {
      Write(type, value, holder);
    } else if (form == 'p' || (form == 0 && field.Has(schema::kPointer))) {
      out_ += "null";
    } else {
      WriteNothing(type, holder);
    }
    path_.resize(here);
  }

  // What Go has where the API has nothing.
  void WriteNothing(const Type& type, const Value& holder) {
    switch (type.form) {
      case Form::kStruct: return IsMeta(type) ? schema::EncodeJson(type, Value::EmptyObject(), out_) : WriteStruct(type, Value(), holder);
      case Form::kBool: out_ += "false"; return;
      case Form::kInt32:
      case Form::kInt64:
      case Form::kUint32:
      case Form::kUint64:
      case Form::kDouble:
      case Form::kIntOrString: out_ += "0"; return;
      case Form::kString: out_ += "\"\""; return;
      case Form::kQuantity: out_ += "\"0\""; return;
      default: out_ += came_empty_ == nullptr ? "null" : came_empty_->Text(path_);
    }
  }

  void WriteItems(const Type& type, const Value& list) {
    out_ += '[';
    for (size_t i = 0; i < list.size(); ++i) {
      if (i > 0) out_ += ',';
      size_t here = path_.size();
      if (came_empty_ != nullptr) path_ += '[' + std::to_string(i) + ']';
      Write(*type.element, list.At(i), Value());
      path_.resize(here);
    }
    out_ += ']';
  }

  // A schema or something else is a struct of both to Go.
  void WriteSchemaOr(const Type& type, const Value& value) {
    std::string schema = "null", other = "null";
    if (value.IsObject()) {
      schema.clear();
      Writer(schema).Write(*type.element, value, Value());
    } else if (value.IsList() && type.form == Form::kSchemaOrList) {
      other.clear();
      Writer(other).WriteItems(type, value);
    } else if (value.IsList()) {
      other = object::JsonText(value);
    }
    if (type.form == Form::kSchemaOrBool) {
      out_ += std::string("{\"Allows\":") + (value.IsBool() && !value.AsBool() ? "false" : "true") + ",\"Schema\":" + schema + '}';
    } else {
      out_ += "{\"Schema\":" + schema + (type.form == Form::kSchemaOrList ? ",\"JSONSchemas\":" : ",\"Property\":") + other + '}';
    }
  }

  void WriteEntries(const Type& type, const Value& map) {
    out_ += '{';
    for (const object::Member& entry : map.members()) {
      if (out_.back() != '{') out_ += ',';
      out_ += object::JsonText(Value::StringRef(entry.name()));
      out_ += ':';
      size_t here = path_.size();
      if (came_empty_ != nullptr) (path_ += '.') += entry.name();
      Write(*type.element, entry.value, Value());
      path_.resize(here);
    }
    out_ += '}';
  }

  std::string& out_;
  std::span<const std::string_view> only_;
  const schema::EmptyFields* came_empty_;
  std::string path_;  // of what is being written; kept up only where something came empty
};

// Compact JSON with a line for each item, one space a level, as Go's json.Indent sets it.
std::string Indented(std::string_view json) {
  std::string out;
  int depth = 0;
  bool in_text = false;
  auto line = [&] {
    out += '\n';
    out.append(static_cast<size_t>(depth), ' ');
  };
  for (size_t i = 0; i < json.size(); ++i) {
    char c = json[i];
    if (in_text) {
      out += c;
      if (c == '\\') out += json[++i];
      else if (c == '"') in_text = false;
      continue;
    }
    switch (c) {
      case '"': in_text = true; out += c; break;
      case '{':
      case '[':
        out += c;
        if (i + 1 < json.size() && (json[i + 1] == '}' || json[i + 1] == ']')) {
          out += json[++i];
        } else {
          ++depth;
          line();
        }
        break;
      case '}':
      case ']': --depth; line(); out += c; break;
      case ',': out += c; line(); break;
      case ':': out += ": "; break;
      default: out += c;
    }
  }
  return out;
}

std::string Text(const Type& type, const Value& value, const InternalForm& form) {
  std::string json;
  Writer(json, form).Write(type, value, Value());
  return Indented(json);
}

}  // namespace

schema::BadValue InternalValue(const Type& type, const Value& value, const InternalForm& form) {
  if (value.IsAbsent()) return schema::BadValue::Null();
  std::string json;
  Writer(json, form).Write(type, value, Value());
  return schema::BadValue::Json(std::move(json));
}

std::string InternalDiff(const Type& type, const Value& old, const Value& value, const InternalForm& form) {
  return UnifiedDiff(Text(type, old, {.fields = form.fields}), Text(type, value, form));
}

}  // namespace homeostat::kinds
