// Views: typed reading of a tree of values. A view is a Value with the names of its type's fields; it owns nothing and
// is passed by value. Views of built-in types are generated from api/ (homeostat/api/<group>/<version>.h):
//
//   for (core::v1::Container c : deployment.spec().template_().spec().containers()) Use(c.name(), c.image());
//
// Every getter is safe on an absent view: it answers zero, empty, or an absent view. The tree must be in conformed
// shape (members carry their field's index) and outlive the view.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>

#include "homeostat/object/value.h"

namespace homeostat::schema {

struct Type;
struct Kind;

class View {
 public:
  constexpr View() = default;
  constexpr explicit View(object::Value value) : value_(value) {}

  // The value read through the view.
  const object::Value& Raw() const { return value_; }
  // Present and not null.
  explicit operator bool() const { return static_cast<bool>(value_); }

 protected:
  object::Value ValueAt(uint16_t field) const { return value_.Field(field); }
  bool HasAt(uint16_t field) const { return static_cast<bool>(value_.Field(field)); }
  bool BoolAt(uint16_t field) const { return value_.Field(field).AsBool(); }
  int32_t Int32At(uint16_t field) const { return static_cast<int32_t>(value_.Field(field).AsInt()); }
  int64_t Int64At(uint16_t field) const { return value_.Field(field).AsInt(); }
  uint32_t Uint32At(uint16_t field) const { return static_cast<uint32_t>(value_.Field(field).AsInt()); }
  uint64_t Uint64At(uint16_t field) const { return static_cast<uint64_t>(value_.Field(field).AsInt()); }
  double DoubleAt(uint16_t field) const { return value_.Field(field).AsDouble(); }
  std::string_view TextAt(uint16_t field) const { return value_.Field(field).AsString(); }

 private:
  object::Value value_;
};

// A value as the C++ type that lists and maps hand out: views, numbers, text, or the value itself.
template <class T>
T As(const object::Value& value) {
  if constexpr (std::same_as<T, object::Value>) {
    return value;
  } else if constexpr (std::same_as<T, bool>) {
    return value.AsBool();
  } else if constexpr (std::integral<T>) {
    return static_cast<T>(value.AsInt());
  } else if constexpr (std::floating_point<T>) {
    return value.AsDouble();
  } else if constexpr (std::same_as<T, std::string_view>) {
    return value.AsString();
  } else {
    return T(value);
  }
}

// The items of a list, read as T.
template <class T>
class ListView {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using iterator_concept = std::random_access_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = T;

    Iterator() = default;
    explicit Iterator(const object::Value* at) : at_(at) {}
    T operator*() const { return As<T>(*at_); }
    T operator[](difference_type offset) const { return As<T>(at_[offset]); }
    Iterator& operator++() { ++at_; return *this; }
    Iterator operator++(int) { Iterator old = *this; ++at_; return old; }
    Iterator& operator--() { --at_; return *this; }
    Iterator operator--(int) { Iterator old = *this; --at_; return old; }
    Iterator& operator+=(difference_type offset) { at_ += offset; return *this; }
    Iterator& operator-=(difference_type offset) { at_ -= offset; return *this; }
    friend Iterator operator+(Iterator i, difference_type offset) { return i += offset; }
    friend Iterator operator+(difference_type offset, Iterator i) { return i += offset; }
    friend Iterator operator-(Iterator i, difference_type offset) { return i -= offset; }
    friend difference_type operator-(const Iterator& a, const Iterator& b) { return a.at_ - b.at_; }
    auto operator<=>(const Iterator&) const = default;

   private:
    const object::Value* at_ = nullptr;
  };

  constexpr ListView() = default;
  constexpr explicit ListView(object::Value value) : value_(value) {}

  size_t size() const { return value_.IsList() ? value_.size() : 0; }
  bool empty() const { return size() == 0; }
  // Absent or zero past the end.
  T operator[](size_t index) const { return As<T>(value_.At(index)); }
  Iterator begin() const { return Iterator(value_.items().data()); }
  Iterator end() const { return Iterator(value_.items().data() + size()); }
  const object::Value& Raw() const { return value_; }
  explicit operator bool() const { return static_cast<bool>(value_); }

 private:
  object::Value value_;
};

// The entries of a map with string keys, its values read as T.
template <class T>
class MapView {
 public:
  using Entry = std::pair<std::string_view, T>;

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using iterator_concept = std::forward_iterator_tag;
    using value_type = Entry;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = Entry;

    Iterator() = default;
    explicit Iterator(const object::Member* at) : at_(at) {}
    Entry operator*() const { return Entry(at_->name(), As<T>(at_->value)); }
    Iterator& operator++() { ++at_; return *this; }
    Iterator operator++(int) { Iterator old = *this; ++at_; return old; }
    bool operator==(const Iterator&) const = default;

   private:
    const object::Member* at_ = nullptr;
  };

  constexpr MapView() = default;
  constexpr explicit MapView(object::Value value) : value_(value) {}

  size_t size() const { return value_.IsObject() ? value_.size() : 0; }
  bool empty() const { return size() == 0; }
  bool contains(std::string_view key) const { return value_.Find(key) != nullptr; }
  // Zero, empty or an absent view for a key that isn't there.
  T Get(std::string_view key) const { return As<T>(value_.Get(key)); }
  Iterator find(std::string_view key) const {
    const object::Member* member = value_.Find(key);
    return member == nullptr ? end() : Iterator(member);
  }
  Iterator begin() const { return Iterator(value_.members().data()); }
  Iterator end() const { return Iterator(value_.members().data() + size()); }
  const object::Value& Raw() const { return value_; }
  explicit operator bool() const { return static_cast<bool>(value_); }

 private:
  object::Value value_;
};

}  // namespace homeostat::schema
