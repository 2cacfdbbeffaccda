#include <algorithm>
#include <charconv>
#include <cmath>

#include "homeostat/object/json.h"
#include "homeostat/object/yaml.h"
#include "object/internal/number.h"
#include "object/internal/utf8.h"
#include "object/internal/yaml_output.h"
#include "object/internal/yaml_resolve.h"

namespace homeostat::object {
namespace {

using internal::YamlOutput;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
// Beyond ASCII: everything that is not in one of the large blocks of signs and pictures.
bool IsLetter(char32_t c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  bool sign = c < 0xAA || (c >= 0x2000 && c < 0x2C00) || (c >= 0x3000 && c < 0x3005) || (c >= 0xE000 && c < 0xF900) ||
              (c >= 0xFE00 && c < 0xFE10) || c == 0xFEFF || c >= 0x1F000;
  return !sign;
}
bool IsDigitRune(char32_t c) { return c >= '0' && c <= '9'; }

std::u32string Runes(std::string_view text) {
  std::u32string runes;
  while (!text.empty()) {
    internal::Rune rune = internal::DecodeRune(text);
    runes.push_back(rune.value);
    text.remove_prefix(rune.size);
  }
  return runes;
}

// The number that begins there, and where it ends.
int64_t NumberAt(const std::u32string& text, size_t& at, int64_t number) {
  for (; at < text.size() && IsDigitRune(text[at]); ++at) {
    number = static_cast<int64_t>(static_cast<uint64_t>(number) * 10 + (text[at] - '0'));
  }
  return number;
}

// Letters come after everything else, and digits count as the number they make: upstream's order of keys.
bool NaturallyLess(const std::u32string& a, const std::u32string& b) {
  size_t i = 0;
  while (i < a.size() && i < b.size() && a[i] == b[i]) ++i;
  if (i == a.size() || i == b.size()) return a.size() < b.size();
  bool a_letter = IsLetter(a[i]), b_letter = IsLetter(b[i]);
  if (a_letter && b_letter) return a[i] < b[i];
  if (a_letter || b_letter) return b_letter;
  // Where a zero differs from another digit inside of a number, the common digits before count too.
  int64_t start = 0;
  if (a[i] == '0' || b[i] == '0') {
    for (size_t j = i; j-- > 0 && IsDigitRune(a[j]);) {
      if (a[j] != '0') {
        start = 1;
        break;
      }
    }
  }
  size_t a_end = i, b_end = i;
  int64_t a_number = NumberAt(a, a_end, start), b_number = NumberAt(b, b_end, start);
  if (a_number != b_number) return a_number < b_number;
  if (a_end != b_end) return a_end < b_end;
  return a[i] < b[i];
}

// [-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?, which YAML 1.1 calls a number although upstream does not read it as one.
bool IsBase60(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || !IsDigit(text[0])) return false;
  text.remove_prefix(std::min(text.find_first_not_of("0123456789_"), text.size()));
  if (!text.starts_with(':')) return false;
  while (text.starts_with(':')) {
    text.remove_prefix(1);
    if (text.empty() || !IsDigit(text[0])) return false;
    bool two = text[0] <= '5' && text.size() > 1 && IsDigit(text[1]);
    text.remove_prefix(two ? 2 : 1);
  }
  if (text.empty()) return true;
  return text[0] == '.' && text.find_first_not_of("0123456789_", 1) == std::string_view::npos;
}

YamlOutput::Style StyleOf(std::string_view text) {
  if (text.find('\n') != std::string_view::npos) return YamlOutput::Style::kLiteral;
  bool plain = internal::IsYamlString(text) && !IsBase60(text);
  return plain ? YamlOutput::Style::kPlain : YamlOutput::Style::kDoubleQuoted;
}

// As upstream has it after the detour through JSON: without a fraction it is an integer if that fits 64 bits.
std::string DoubleText(double number) {
  constexpr double kTwoTo63 = 9223372036854775808.0;
  if (std::trunc(number) == number && std::fabs(number) < 2 * kTwoTo63) {
    if (number >= -kTwoTo63 && number < kTwoTo63) return std::to_string(static_cast<int64_t>(number));
    if (number > 0) {
      // Through JSON's digits, which end in zeros where the exact integer does not.
      std::string digits;
      AppendJsonDouble(digits, number);
      if (internal::ParseUint(digits, 10)) return digits;
    }
  }
  return internal::FormatShortest(number);
}

// Walks a tree without recursion.
class Writer {
 public:
  Writer(std::string& out, const YamlStyle& style) : out_(out), style_(style) {}

  void Write(const Value& root) {
    Put(root, {.indent = -1});
    while (!open_.empty()) {
      if (open_.back().next == open_.back().value.size()) {
        if (open_.back().sorted) sorted_.resize(open_.back().first_sorted);
        open_.pop_back();
      } else if (open_.back().value.IsList()) {
        Container& list = open_.back();
        out_.BreakTo(list.indent);
        out_.Indicator("-", {.space_before = true, .keeps_indention = true});
        Value item = list.value.items()[list.next++];
        Put(item, {.indent = list.indent});
      } else {
        PutMember();
      }
    }
    out_.End();
  }

 private:
  struct Container {
    Value value;
    int indent;
    uint32_t next = 0;
    bool sorted = false;
    size_t first_sorted = 0;
  };
  struct Place {
    int indent;               // of what it stands in
    bool member_value = false;
  };

  void PutMember() {
    Container& object = open_.back();
    uint32_t index = object.next++;
    const Member& member = object.sorted ? *sorted_[object.first_sorted + index] : object.value.members()[index];
    int indent = object.indent;
    std::string name = Mended(member.name());
    Value value = member.value;
    out_.BreakTo(indent);
    YamlOutput::Style style = StyleOf(name);
    if (YamlOutput::FitsSimpleKey(name)) {
      out_.Scalar(name, style, indent + 2, true);
      out_.Indicator(":", {});
    } else {
      out_.Indicator("?", {.space_before = true, .keeps_indention = true});
      out_.Scalar(name, style, indent + 2, false);
      out_.BreakTo(indent);
      out_.Indicator(":", {.space_before = true, .keeps_indention = true});
    }
    Put(value, {.indent = indent, .member_value = true});
  }

  void Put(const Value& value, const Place& place) {
    int inner = place.indent < 0 ? 2 : place.indent + 2;
    switch (value.kind()) {
      case ValueKind::kAbsent:
      case ValueKind::kNull:
        return out_.Scalar("null", YamlOutput::Style::kPlain, inner, false);
      case ValueKind::kBool:
        return out_.Scalar(value.AsBool() ? "true" : "false", YamlOutput::Style::kPlain, inner, false);
      case ValueKind::kInt:
        return out_.Scalar(std::to_string(value.AsInt()), YamlOutput::Style::kPlain, inner, false);
      case ValueKind::kDouble:
        return out_.Scalar(DoubleText(value.AsDouble()), YamlOutput::Style::kPlain, inner, false);
      case ValueKind::kString: {
        std::string text = Mended(value.AsString());
        return out_.Scalar(text, StyleOf(text), inner, false);
      }
      case ValueKind::kBytes: {
        std::string text;
        AppendBase64(text, value.AsString());
        return out_.Scalar(text, StyleOf(text), inner, false);
      }
      case ValueKind::kList:
      case ValueKind::kObject:
        return Open(value, place);
    }
  }

  void Open(const Value& value, const Place& place) {
    if (value.empty()) {
      out_.Indicator(value.IsList() ? "[" : "{", {.space_before = true, .is_space = true});
      return out_.Indicator(value.IsList() ? "]" : "}", {});
    }
    // A list that is a member's value stands under the member's name, not further in.
    bool flush = value.IsList() && place.member_value && !out_.at_indention();
    int indent = place.indent < 0 ? 0 : flush ? place.indent : place.indent + 2;
    open_.push_back({.value = value, .indent = indent});
    if (value.IsObject() && style_.sort_names) Sort(open_.back());
  }

  void Sort(Container& container) {
    std::vector<std::pair<std::u32string, const Member*>> members;
    for (const Member& member : container.value.members()) members.emplace_back(Runes(member.name()), &member);
    std::stable_sort(members.begin(), members.end(),
                     [](const auto& a, const auto& b) { return NaturallyLess(a.first, b.first); });
    container.sorted = true;
    container.first_sorted = sorted_.size();
    for (const auto& entry : members) sorted_.push_back(entry.second);
  }

  // JSON, which upstream goes through, has no octets that are not UTF-8.
  static std::string Mended(std::string_view text) {
    if (internal::IsValidUtf8(text)) return std::string(text);
    std::string mended;
    while (!text.empty()) {
      internal::Rune rune = internal::DecodeRune(text);
      internal::AppendRune(mended, rune.value);
      text.remove_prefix(rune.size);
    }
    return mended;
  }

  YamlOutput out_;
  YamlStyle style_;
  std::vector<Container> open_;
  std::vector<const Member*> sorted_;
};

}  // namespace

void AppendYaml(std::string& out, const Value& value, const YamlStyle& style) { Writer(out, style).Write(value); }

std::string WriteYaml(const Value& value, const YamlStyle& style) {
  std::string out;
  AppendYaml(out, value, style);
  return out;
}

}  // namespace homeostat::object
