#include "patch/internal/fields_text.h"

#include <algorithm>
#include <string>

#include "homeostat/object/json_output.h"
#include "patch/internal/path_element_text.h"
#include "patch/internal/set_builder.h"

namespace homeostat::patch {

namespace {

constexpr std::string_view kSelfMember = "\".\":{}";

using object::JsonOutput;
using object::Member;

class Reader {
 public:
  Reader(Arena& arena, std::string_view text) : text_(text), out_(arena) {}

  std::optional<FieldSet> Read() {
    FieldSet set;
    if (text_ == "{}") return set;
    if (bool member = false; !Level(0, set, member) || member || at_ != text_.size()) return std::nullopt;
    return set;
  }

 private:
  static constexpr int kMaxDepth = 200;

  bool Take(std::string_view wanted) {
    if (!text_.substr(at_).starts_with(wanted)) return false;
    at_ += wanted.size();
    return true;
  }

  // What is between braces; a member is the step itself that leads here.
  bool Level(int depth, FieldSet& children, bool& member) {
    if (depth == kMaxDepth || !Take("{")) return false;
    if (Take("}")) return member = true;
    size_t start = out_.Begin();
    if (Take(kSelfMember)) {
      member = true;
      if (!Take(",")) return false;
    }
    do {
      FieldSet::Entry entry;
      if (!Step(entry.element) || !Take(":") || !Level(depth + 1, entry.children, entry.member)) return false;
      if (out_.Begin() != start && !(out_.Last().element < entry.element)) return false;
      out_.Push(entry);
    } while (Take(","));
    children = out_.End(start);
    return Take("}");
  }

  bool Step(PathElement& element) {
    std::string_view name;
    if (!Take("\"") || !Name(name) || !Take("\"")) return false;
    if (name.starts_with("f:")) {
      element = PathElement::Field(name.substr(2));
      return true;
    }
    auto parsed = internal::ParsePathElement(out_.arena(), name);
    if (!parsed || !*parsed || !(*parsed)->canonical) return false;
    element = (*parsed)->element;
    return true;
  }

  // What JSON holds as it is, quotes and backslashes aside.
  static bool IsPlain(char c) { return c >= ' ' && c < 0x7F && c != '<' && c != '>' && c != '&'; }

  // Up to the quote that ends it. Of escapes it may have those of quotes and backslashes.
  bool Name(std::string_view& name) {
    size_t start = at_, escapes = 0;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') {
        ++escapes;
        if (++at_ == text_.size() || (text_[at_] != '"' && text_[at_] != '\\')) return false;
      } else if (!IsPlain(text_[at_])) {
        return false;
      }
    }
    name = text_.substr(start, at_ - start);
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

  std::string_view text_;
  size_t at_ = 0;
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
      if (!first) out_.Char(',');
      first = false;
      Name(entry.element);
      if (entry.children.empty()) {
        out_.Text(":{}");
      } else {
        out_.Char(':');
        Write(entry.children, entry.member);
      }
    }
    out_.Char('}');
  }

 private:
  void Name(const PathElement& element) {
    if (element.IsField() && JsonOutput::IsPlain(element.name())) {
      out_.Text("\"f:");
      out_.Text(element.name());
      return out_.Char('"');
    }
    if (element.kind() == PathElement::Kind::kKey && IsPlainKey(element.value())) return PlainKey(element.value());
    name_.clear();
    internal::AppendPathElement(name_, element);
    out_.String(name_);
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
