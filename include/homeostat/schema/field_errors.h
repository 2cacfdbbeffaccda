// FieldPath and FieldErrors: where in an object a fault is, and the list of faults found, worded as clients know them.
//
//   void ValidatePorts(const Value& ports, const FieldPath& path, FieldErrors& errors) {
//     for (size_t i = 0; i < ports.size(); ++i) {
//       FieldPath port = path.Index(i);
//       if (!ports.At(i).Get("port")) errors.Required(port.Child("port"));
//     }
//   }
//
// Source of the texts: k8s.io/apimachinery util/validation/field.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/status.h"
#include "homeostat/base/text.h"
#include "homeostat/object/value.h"
#include "homeostat/schema/empty_fields.h"
#include "homeostat/schema/type.h"

namespace homeostat::schema {

// A path from an object's root. Cheap to make (no allocation up to four parts at a time), put into text only when a
// fault is reported. A path made from a named one refers to it, so the named one must live longer; temporaries in a
// chain are absorbed, so `FieldPath p = path.Child("containers").Index(i);` is safe. Names must outlive the path.
class FieldPath {
 public:
  // The root itself; prints as "<nil>", as upstream's missing path does.
  FieldPath() = default;
  explicit FieldPath(std::string_view name) { Append(Part::Name(name)); }
  FieldPath(const FieldPath&) = default;
  FieldPath& operator=(const FieldPath&) = default;

  FieldPath Child(std::string_view name) const& { return FieldPath(this, Part::Name(name)); }
  FieldPath Child(std::string_view name) && { return std::move(*this).With(Part::Name(name)); }
  template <std::convertible_to<std::string_view>... More>
  FieldPath Child(std::string_view name, std::string_view next, More... more) const& {
    return Child(name).Child(next, more...);
  }
  template <std::convertible_to<std::string_view>... More>
  FieldPath Child(std::string_view name, std::string_view next, More... more) && {
    return std::move(*this).Child(name).Child(next, more...);
  }
  // [3]
  FieldPath Index(size_t index) const& { return FieldPath(this, Part::Index(index)); }
  FieldPath Index(size_t index) && { return std::move(*this).With(Part::Index(index)); }
  // [key]: an entry of a map.
  FieldPath Key(std::string_view key) const& { return FieldPath(this, Part::Key(key)); }
  FieldPath Key(std::string_view key) && { return std::move(*this).With(Part::Key(key)); }

  bool IsRoot() const { return count_ == 0 && parent_ == nullptr; }
  // spec.containers[0].image
  std::string String() const;
  void AppendTo(std::string& out) const;

 private:
  struct Part {
    const char* text = nullptr;
    uint32_t size = 0;  // of the text, or the index
    enum class Kind : uint8_t { kName, kKey, kIndex } kind = Kind::kName;
    static Part Name(std::string_view name) { return {name.data(), static_cast<uint32_t>(name.size()), Kind::kName}; }
    static Part Key(std::string_view key) { return {key.data(), static_cast<uint32_t>(key.size()), Kind::kKey}; }
    static Part Index(size_t index) { return {nullptr, static_cast<uint32_t>(index), Kind::kIndex}; }
  };

  FieldPath(const FieldPath* parent, Part part) : parent_(parent->IsRoot() ? nullptr : parent) { Append(part); }
  void Append(Part part) { parts_[count_++] = part; }
  FieldPath With(Part part) &&;

  const FieldPath* parent_ = nullptr;
  std::shared_ptr<const FieldPath> owned_parent_;  // holds what did not fit into parts_
  std::array<Part, 4> parts_;
  uint8_t count_ = 0;
};

// A refused value as messages show it. Strings in quotes, numbers and booleans plain, everything else as JSON.
class BadValue {
 public:
  BadValue(std::string_view text) : text_(GoQuote(text)), original_(text), has_original_(true) {}  // NOLINT: implicit on purpose
  BadValue(const std::string& text) : BadValue(std::string_view(text)) {}                          // NOLINT
  BadValue(const char* text) : BadValue(std::string_view(text)) {}                                 // NOLINT
  BadValue(bool value) : text_(value ? "true" : "false") {}    // NOLINT
  template <std::integral Number>
  requires(!std::same_as<Number, bool>) BadValue(Number value) : text_(std::to_string(value)) {}  // NOLINT
  BadValue(double value);                                                                         // NOLINT
  // A value without a type: scalars as above, lists and objects as JSON in the order they are in; absent as null.
  BadValue(const object::Value& value);  // NOLINT
  // A typed value as Go's encoding writes it (zero values of fields that are always written included).
  BadValue(const Type& type, const object::Value& value);

  static BadValue Json(std::string json) { return BadValue(std::move(json), Raw{}); }
  static BadValue Null() { return Json("null"); }
  // The message then shows no value at all.
  static BadValue Omitted() { return BadValue(std::string(), Raw{}); }

  const std::string& text() const { return text_; }
  // The same, but a text as JSON writes it: with <, > and & as \u003c and so on.
  std::string AsJson() const;

 private:
  struct Raw {};
  BadValue(std::string text, Raw) : text_(std::move(text)) {}
  std::string text_;
  std::string original_;  // a text without its quotes
  bool has_original_ = false;
};

// The faults of one object, in the order they were found.
class FieldErrors {
 public:
  // "Required value" or "Required value: detail"
  void Required(const FieldPath& path, std::string_view detail = {});
  // "Invalid value: "x": detail"
  void Invalid(const FieldPath& path, const BadValue& value, std::string_view detail);
  // As Invalid, of a text whose type in Go has a name of its own or is a pointer: messages then show it as JSON writes it.
  void InvalidNamed(const FieldPath& path, std::string_view text, std::string_view detail);
  // As Invalid, with reason FieldValueTypeInvalid.
  void TypeInvalid(const FieldPath& path, const BadValue& value, std::string_view detail);
  // "Unsupported value: "x": supported values: "A", "B"", in the order given; upstream sorts where its list is a set. Texts are
  // shown as JSON writes them, since the types of nearly all such fields have names in Go; NotSupportedText is for the others.
  void NotSupported(const FieldPath& path, const BadValue& value, std::span<const std::string_view> supported);
  void NotSupported(const FieldPath& path, const BadValue& value, std::initializer_list<std::string_view> supported) {
    NotSupported(path, value, std::span(supported.begin(), supported.size()));
  }
  void NotSupportedText(const FieldPath& path, std::string_view text, std::initializer_list<std::string_view> supported);
  void Duplicate(const FieldPath& path, const BadValue& value);
  void NotFound(const FieldPath& path, const BadValue& value);
  void Forbidden(const FieldPath& path, std::string_view detail);
  // "Too long: may not be more than 63 bytes"; a negative limit gives "value is too long".
  void TooLong(const FieldPath& path, int64_t max_bytes);
  // "Too many: 5: must have at most 3 items"; a negative count is not shown.
  void TooMany(const FieldPath& path, int64_t count, int64_t max_items);
  void Internal(const FieldPath& path, std::string_view message);
  // "Invalid value: …: field is immutable"
  void Immutable(const FieldPath& path, const BadValue& value) { Invalid(path, value, "field is immutable"); }

  void Add(StatusCause cause) { causes_.push_back(std::move(cause)); }
  void Add(std::vector<StatusCause> causes);

  // What came empty in the object that is looked at, so that a value that is not there is shown as [] where it came so. Must outlive
  // the faults' making.
  void set_empty_fields(const EmptyFields* fields) { empty_fields_ = fields; }
  const EmptyFields* empty_fields() const { return empty_fields_; }
  // A list, map or byte string that is not there in the typed tree, but came as an empty one.
  bool CameEmpty(const FieldPath& path) const;

  bool empty() const { return causes_.empty(); }
  size_t size() const { return causes_.size(); }
  const std::vector<StatusCause>& causes() const { return causes_; }
  std::vector<StatusCause> Take() { return std::move(causes_); }
  // The 422 answer for these faults; call only when there are some.
  Status ToStatus(std::string_view group, std::string_view kind, std::string_view name) const {
    return InvalidError(group, kind, name, causes_);
  }

 private:
  void Report(const FieldPath& path, std::string_view reason, std::string_view title, std::string_view value,
              std::string_view detail);

  // The value as messages show it: one that is not there may have come empty.
  std::string_view Shown(const FieldPath& path, const BadValue& value) const;

  std::vector<StatusCause> causes_;
  const EmptyFields* empty_fields_ = nullptr;
};

}  // namespace homeostat::schema
