#include "patch/internal/fields_text.h"

#include <algorithm>
#include <array>
#include <string>

#include "homeostat/object/json_output.h"
#include "patch/internal/path_element_text.h"
#include "patch/internal/set_builder.h"

namespace homeostat::patch {

namespace {

constexpr std::string_view kSelfMember = "\".\":{}";

using object::JsonOutput;
using object::Member;

// What JSON holds as it is, quotes and backslashes aside.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (unsigned c = ' '; c < 0x7F; ++c) plain[c] = true;
  for (unsigned char c : {'"', '\\', '<', '>', '&'}) plain[c] = false;
  return plain;
}();

class Reader {
 public:
  Reader(Arena& arena, std::string_view text) : at_(text.data()), end_(text.data() + text.size()), out_(arena) {}

  std::optional<FieldSet> Read() {
    FieldSet set;
    if (bool member = false; !Level(0, set, member) || (member && !set.empty()) || at_ != end_) return std::nullopt;
    return set;
  }

 private:
  static constexpr int kMaxDepth = 200;

  bool Take(char wanted) {
    if (at_ == end_ || *at_ != wanted) return false;
    ++at_;
    return true;
  }
  bool Take(std::string_view wanted) {
    if (!std::string_view(at_, static_cast<size_t>(end_ - at_)).starts_with(wanted)) return false;
    at_ += wanted.size();
    return true;
  }

  // What is between braces; a member is the step itself that leads here.
  bool Level(int depth, FieldSet& children, bool& member) {
    if (depth == kMaxDepth || !Take('{')) return false;
    if (Take('}')) return member = true;
    size_t start = out_.Begin();
    if (Take(kSelfMember)) {
      member = true;
      if (!Take(',')) return false;
    }
    do {
      FieldSet::Entry entry;
      if (!Step(entry.element) || !Take(':') || !Level(depth + 1, entry.children, entry.member)) return false;
      if (out_.Begin() != start && !(out_.Last().element < entry.element)) return false;
      out_.Push(entry);
    } while (Take(','));
    children = out_.End(start);
    return Take('}');
  }

  bool Step(PathElement& element) {
    std::string_view name;
    if (!Take('"') || !Name(name)) return false;
    if (name.starts_with("f:")) {
      element = PathElement::Field(name.substr(2));
      return true;
    }
    auto parsed = internal::ParsePathElement(out_.arena(), name);
    if (!parsed || !*parsed || !(*parsed)->canonical) return false;
    element = (*parsed)->element;
    return true;
  }

  // Up to the quote that ends it, which is taken. Of escapes it may have those of quotes and backslashes.
  bool Name(std::string_view& name) {
    const char* start = at_;
    size_t escapes = 0;
    while (true) {
      while (at_ != end_ && kPlain[static_cast<uint8_t>(*at_)]) ++at_;
      if (at_ == end_) return false;
      if (*at_ == '"') break;
      if (*at_ != '\\' || ++at_ == end_ || (*at_ != '"' && *at_ != '\\')) return false;
      ++escapes;
      ++at_;
    }
    name = std::string_view(start, static_cast<size_t>(at_ - start));
    ++at_;
    if (escapes == 0) return true;
    char* plain = out_.arena().AllocateArray<char>(name.size() - escapes);
    char* next = plain;
    for (size_t i = 0; i < name.size(); ++i) {
      if (name[i] == '\\') ++i;
      *next++ = name[i];
    }
    name = {plain, name.size() - escapes};
    return true;
  }

  const char* at_;
  const char* end_;
  internal::SetBuilder out_;
};

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  void Write(const FieldSet& set, bool self) {
    out_.Char('{');
    bool first = true;
    if (self && !set.empty()) {
      out_.Text(kSelfMember);
      first = false;
    }
    for (const FieldSet::Entry& entry : set.entries()) {
      Key(entry.element, first);
      first = false;
      if (entry.children.empty()) {
        out_.Text("{}");
      } else {
        Write(entry.children, entry.member);
      }
    }
    out_.Char('}');
  }

 private:
  void Key(const PathElement& element, bool first) {
    if (!first) out_.Char(',');
    if (element.IsField() && JsonOutput::IsPlain(element.name())) {
      out_.Text("\"f:");
      out_.Text(element.name());
      return out_.Text("\":");
    }
    if (element.kind() == PathElement::Kind::kKey && IsPlainKey(element.value())) {
      PlainKey(element.value());
    } else {
      name_.clear();
      internal::AppendPathElement(name_, element);
      out_.String(name_);
    }
    out_.Char(':');
  }

  static bool IsPlainKey(const Value& key) {
    return !key.empty() && std::ranges::all_of(key.members(), [](const Member& field) {
      return field.value.IsString() && JsonOutput::IsPlain(field.name()) && JsonOutput::IsPlain(field.value.AsString());
    });
  }

  // Its quotes are inside a string: "k:{\"name\":\"a\"}".
  void PlainKey(const Value& key) {
    std::string_view before = "\"k:{\\\"";
    for (const Member& field : key.members()) {
      out_.Text(before);
      out_.Text(field.name());
      out_.Text("\\\":\\\"");
      out_.Text(field.value.AsString());
      before = "\\\",\\\"";
    }
    out_.Text("\\\"}\"");
  }

  JsonOutput out_;
  std::string name_;
};

}  // namespace

namespace internal {

std::optional<FieldSet> ReadPlainFieldsText(Arena& arena, std::string_view text) { return Reader(arena, text).Read(); }

}  // namespace internal

Value WriteFieldsV1Text(Arena& arena, const FieldSet& set) {
  std::string text;
  Writer(text).Write(set, false);
  return Value::BytesCopy(arena, text);
}

}  // namespace homeostat::patch
