#include "homeostat/object/json_output.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "homeostat/object/json.h"
#include "object/internal/json_plain.h"

namespace homeostat::object {

void JsonOutput::Grow(size_t bytes) {
  size_t used = static_cast<size_t>(at_ - out_.data());
  size_t room = used + bytes + kStep;
  Trim();
  Open(room);
}

namespace {

bool IsPlainByOctet(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return internal::kPlainInJson[static_cast<uint8_t>(c)]; });
}

#if defined(__SSE2__)
[[gnu::always_inline]] inline bool IsPlainBlock(__m128i block) { return internal::NotPlainInJson(block) == 0; }

// The first and the last octets, one word of each, of a text that has no more than two.
template <class Word>
[[gnu::always_inline]] inline bool CopyEnds(std::string_view text, char* out) {
  Word first, last;
  size_t size = text.size();
  std::memcpy(&first, text.data(), sizeof(Word));
  std::memcpy(&last, text.data() + size - sizeof(Word), sizeof(Word));
  std::memcpy(out, &first, sizeof(Word));
  std::memcpy(out + size - sizeof(Word), &last, sizeof(Word));
  if constexpr (sizeof(Word) == 8) {
    return IsPlainBlock(_mm_set_epi64x(static_cast<long long>(first), static_cast<long long>(last)));
  } else {
    return IsPlainBlock(_mm_set1_epi64x(static_cast<long long>(uint64_t{first} << 32 | last)));
  }
}

// Copies as much as is plain or more; whether all is. There must be room for all of the text.
[[gnu::always_inline]] inline bool CopyPlain(std::string_view text, char* out) {
  size_t size = text.size();
  if (size >= 16) {
    auto copy = [&](size_t at) {
      __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + at));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + at), block);
      return IsPlainBlock(block);
    };
    for (size_t at = 0; at + 16 < size; at += 16) {
      if (!copy(at)) return false;
    }
    return copy(size - 16);
  }
  if (size >= 8) return CopyEnds<uint64_t>(text, out);
  if (size >= 4) return CopyEnds<uint32_t>(text, out);
  for (size_t i = 0; i < size; ++i) out[i] = text[i];
  return IsPlainByOctet(text);
}
#else
bool CopyPlain(std::string_view text, char* out) {
  std::ranges::copy(text, out);
  return IsPlainByOctet(text);
}
#endif

// Of a text in which nothing but quotes and backslashes needs an escape, as in the keys of managed fields; the end of what was written,
// or null for others. There must be room for two octets for each and two more.
char* WithQuotesEscaped(std::string_view text, char* out) {
  *out++ = '"';
  for (char c : text) {
    if (!internal::kPlainInJson[static_cast<uint8_t>(c)]) {
      if (c != '"' && c != '\\') return nullptr;
      *out++ = '\\';
    }
    *out++ = c;
  }
  *out++ = '"';
  return out;
}

}  // namespace

bool JsonOutput::IsPlain(std::string_view text) {
#if defined(__SSE2__)
  constexpr size_t kShort = 64;  // as names are: faster by blocks, though the copy is for nothing
  char copy[kShort];
  if (text.size() <= kShort) return CopyPlain(text, copy);
#endif
  return IsPlainByOctet(text);
}

void JsonOutput::String(std::string_view text) {
  Room(text.size() + 2);
  if (CopyPlain(text, at_ + 1)) {
    *at_ = '"';
    at_ += text.size() + 1;
    *at_++ = '"';
    return;
  }
  Room(2 * text.size() + 2);
  if (char* end = WithQuotesEscaped(text, at_)) {
    at_ = end;
    return;
  }
  Trim();
  AppendJsonString(out_, text);
  Open(kStep);
}

void JsonOutput::Base64(std::string_view octets) {
  Char('"');
  Trim();
  AppendBase64(out_, octets);
  Open(kStep);
  Char('"');
}

void JsonOutput::Int(int64_t value) {
  Room(20);
  at_ = std::to_chars(at_, at_ + 20, value).ptr;
}

void JsonOutput::Double(double value) {
  if (!std::isfinite(value)) return Text("null");
  Trim();
  AppendJsonDouble(out_, value);
  Open(kStep);
}

namespace {

// Most names differ in their first letter, which is cheaper to see than to call for.
bool ComesBefore(const Member* a, const Member* b) {
  if (a->name_size > 0 && b->name_size > 0 && a->name_data[0] != b->name_data[0]) {
    return static_cast<uint8_t>(a->name_data[0]) < static_cast<uint8_t>(b->name_data[0]);
  }
  return a->name() < b->name();
}

}  // namespace

void JsonOutput::Members(const Value& object, bool sort_names, int depth) {
  bool first = true;
  auto write = [&](const Member* member) {
    Key(member->name(), first);
    first = false;
    Tree(member->value, sort_names, depth - 1);
  };
  std::span<const Member> members = object.members();
  auto before = [](const Member& a, const Member& b) { return ComesBefore(&a, &b); };
  if (!sort_names || std::ranges::is_sorted(members, before)) {
    for (const Member& member : members) write(&member);
    return;
  }
  std::vector<const Member*> sorted;
  sorted.reserve(members.size());
  for (const Member& member : members) sorted.push_back(&member);
  std::ranges::stable_sort(sorted, ComesBefore);
  for (const Member* member : sorted) write(member);
}

void JsonOutput::Tree(const Value& value, bool sort_names, int depth) {
  switch (value.kind()) {
    case ValueKind::kAbsent:
    case ValueKind::kNull:
      return Text("null");
    case ValueKind::kBool:
      return Text(value.AsBool() ? "true" : "false");
    case ValueKind::kInt:
      return Int(value.AsInt());
    case ValueKind::kDouble:
      return Double(value.AsDouble());
    case ValueKind::kString:
      return String(value.AsString());
    case ValueKind::kBytes:
      return Base64(value.AsString());
    case ValueKind::kList:
    case ValueKind::kObject:
      break;
  }
  if (depth == 0) {  // by a writer that needs no stack
    Trim();
    size_t before = out_.size();
    if (!AppendJson(out_, value, {.sort_names = sort_names})) {
      out_.resize(before);
      out_ += "null";
    }
    return Open(kStep);
  }
  if (value.IsObject()) {
    Char('{');
    Members(value, sort_names, depth);
    return Char('}');
  }
  Char('[');
  bool first = true;
  for (const Value& item : value.items()) {
    if (!first) Char(',');
    first = false;
    Tree(item, sort_names, depth - 1);
  }
  Char(']');
}

}  // namespace homeostat::object
