// matches(), find() and findAll(): patterns of RE2, whose time is linear in the text.
#include <optional>

#include <re2/re2.h>

#include "cel/internal/functions.h"
#include "cel/internal/operators.h"
#include "object/go_regex.h"

namespace homeostat::cel::internal {

namespace {

// Bytes that a compiled pattern and its automaton may take; upstream's library has a bound of its own.
constexpr int64_t kMaxPatternMemory = 8 << 20;

bool FindAt(const re2::RE2& pattern, std::string_view text, size_t at, re2::StringPiece& match) {
  return pattern.Match(re2::StringPiece(text.data(), text.size()), at, text.size(), re2::RE2::UNANCHORED, &match, 1);
}

Value FindFirst(const re2::RE2& pattern, std::string_view text) {
  re2::StringPiece match;
  if (!FindAt(pattern, text, 0, match)) return Value::String("");
  return Value::String(std::string_view(match.data(), match.size()));
}

// As Go: matches do not overlap, an empty one right behind another is none. limit < 0: all.
Value FindEvery(CallContext& context, const re2::RE2& pattern, std::string_view text, int64_t limit) {
  std::vector<Value> found;
  size_t at = 0;
  std::optional<size_t> last_end;
  while (at <= text.size() && (limit < 0 || static_cast<int64_t>(found.size()) < limit)) {
    re2::StringPiece match;
    if (!FindAt(pattern, text, at, match)) break;
    size_t begin = static_cast<size_t>(match.data() - text.data());
    size_t end = begin + match.size();
    bool accept = end > at || begin != last_end;
    if (accept) found.push_back(Value::String(std::string_view(match.data(), match.size())));
    last_end = end;
    if (end > at) {
      at = end;
    } else {
      ++at;
      while (at < text.size() && (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80) ++at;
    }
  }
  return MakeList(context.arena, found);
}

Value Matches(CallContext& context, std::span<const Value> args) {
  if (!args[1].IsString()) return NoSuchOverload();
  CompiledPattern compiled = CompilePattern(args[1].text());
  if (!compiled.pattern) return MakeError(context.arena, compiled.error);
  return CallWithPattern(context, *compiled.pattern, "matches", args);
}

Value Find(CallContext& context, std::span<const Value> args) {
  CompiledPattern compiled = CompilePattern(args[1].text());
  if (!compiled.pattern) return MakeError(context.arena, "Illegal regex: " + compiled.error);
  return FindFirst(*compiled.pattern, args[0].text());
}

Value FindAll(CallContext& context, std::span<const Value> args) {
  CompiledPattern compiled = CompilePattern(args[1].text());
  if (!compiled.pattern) return MakeError(context.arena, "Illegal regex: " + compiled.error);
  return FindEvery(context, *compiled.pattern, args[0].text(), args.size() > 2 ? args[2].AsInt() : -1);
}

}  // namespace

CompiledPattern CompilePattern(std::string_view text) {
  std::shared_ptr<const re2::RE2> pattern = object::CompileGoRegex(text, kMaxPatternMemory);
  if (pattern->ok()) return {std::move(pattern), ""};
  return {nullptr, object::GoRegexFault(*pattern, text)};
}

Value CallWithPattern(CallContext& context, const re2::RE2& pattern, std::string_view function, std::span<const Value> args) {
  if (!args[0].IsString()) return NoSuchOverload();
  if (function == "find") return FindFirst(pattern, args[0].text());
  if (function == "findAll") {
    if (args.size() > 2 && !args[2].IsInt()) return NoSuchOverload();
    return FindEvery(context, pattern, args[0].text(), args.size() > 2 ? args[2].AsInt() : -1);
  }
  std::string_view text = args[0].text();
  return Value::Bool(re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), pattern));
}

std::span<const Binding> RegexBindings() {
  static constexpr Binding kBindings[] = {
      {"matches()", Matches, Trait::kMatcher},
      {"string_find_string", Find},
      {"string_find_all_string", FindAll},
      {"string_find_all_string_int", FindAll},
  };
  return kBindings;
}

}  // namespace homeostat::cel::internal
