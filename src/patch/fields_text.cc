#include "patch/internal/fields_text.h"

#include <algorithm>
#include <array>
#include <string>

#include "homeostat/object/json.h"
#include "patch/internal/path_element_text.h"
#include "patch/internal/set_builder.h"

namespace homeostat::patch {

namespace {

constexpr std::string_view kSelfMember = "\".\":{}";

// The characters that JSON holds as they are, as Go writes it.
constexpr std::array<bool, 256> MakePlain() {
  std::array<bool, 256> plain{};
  for (size_t c = ' '; c < 0x7F; ++c) plain[c] = true;
  for (char c : {'"', '\\', '<', '>', '&'}) plain[static_cast<size_t>(c)] = false;
  return plain;
}
constexpr std::array<bool, 256> kPlain = MakePlain();

bool IsPlain(char c) { return kPlain[static_cast<unsigned char>(c)]; }
bool IsPlain(std::string_view text) { return std::ranges::all_of(text, [](char c) { return IsPlain(c); }); }

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
  void Write(const FieldSet& set, bool self) {
    out_ += '{';
    if (self && !set.empty()) out_ += kSelfMember;
    for (const FieldSet::Entry& entry : set.entries()) {
      if (out_.back() != '{') out_ += ',';
      Name(entry.element);
      out_ += ':';
      Write(entry.children, entry.member);
    }
    out_ += '}';
  }

  std::string_view text() const { return out_; }

 private:
  void Name(const PathElement& element) {
    if (element.IsField() && IsPlain(element.name())) {
      out_.append("\"f:").append(element.name()) += '"';
      return;
    }
    name_.clear();
    internal::AppendPathElement(name_, element);
    object::AppendJsonString(out_, name_);
  }

  std::string out_, name_;
};

}  // namespace

namespace internal {

std::optional<FieldSet> ReadPlainFieldsText(Arena& arena, std::string_view text) { return Reader(arena, text).Read(); }

}  // namespace internal

Value WriteFieldsV1Text(Arena& arena, const FieldSet& set) {
  Writer writer;
  writer.Write(set, false);
  return Value::BytesCopy(arena, writer.text());
}

}  // namespace homeostat::patch
