#include "homeostat/schema/field_errors.h"

#include "homeostat/base/go_text.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/json_encoder.h"

namespace homeostat::schema {

FieldPath FieldPath::With(Part part) && {
  if (count_ < parts_.size()) {
    Append(part);
    return std::move(*this);
  }
  FieldPath longer;
  longer.owned_parent_ = std::make_shared<const FieldPath>(std::move(*this));
  longer.parent_ = longer.owned_parent_.get();
  longer.Append(part);
  return longer;
}

void FieldPath::AppendTo(std::string& out) const {
  if (parent_ != nullptr) parent_->AppendTo(out);
  for (size_t i = 0; i < count_; ++i) {
    const Part& part = parts_[i];
    if (part.kind == Part::Kind::kName && part.size != 0) {
      if (!out.empty()) out += '.';
      out.append(part.text, part.size);
      continue;
    }
    out += '[';
    if (part.kind == Part::Kind::kKey) {
      out.append(part.text, part.size);
    } else if (part.kind == Part::Kind::kIndex) {
      out += std::to_string(part.size);
    }
    out += ']';  // a name that is empty stands between them, too
  }
}

std::string FieldPath::String() const {
  if (IsRoot()) return "<nil>";
  std::string text;
  AppendTo(text);
  return text;
}

BadValue::BadValue(double value) : text_(GoFloat(value)) {}

BadValue::BadValue(const object::Value& value) {
  switch (value.kind()) {
    case object::ValueKind::kString:
      *this = BadValue(value.AsString());
      break;
    case object::ValueKind::kDouble:
      text_ = BadValue(value.AsDouble()).text_;
      break;
    default:
      text_ = object::JsonText(value);
  }
}

BadValue::BadValue(const Type& type, const object::Value& value) {
  if (type.form == Form::kString && value.IsString()) {
    *this = BadValue(value.AsString());
    if (!type.go_name.empty()) text_ = AsJson();
  } else if (value.IsAbsent()) {
    text_ = "null";
  } else {
    EncodeJson(type, value, text_);
  }
}

std::string BadValue::AsJson() const {
  if (!has_original_) return text_;
  std::string json;
  object::AppendJsonString(json, original_);
  return json;
}

bool FieldErrors::CameEmpty(const FieldPath& path) const {
  return empty_fields_ != nullptr && !empty_fields_->empty() && empty_fields_->Has(path.String());
}

std::string_view FieldErrors::Shown(const FieldPath& path, const BadValue& value) const {
  if (empty_fields_ == nullptr || empty_fields_->empty() || value.text() != "null") return value.text();
  return empty_fields_->Text(path.String());
}

void FieldErrors::Report(const FieldPath& path, std::string_view reason, std::string_view title, std::string_view value,
                         std::string_view detail) {
  std::string message(title);
  for (std::string_view part : {value, detail}) {
    if (part.empty()) continue;
    message += ": ";
    message += part;
  }
  causes_.push_back({std::string(reason), std::move(message), path.String()});
}

void FieldErrors::Required(const FieldPath& path, std::string_view detail) {
  Report(path, "FieldValueRequired", "Required value", {}, detail);
}

void FieldErrors::Invalid(const FieldPath& path, const BadValue& value, std::string_view detail) {
  Report(path, "FieldValueInvalid", "Invalid value", Shown(path, value), detail);
}

void FieldErrors::InvalidNamed(const FieldPath& path, std::string_view text, std::string_view detail) {
  Report(path, "FieldValueInvalid", "Invalid value", BadValue(text).AsJson(), detail);
}

void FieldErrors::TypeInvalid(const FieldPath& path, const BadValue& value, std::string_view detail) {
  Report(path, "FieldValueTypeInvalid", "Invalid value", Shown(path, value), detail);
}

namespace {

std::string SupportedValues(std::span<const std::string_view> supported) {
  std::string detail;
  for (std::string_view one : supported) {
    detail += detail.empty() ? "supported values: " : ", ";
    detail += GoQuote(one);
  }
  return detail;
}

}  // namespace

void FieldErrors::NotSupported(const FieldPath& path, const BadValue& value,
                               std::span<const std::string_view> supported) {
  std::string json = value.AsJson();
  Report(path, "FieldValueNotSupported", "Unsupported value", json == "null" ? Shown(path, value) : json, SupportedValues(supported));
}

void FieldErrors::NotSupportedText(const FieldPath& path, std::string_view text, std::initializer_list<std::string_view> supported) {
  Report(path, "FieldValueNotSupported", "Unsupported value", GoQuote(text), SupportedValues({supported.begin(), supported.size()}));
}

void FieldErrors::Duplicate(const FieldPath& path, const BadValue& value) {
  Report(path, "FieldValueDuplicate", "Duplicate value", value.text(), {});
}

void FieldErrors::NotFound(const FieldPath& path, const BadValue& value) {
  Report(path, "FieldValueNotFound", "Not found", value.text(), {});
}

void FieldErrors::Forbidden(const FieldPath& path, std::string_view detail) {
  Report(path, "FieldValueForbidden", "Forbidden", {}, detail);
}

namespace {

std::string Count(int64_t number, std::string_view unit) {
  return std::to_string(number) + " " + std::string(unit) + (number == 1 ? "" : "s");
}

}  // namespace

void FieldErrors::TooLong(const FieldPath& path, int64_t max_bytes) {
  Report(path, "FieldValueTooLong", "Too long", {},
         max_bytes < 0 ? "value is too long" : "may not be more than " + Count(max_bytes, "byte"));
}

void FieldErrors::TooMany(const FieldPath& path, int64_t count, int64_t max_items) {
  Report(path, "FieldValueTooMany", "Too many", count < 0 ? "" : std::to_string(count),
         max_items < 0 ? "has too many items" : "must have at most " + Count(max_items, "item"));
}

void FieldErrors::Internal(const FieldPath& path, std::string_view message) {
  Report(path, "InternalError", "Internal error", {}, message);
}

void FieldErrors::Add(std::vector<StatusCause> causes) {
  for (StatusCause& cause : causes) causes_.push_back(std::move(cause));
}

}  // namespace homeostat::schema
