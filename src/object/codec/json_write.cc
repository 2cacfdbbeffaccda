#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <vector>

#include "homeostat/object/json.h"
#include "object/internal/json_plain.h"
#include "object/internal/utf8.h"

namespace homeostat::object {
namespace {

constexpr size_t kLongestNumber = 32;

constexpr char kHexDigits[] = "0123456789abcdef";

// Text that grows at its end, written through a pointer: std::string::append checks and terminates for every piece.
class Sink {
 public:
  explicit Sink(std::string& out) : out_(out), next_(out.data() + out.size()), end_(next_) {}
  ~Sink() { out_.resize(used()); }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  // Room for at least so many characters; Advance says how many were written.
  char* Room(size_t bytes) {
    if (static_cast<size_t>(end_ - next_) < bytes) Grow(bytes);
    return next_;
  }
  void Advance(size_t bytes) { next_ += bytes; }
  // The end of what was written, within the room that was given last.
  void AdvanceTo(char* end) { next_ = end; }
  void Put(char c) {
    *Room(1) = c;
    ++next_;
  }
  void Put(std::string_view text) {
    if (text.empty()) return;
    std::memcpy(Room(text.size()), text.data(), text.size());
    next_ += text.size();
  }
  void Fill(size_t count, char c) {
    std::memset(Room(count), c, count);
    next_ += count;
  }

 private:
  size_t used() const { return static_cast<size_t>(next_ - out_.data()); }
  [[gnu::noinline]] void Grow(size_t bytes) {
    size_t before = used();
    // Not filled with zeros: a long text may get each of its strings through a sink of its own.
    out_.resize_and_overwrite(std::max(out_.capacity(), before + std::max(bytes, before + 512)), [](char*, size_t size) { return size; });
    next_ = out_.data() + before;
    end_ = out_.data() + out_.size();
  }

  std::string& out_;
  char* next_;
  char* end_;
};

// One rune that is not ASCII; returns the octets read. Go escapes what is no UTF-8 and the two line separators that
// JavaScript does not allow in strings.
size_t PutRune(Sink& sink, std::string_view text) {
  internal::Rune rune = internal::DecodeRune(text);
  if (!rune.valid) {
    sink.Put("\\ufffd");
  } else if (rune.value == 0x2028) {
    sink.Put("\\u2028");
  } else if (rune.value == 0x2029) {
    sink.Put("\\u2029");
  } else {
    sink.Put(text.substr(0, rune.size));
  }
  return rune.size;
}

// Copies Size octets; a bit for each that is not plain.
#if defined(__SSE2__)
template <size_t Size>
uint32_t CopyBlock(const char* from, char* to) {
  static_assert(Size == 4 || Size == 8 || Size == 16);
  __m128i block = _mm_setzero_si128();
  std::memcpy(&block, from, Size);
  std::memcpy(to, &block, Size);
  return internal::NotPlainInJson(block) & ((1u << Size) - 1);
}
#else
template <size_t Size>
uint32_t CopyBlock(const char* from, char* to) {
  std::memcpy(to, from, Size);
  uint32_t found = 0;
  for (size_t i = 0; i < Size; ++i) found |= static_cast<uint32_t>(!internal::kPlainInJson[static_cast<uint8_t>(from[i])]) << i;
  return found;
}
#endif

// Copies up to the first special character, or all; returns how much. There must be room for all of the text: what lies behind
// the end of what was copied may have been written, too.
size_t CopyPlain(std::string_view text, char* out) {
  size_t at = 0;
#if defined(__SSE2__)
  if (size_t size = text.size(); size >= 8 && size < 16) {  // as most are: the first and the last octets at once
    uint64_t first, last;
    std::memcpy(&first, text.data(), 8);
    std::memcpy(&last, text.data() + size - 8, 8);
    std::memcpy(out, &first, 8);
    std::memcpy(out + size - 8, &last, 8);
    if (internal::NotPlainInJson(_mm_set_epi64x(static_cast<long long>(last), static_cast<long long>(first))) == 0) return size;
  }
#endif
  auto plain = [&]<size_t Size>() {
    uint32_t found = CopyBlock<Size>(text.data() + at, out + at);
    at += found != 0 ? static_cast<size_t>(std::countr_zero(found)) : Size;
    return found == 0;
  };
  while (text.size() - at >= 16) {
    if (!plain.template operator()<16>()) return at;
  }
  if (text.size() - at >= 8 && !plain.template operator()<8>()) return at;
  if (text.size() - at >= 4 && !plain.template operator()<4>()) return at;
  for (; at < text.size() && internal::kPlainInJson[static_cast<uint8_t>(text[at])]; ++at) out[at] = text[at];
  return at;
}

// Of a character below 0x80. There must be room for six more.
char* Escaped(uint8_t c, char* out) {
  char letter = c == '"' || c == '\\' ? static_cast<char>(c)
                : c == '\b'           ? 'b'
                : c == '\f'           ? 'f'
                : c == '\n'           ? 'n'
                : c == '\r'           ? 'r'
                : c == '\t'           ? 't'
                                      : '\0';
  *out++ = '\\';
  if (letter != '\0') {
    *out++ = letter;
    return out;
  }
  out = std::copy_n("u00", 3, out);
  *out++ = kHexDigits[c >> 4];
  *out++ = kHexDigits[c & 15];
  return out;
}

void PutString(Sink& sink, std::string_view text) {
  char* out = sink.Room(text.size() + 2);
  *out++ = '"';
  size_t at = CopyPlain(text, out);
  out += at;
  while (at < text.size()) {
    sink.AdvanceTo(out);
    uint8_t c = static_cast<uint8_t>(text[at]);
    if (c >= 0x80) {
      at += PutRune(sink, text.substr(at));
      out = sink.Room(text.size() - at + 1);
    } else {
      out = Escaped(c, sink.Room(text.size() - at + 6));
      ++at;
    }
    size_t copied = CopyPlain(text.substr(at), out);
    out += copied;
    at += copied;
  }
  *out++ = '"';
  sink.AdvanceTo(out);
}

// Moves the point of shortest digits d.ddd to where the exponent says, filling up with zeros. (to_chars in fixed format
// would print the exact value of large numbers instead.)
char* PrintFixed(std::string_view digits, int exponent, char* out) {
  auto copy = [&out](std::string_view text) { out = std::copy(text.begin(), text.end(), out); };
  if (exponent < 0) {
    copy("0.");
    out = std::fill_n(out, -exponent - 1, '0');
    copy(digits);
    return out;
  }
  size_t whole = static_cast<size_t>(exponent) + 1;
  copy(digits.substr(0, whole));
  if (digits.size() <= whole) return std::fill_n(out, whole - digits.size(), '0');
  *out++ = '.';
  copy(digits.substr(whole));
  return out;
}

size_t PrintDouble(double number, char* out) {
  char scientific[kLongestNumber];
  char* end = std::to_chars(scientific, scientific + kLongestNumber, number, std::chars_format::scientific).ptr;
  double magnitude = std::fabs(number);
  if (magnitude != 0 && (magnitude < 1e-6 || magnitude >= 1e21)) {
    // e-09 becomes e-9, as ECMAScript writes it.
    if (end[-3] == '-' && end[-2] == '0') {
      end[-2] = end[-1];
      --end;
    }
    return static_cast<size_t>(std::copy(scientific, end, out) - out);
  }
  char* start = out;
  char* at = scientific;
  if (*at == '-') *out++ = *at++;
  char digits[kLongestNumber];
  size_t count = 0;
  for (; *at != 'e'; ++at) {
    if (*at != '.') digits[count++] = *at;
  }
  int exponent = 0;
  ++at;
  std::from_chars(*at == '+' ? at + 1 : at, end, exponent);
  return static_cast<size_t>(PrintFixed({digits, count}, exponent, out) - start);
}

void PutBase64(Sink& sink, std::string_view octets) {
  static constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t size = (octets.size() + 2) / 3 * 4;
  char* out = sink.Room(size);
  const uint8_t* in = reinterpret_cast<const uint8_t*>(octets.data());
  size_t left = octets.size();
  for (; left >= 3; left -= 3, in += 3, out += 4) {
    out[0] = kAlphabet[in[0] >> 2];
    out[1] = kAlphabet[(in[0] & 3) << 4 | in[1] >> 4];
    out[2] = kAlphabet[(in[1] & 15) << 2 | in[2] >> 6];
    out[3] = kAlphabet[in[2] & 63];
  }
  if (left > 0) {
    uint8_t second = left == 2 ? in[1] : 0;
    out[0] = kAlphabet[in[0] >> 2];
    out[1] = kAlphabet[(in[0] & 3) << 4 | second >> 4];
    out[2] = left == 2 ? kAlphabet[(second & 15) << 2] : '=';
    out[3] = '=';
  }
  sink.Advance(size);
}

// Writes a tree without recursion: the lists and objects that are open are kept on a stack of their own.
class Writer {
 public:
  Writer(std::string& out, const JsonStyle& style) : sink_(out), style_(style) {}

  void Write(const Value& root) {
    if (!root.empty()) open_.reserve(16);
    Put(root);
    while (!open_.empty()) {
      Container& top = open_.back();
      if (top.next == top.value.size()) {
        Close();
        continue;
      }
      if (top.next != 0) sink_.Put(',');
      if (style_.pretty) NewLine();
      uint32_t index = top.next++;
      if (top.value.IsList()) {
        Put(top.value.items()[index]);
        continue;
      }
      const Member& member = top.sorted ? *sorted_[top.first_sorted + index] : top.value.members()[index];
      PutString(sink_, member.name());
      sink_.Put(style_.pretty ? std::string_view(": ") : std::string_view(":"));
      Put(member.value);
    }
  }

  // The first number that JSON has no way to write, as Go prints it.
  const std::string& unsupported() const { return unsupported_; }

 private:
  struct Container {
    Value value;
    uint32_t next = 0;
    bool sorted = false;
    size_t first_sorted = 0;  // in sorted_
  };

  void Put(const Value& value) {
    switch (value.kind()) {
      case ValueKind::kAbsent:
      case ValueKind::kNull:
        return sink_.Put("null");
      case ValueKind::kBool:
        return sink_.Put(value.AsBool() ? std::string_view("true") : std::string_view("false"));
      case ValueKind::kInt: {
        char* out = sink_.Room(kLongestNumber);
        return sink_.Advance(static_cast<size_t>(std::to_chars(out, out + kLongestNumber, value.AsInt()).ptr - out));
      }
      case ValueKind::kDouble:
        return PutDouble(value.AsDouble());
      case ValueKind::kString:
        return PutString(sink_, value.AsString());
      case ValueKind::kBytes:
        sink_.Put('"');
        PutBase64(sink_, value.AsString());
        return sink_.Put('"');
      case ValueKind::kList:
        if (value.empty()) return sink_.Put("[]");
        sink_.Put('[');
        open_.push_back({value});
        return;
      case ValueKind::kObject:
        if (value.empty()) return sink_.Put("{}");
        sink_.Put('{');
        open_.push_back({value});
        if (style_.sort_names) Sort(open_.back());
        return;
    }
  }

  void PutDouble(double number) {
    if (!std::isfinite(number)) {
      std::string_view text = std::isnan(number) ? "NaN" : number > 0 ? "+Inf" : "-Inf";
      if (unsupported_.empty()) unsupported_ = text;
      return sink_.Put(text);
    }
    char* out = sink_.Room(kLongestNumber);
    sink_.Advance(PrintDouble(number, out));
  }

  void Sort(Container& container) {
    auto less = [](const Member* a, const Member* b) { return a->name() < b->name(); };
    container.first_sorted = sorted_.size();
    for (const Member& member : container.value.members()) sorted_.push_back(&member);
    auto first = sorted_.begin() + static_cast<ptrdiff_t>(container.first_sorted);
    if (!std::is_sorted(first, sorted_.end(), less)) std::stable_sort(first, sorted_.end(), less);
    container.sorted = true;
  }

  void Close() {
    Container closed = open_.back();
    open_.pop_back();
    if (closed.sorted) sorted_.resize(closed.first_sorted);
    if (style_.pretty) NewLine();
    sink_.Put(closed.value.IsList() ? ']' : '}');
  }

  void NewLine() {
    sink_.Put('\n');
    sink_.Fill(open_.size() * 2, ' ');
  }

  Sink sink_;
  JsonStyle style_;
  std::vector<Container> open_;
  std::vector<const Member*> sorted_;
  std::string unsupported_;
};

}  // namespace

Done AppendJson(std::string& out, const Value& value, const JsonStyle& style) {
  size_t before = out.size();
  std::string unsupported;
  {
    Writer writer(out, style);
    writer.Write(value);
    unsupported = writer.unsupported();
  }
  if (unsupported.empty()) return {};
  out.resize(before);
  return Fail(InternalError("json: unsupported value: " + unsupported));
}

Result<std::string> WriteJson(const Value& value, const JsonStyle& style) {
  std::string out;
  TRY(AppendJson(out, value, style));
  return out;
}

std::string JsonText(const Value& value) {
  std::string out;
  Writer(out, {}).Write(value);
  return out;
}

void AppendJsonString(std::string& out, std::string_view text) {
  Sink sink(out);
  PutString(sink, text);
}

void AppendJsonDouble(std::string& out, double number) {
  char text[kLongestNumber];
  out.append(text, PrintDouble(number, text));
}

void AppendBase64(std::string& out, std::string_view octets) {
  Sink sink(out);
  PutBase64(sink, octets);
}

namespace {

// 0…63, or -1.
int Base64Digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

std::unexpected<Status> IllegalBase64(size_t at) {
  return Fail(BadRequestError("illegal base64 data at input byte " + std::to_string(at)));
}

size_t PastLineBreaks(std::string_view text, size_t at) {
  while (at < text.size() && (text[at] == '\n' || text[at] == '\r')) ++at;
  return at;
}

// The padding that begins at that place, after `digits` digits of the last group: nothing but line breaks may follow.
Done CheckPadding(std::string_view text, size_t at, int digits) {
  if (digits < 2) return IllegalBase64(at);
  size_t next = PastLineBreaks(text, at + 1);
  if (digits == 2) {
    if (next == text.size()) return IllegalBase64(text.size());
    if (text[next] != '=') return IllegalBase64(next - 1);  // Go's count is one short here
    next = PastLineBreaks(text, next + 1);
  }
  if (next < text.size()) return IllegalBase64(next);
  return {};
}

}  // namespace

Result<std::string> DecodeBase64(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3 + 3);
  uint32_t group = 0;
  int digits = 0;
  size_t at = PastLineBreaks(text, 0);
  for (; at < text.size(); at = PastLineBreaks(text, at + 1)) {
    int digit = Base64Digit(text[at]);
    if (digit < 0) break;
    group = group << 6 | static_cast<uint32_t>(digit);
    if (++digits < 4) continue;
    out.push_back(static_cast<char>(group >> 16));
    out.push_back(static_cast<char>(group >> 8));
    out.push_back(static_cast<char>(group));
    group = 0;
    digits = 0;
  }
  if (at < text.size() && text[at] != '=') return IllegalBase64(at);
  if (at == text.size() && digits != 0) return IllegalBase64(text.size() - static_cast<size_t>(digits));
  if (at < text.size()) TRY(CheckPadding(text, at, digits));
  if (digits == 2) out.push_back(static_cast<char>(group >> 4));
  if (digits == 3) {
    out.push_back(static_cast<char>(group >> 10));
    out.push_back(static_cast<char>(group >> 2));
  }
  return out;
}

}  // namespace homeostat::object
