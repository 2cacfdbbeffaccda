// The functions of strings. Positions count code points.
//
// Source of the rules: cel-go's ext/strings.go, version 2.
#include "cel/internal/functions.h"
#include "cel/internal/source.h"
#include "cel/internal/string_format.h"

namespace homeostat::cel::internal {

namespace {

Value OutOfRange(CallContext& context, int64_t index) {
  return MakeError(context.arena, "index out of range: " + std::to_string(index));
}

// Where the code point of that number begins; the end for their count. The number must not be beyond that.
size_t OffsetOf(std::string_view text, int64_t code_points) {
  size_t at = 0;
  for (; code_points > 0 && at < text.size(); --code_points) NextCodePoint(text, at);
  return at;
}
int64_t Length(std::string_view text) { return static_cast<int64_t>(CountCodePoints(text)); }

Value CharAt(CallContext& context, std::span<const Value> args) {
  std::string_view text = args[0].text();
  int64_t index = args[1].AsInt();
  if (index < 0 || index > Length(text)) return OutOfRange(context, index);
  size_t begin = OffsetOf(text, index);
  size_t end = begin;
  if (end < text.size()) NextCodePoint(text, end);
  return Value::String(text.substr(begin, end - begin));
}

Value IndexOf(CallContext& context, std::span<const Value> args) {
  std::string_view text = args[0].text(), part = args[1].text();
  int64_t offset = args.size() > 2 ? args[2].AsInt() : 0;
  if (part.empty()) return Value::Int(offset);
  if (offset < 0) return OutOfRange(context, offset);
  if (offset >= Length(text)) return Value::Int(-1);
  size_t found = text.find(part, OffsetOf(text, offset));
  return Value::Int(found == std::string_view::npos ? -1 : Length(text.substr(0, found)));
}

Value LastIndexOf(CallContext& context, std::span<const Value> args) {
  std::string_view text = args[0].text(), part = args[1].text();
  int64_t length = Length(text);
  bool from_offset = args.size() > 2;
  if (part.empty()) return Value::Int(from_offset ? args[2].AsInt() : length);
  if (!from_offset && text.size() < part.size()) return Value::Int(-1);
  int64_t offset = from_offset ? args[2].AsInt() : length - 1;
  if (offset < 0) return OutOfRange(context, offset);
  if (offset >= length) return Value::Int(-1);
  size_t found = text.rfind(part, OffsetOf(text, offset));
  return Value::Int(found == std::string_view::npos ? -1 : Length(text.substr(0, found)));
}

template <char kFirst, char kLast>
Value ChangeCase(CallContext& context, std::span<const Value> args) {
  std::string text(args[0].text());
  for (char& c : text) {
    if (c >= kFirst && c <= kLast) c ^= 0x20;
  }
  return MakeString(context.arena, text);
}

// count < 0: all of them. An empty `from` is between all code points, as in Go.
Value ReplaceText(CallContext& context, std::string_view text, std::string_view from, std::string_view to, int64_t count) {
  std::string out;
  size_t at = 0;
  bool first = true;
  while (count != 0) {
    size_t found = from.empty() ? at : text.find(from, at);
    if (from.empty() && !first) {
      if (found >= text.size()) break;
      NextCodePoint(text, found);
    }
    if (found == std::string_view::npos) break;
    first = false;
    out += text.substr(at, found - at);
    out += to;
    if (out.size() > UINT32_MAX) return Value::Error("text is too long");
    at = found + from.size();
    --count;
  }
  out += text.substr(at);
  return MakeString(context.arena, out);
}
Value Replace(CallContext& context, std::span<const Value> args) {
  return ReplaceText(context, args[0].text(), args[1].text(), args[2].text(), args.size() > 3 ? args[3].AsInt() : -1);
}

Value Split(CallContext& context, std::span<const Value> args) {
  std::string_view text = args[0].text(), separator = args[1].text();
  int64_t limit = args.size() > 2 ? args[2].AsInt() : -1;
  std::vector<Value> parts;
  if (limit == 0) return MakeList(context.arena, parts);
  size_t at = 0;
  if (separator.empty()) {
    while (at < text.size()) {
      size_t begin = at;
      if (limit > 0 && static_cast<int64_t>(parts.size()) == limit - 1) at = text.size();
      else NextCodePoint(text, at);
      parts.push_back(Value::String(text.substr(begin, at - begin)));
    }
    return MakeList(context.arena, parts);
  }
  while (limit < 0 || static_cast<int64_t>(parts.size()) < limit - 1) {
    size_t found = text.find(separator, at);
    if (found == std::string_view::npos) break;
    parts.push_back(Value::String(text.substr(at, found - at)));
    at = found + separator.size();
  }
  parts.push_back(Value::String(text.substr(at)));
  return MakeList(context.arena, parts);
}

Value Substring(CallContext& context, std::span<const Value> args) {
  std::string_view text = args[0].text();
  int64_t start = args[1].AsInt();
  int64_t length = Length(text);
  int64_t end = args.size() > 2 ? args[2].AsInt() : length;
  if (args.size() > 2 && start > end) {
    return MakeError(context.arena, "invalid substring range. start: " + std::to_string(start) + ", end: " + std::to_string(end));
  }
  if (start < 0 || start > length) return OutOfRange(context, start);
  if (end < 0 || end > length) return OutOfRange(context, end);
  size_t begin = OffsetOf(text, start);
  return Value::String(text.substr(begin, OffsetOf(text.substr(begin), end - start)));
}

bool IsSpace(char32_t c) {
  return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

Value Trim(CallContext&, std::span<const Value> args) {
  std::string_view text = args[0].text();
  size_t begin = text.size(), end = 0;
  for (size_t at = 0; at < text.size();) {
    size_t from = at;
    if (IsSpace(NextCodePoint(text, at))) continue;
    begin = std::min(begin, from);
    end = at;
  }
  return Value::String(end == 0 ? std::string_view() : text.substr(begin, end - begin));
}

Value Join(CallContext& context, std::span<const Value> args) {
  const List& list = args[0].list();
  std::string_view separator = args.size() > 1 ? args[1].text() : std::string_view();
  std::string out;
  for (uint64_t i = 0; i < list.size(); ++i) {
    if (i > 0) out += separator;
    Value item = list.At(i);
    if (!item.IsString()) return MakeError(context.arena, "join: invalid input: " + ToText(item));
    out += item.text();
    if (out.size() > UINT32_MAX) return Value::Error("text is too long");
  }
  return MakeString(context.arena, out);
}

Value Quote(CallContext& context, std::span<const Value> args) {
  std::string out = "\"";
  std::string_view text = args[0].text();
  for (size_t at = 0; at < text.size();) {
    char32_t c = NextCodePoint(text, at);
    switch (c) {
      case '\a': out += "\\a"; break;
      case '\b': out += "\\b"; break;
      case '\f': out += "\\f"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      case '\v': out += "\\v"; break;
      case '\\': out += "\\\\"; break;
      case '"': out += "\\\""; break;
      default: AppendUtf8(out, c);
    }
  }
  return MakeString(context.arena, out + "\"");
}

Value Reverse(CallContext& context, std::span<const Value> args) {
  std::u32string reversed;
  for (size_t at = 0; at < args[0].text().size();) reversed += NextCodePoint(args[0].text(), at);
  std::string out;
  for (size_t i = reversed.size(); i-- > 0;) AppendUtf8(out, reversed[i]);
  return MakeString(context.arena, out);
}

bool TwoStrings(std::span<const Value> args) { return args[0].IsString() && args[1].IsString(); }
Value Contains(CallContext&, std::span<const Value> args) {
  return TwoStrings(args) ? Value::Bool(args[0].text().find(args[1].text()) != std::string_view::npos) : NoSuchOverload();
}
Value StartsWith(CallContext&, std::span<const Value> args) {
  return TwoStrings(args) ? Value::Bool(args[0].text().starts_with(args[1].text())) : NoSuchOverload();
}
Value EndsWith(CallContext&, std::span<const Value> args) {
  return TwoStrings(args) ? Value::Bool(args[0].text().ends_with(args[1].text())) : NoSuchOverload();
}

Value Format(CallContext& context, std::span<const Value> args) {
  auto text = FormatString(args[0].text(), args[1].list());
  return text ? MakeString(context.arena, *text) : MakeError(context.arena, text.error());
}

// RFC 6901.
Value EscapeKey(CallContext& context, std::span<const Value> args) {
  std::string out;
  for (char c : args[0].text()) {
    if (c == '~') out += "~0";
    else if (c == '/') out += "~1";
    else out += c;
  }
  return MakeString(context.arena, out);
}

}  // namespace

std::span<const Binding> StringBindings() {
  static constexpr Binding kBindings[] = {
      {"string_char_at_int", CharAt},
      {"string_index_of_string", IndexOf}, {"string_index_of_string_int", IndexOf},
      {"string_last_index_of_string", LastIndexOf}, {"string_last_index_of_string_int", LastIndexOf},
      {"string_lower_ascii", ChangeCase<'A', 'Z'>}, {"string_upper_ascii", ChangeCase<'a', 'z'>},
      {"string_replace_string_string", Replace}, {"string_replace_string_string_int", Replace},
      {"string_split_string", Split}, {"string_split_string_int", Split},
      {"string_substring_int", Substring}, {"string_substring_int_int", Substring},
      {"string_trim", Trim}, {"list_join", Join}, {"list_join_string", Join}, {"strings_quote", Quote},
      {"string_reverse", Reverse}, {"string_format", Format},
      {"contains_string", Contains}, {"starts_with_string", StartsWith}, {"ends_with_string", EndsWith},
      {"string_jsonpatch_escapeKey_string", EscapeKey},
  };
  return kBindings;
}

}  // namespace homeostat::cel::internal
