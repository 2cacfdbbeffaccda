// JsonOutput: appends JSON text to a string, fast: room is made in large steps, and a text without anything to escape
// is copied at once. What is rarer is left to AppendJson and its like (object/json.h), which say the same in the same way.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "homeostat/object/value.h"

namespace homeostat::object {

// While one is alive the string is longer than its content; the destructor trims it.
class JsonOutput {
 public:
  explicit JsonOutput(std::string& out) : out_(out) { Open(kStep); }
  ~JsonOutput() { Trim(); }
  JsonOutput(const JsonOutput&) = delete;
  JsonOutput& operator=(const JsonOutput&) = delete;

  void Char(char c) {
    Room(1);
    *at_++ = c;
  }
  void Text(std::string_view text) {
    if (text.empty()) return;
    Room(text.size());
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  // "name": for a name that needs no escapes, with a comma before it unless first.
  void PlainKey(std::string_view name, bool first) {
    Room(name.size() + 4);
    if (!first) *at_++ = ',';
    *at_++ = '"';
    std::memcpy(at_, name.data(), name.size());
    at_ += name.size();
    *at_++ = '"';
    *at_++ = ':';
  }
  void Key(std::string_view name, bool first) {
    Room(name.size() + 4);
    if (!first) *at_++ = ',';
    String(name);
    Char(':');
  }
  // Whether a string may hold the text as it is: no control, quote, backslash, < > &, and ASCII alone.
  static bool IsPlain(std::string_view text);
  // In quotes, escaped as Go's encoding/json does for HTML.
  void String(std::string_view text);
  void Base64(std::string_view octets);
  void Int(int64_t value);
  void Double(double value);
  // Any tree as it is. Numbers that JSON has no way to write are null.
  void Untyped(const Value& value, bool sort_names) { Tree(value, sort_names, kDepth); }

 private:
  // How deep lists and objects are gone into on the stack: more than anyone has made by hand.
  static constexpr int kDepth = 200;
  void Tree(const Value& value, bool sort_names, int depth);
  void Members(const Value& object, bool sort_names, int depth);

  static constexpr size_t kStep = 512;

  void Open(size_t room) {
    size_t used = out_.size();
    out_.resize_and_overwrite(used + room, [](char*, size_t size) { return size; });  // not filled with zeros
    at_ = out_.data() + used;
    end_ = out_.data() + out_.size();
  }
  void Trim() { out_.resize(static_cast<size_t>(at_ - out_.data())); }
  void Room(size_t bytes) {
    if (static_cast<size_t>(end_ - at_) < bytes) Grow(bytes);
  }
  void Grow(size_t bytes);

  std::string& out_;
  char* at_;
  char* end_;
};

}  // namespace homeostat::object
