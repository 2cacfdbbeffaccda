#include "patch/internal/path_element_text.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "homeostat/object/json.h"

namespace homeostat::patch::internal {

using object::Member;

namespace {

// Reads the plain JSON that nearly every step is written in: no spaces, no escapes, nothing nested. What it does not
// understand is left to the full parser.
class PlainReader {
 public:
  explicit PlainReader(std::string_view text) : text_(text) {}

  bool AtEnd() const { return at_ == text_.size(); }
  bool Take(char wanted) {
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  bool String(std::string_view& out) {
    if (!Take('"')) return false;
    size_t start = at_;
    while (at_ < text_.size() && IsPlain(text_[at_])) ++at_;
    out = text_.substr(start, at_ - start);
    return Take('"');
  }

  bool Scalar(Value& out) {
    if (at_ < text_.size() && text_[at_] == '"') {
      std::string_view text;
      if (!String(text)) return false;
      out = Value::StringRef(text);
      return true;
    }
    if (Word("true")) return out = Value::Bool(true), true;
    if (Word("false")) return out = Value::Bool(false), true;
    return Integer(out);
  }

 private:
  static bool IsPlain(char c) {
    return c >= ' ' && static_cast<unsigned char>(c) < 0x7F && c != '"' && c != '\\' && c != '<' && c != '>' &&
           c != '&';
  }

  bool Word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  bool Integer(Value& out) {
    size_t digits = at_ + (at_ < text_.size() && text_[at_] == '-');
    if (digits >= text_.size() || text_[digits] < '1' || text_[digits] > '9') {
      if (text_.substr(at_) != "0" && !text_.substr(at_).starts_with("0,") && !text_.substr(at_).starts_with("0}"))
        return false;
    }
    int64_t number = 0;
    auto read = std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
    if (read.ec != std::errc()) return false;
    at_ = static_cast<size_t>(read.ptr - text_.data());
    out = Value::Int(number);
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

std::optional<Value> ReadPlainKey(Arena& arena, std::string_view text) {
  constexpr size_t kMost = 8;
  Member fields[kMost];
  size_t count = 0;
  PlainReader reader(text);
  if (!reader.Take('{')) return std::nullopt;
  do {
    std::string_view name;
    Value value;
    if (count == kMost || !reader.String(name) || !reader.Take(':') || !reader.Scalar(value)) return std::nullopt;
    if (count > 0 && fields[count - 1].name() >= name) return std::nullopt;
    fields[count++] = Member(name, value);
  } while (reader.Take(','));
  if (!reader.Take('}') || !reader.AtEnd()) return std::nullopt;
  Member* members = arena.AllocateArray<Member>(count);
  std::copy(fields, fields + count, members);
  return Value::Object({members, count});
}

std::optional<Value> ReadPlainItem(std::string_view text) {
  PlainReader reader(text);
  Value value;
  return reader.Scalar(value) && reader.AtEnd() ? std::optional(value) : std::nullopt;
}

Result<Value> ReadAnyKey(Arena& arena, std::string_view text) {
  TRY_ASSIGN(Value parsed, object::ParseJson(arena, text));
  if (!parsed.IsObject()) return Fail(BadRequestError("expect { or n, but found " + std::string(text.substr(0, 1))));
  Member* members = arena.AllocateArray<Member>(parsed.size());
  std::copy(parsed.members().begin(), parsed.members().end(), members);
  std::sort(members, members + parsed.size(), [](const Member& a, const Member& b) { return a.name() < b.name(); });
  return Value::Object({members, parsed.size()});
}

Result<std::optional<ParsedElement>> ParseIndex(std::string_view text) {
  int64_t index = 0;
  std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  auto read = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) {
    return Fail(BadRequestError("strconv.Atoi: parsing \"" + std::string(text) + "\": invalid syntax"));
  }
  return ParsedElement{PathElement::Index(index), text == std::to_string(index)};
}

}  // namespace

Result<std::optional<ParsedElement>> ParsePathElement(Arena& arena, std::string_view text) {
  if (text.size() < 2) return Fail(BadRequestError("key must be 2 characters long:"));
  if (text[1] != ':') return Fail(BadRequestError("missing colon: " + std::string(text)));
  std::string_view content = text.substr(2);
  switch (text[0]) {
    case 'f':
      return ParsedElement{PathElement::Field(content), true};
    case 'i':
      return ParseIndex(content);
    case 'v': {
      if (std::optional<Value> plain = ReadPlainItem(content)) return ParsedElement{PathElement::Item(*plain), true};
      TRY_ASSIGN(Value value, object::ParseJson(arena, content));
      return ParsedElement{PathElement::Item(value), false};
    }
    case 'k': {
      if (std::optional<Value> plain = ReadPlainKey(arena, content))
        return ParsedElement{PathElement::Key(*plain), true};
      TRY_ASSIGN(Value key, ReadAnyKey(arena, content));
      return ParsedElement{PathElement::Key(key), false};
    }
    default:
      return std::optional<ParsedElement>();
  }
}

namespace {

// A value inside a step is nearly always a text or a number, and a key an object of those.
void AppendValue(std::string& out, const Value& value) {
  if (value.IsString()) return object::AppendJsonString(out, value.AsString());
  // A number that JSON cannot say never gets into a path: paths come from JSON.
  (void)object::AppendJson(out, value);
}

void AppendKey(std::string& out, const Value& key) {
  char separator = '{';
  for (const Member& field : key.members()) {
    out += std::exchange(separator, ',');
    object::AppendJsonString(out, field.name());
    out += ':';
    AppendValue(out, field.value);
  }
  out += key.empty() ? "{}" : "}";
}

}  // namespace

void AppendPathElement(std::string& out, const PathElement& element) {
  switch (element.kind()) {
    case PathElement::Kind::kField:
      out.append("f:").append(element.name());
      return;
    case PathElement::Kind::kIndex:
      out.append("i:").append(std::to_string(element.value().AsInt()));
      return;
    case PathElement::Kind::kValue:
      out += "v:";
      return AppendValue(out, element.value());
    case PathElement::Kind::kKey:
      out += "k:";
      return AppendKey(out, element.value());
  }
}

}  // namespace homeostat::patch::internal
