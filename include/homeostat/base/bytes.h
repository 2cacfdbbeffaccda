// Bytes: an immutable, reference-counted slice of memory. A copy shares; nothing is ever written after it is made.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace homeostat {

// Two words of view and one owner. Safe to read and copy from any thread.
class Bytes {
 public:
  Bytes() = default;
  // Takes the string over without copying its text.
  Bytes(std::string text) {  // NOLINT: implicit on purpose, a string is bytes
    auto owner = std::make_shared<const std::string>(std::move(text));
    view_ = *owner;
    owner_ = std::move(owner);
  }
  Bytes(const char* text) : Bytes(std::string(text)) {}  // NOLINT
  // A view of memory that `owner` keeps alive.
  Bytes(std::shared_ptr<const void> owner, std::string_view view) : owner_(std::move(owner)), view_(view) {}
  // A view of memory that lives as long as the program.
  static Bytes Static(std::string_view view) { return Bytes(nullptr, view); }
  static Bytes Copy(std::string_view view) { return Bytes(std::string(view)); }

  std::string_view view() const { return view_; }
  operator std::string_view() const { return view_; }  // NOLINT
  const char* data() const { return view_.data(); }
  size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }
  std::string str() const { return std::string(view_); }

  // A part that shares the owner. Offsets past the end give an empty slice.
  Bytes Slice(size_t offset, size_t length = std::string_view::npos) const {
    if (offset >= view_.size()) return Bytes();
    return Bytes(owner_, view_.substr(offset, length));
  }

  bool operator==(const Bytes& other) const { return view_ == other.view_; }

 private:
  std::shared_ptr<const void> owner_;
  std::string_view view_;
};

}  // namespace homeostat
