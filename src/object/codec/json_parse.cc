#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "homeostat/object/json.h"
#include "object/internal/json_check.h"

namespace homeostat::object {
namespace {

constexpr size_t kMaxDuplicates = 100;
// Parsers and their buffers are kept by each thread; those that one large document made larger than this are given back.
constexpr size_t kKeptCapacity = 256 * 1024;
// simdjson counts the root as a level of its own.
constexpr size_t kParserDepth = static_cast<size_t>(kMaxDepth) + 1;
// The tape's count of members or items stops here.
constexpr uint32_t kCountSaturated = 0xFFFFFF;

// simdjson's tape (its doc/tape.md): one word a token, a type in the top octet and a payload below.
class Tape {
 public:
  explicit Tape(const simdjson::dom::document& document)
      : words_(document.tape.get()), strings_(reinterpret_cast<const char*>(document.string_buf.get())) {}

  // The first word is the root's, with the number of words.
  size_t words() const { return after(0); }
  char type(size_t at) const { return static_cast<char>(words_[at] >> 56); }
  // Of a list or object: the word behind its end.
  size_t after(size_t at) const { return static_cast<uint32_t>(words_[at]); }
  uint64_t number(size_t at) const { return words_[at + 1]; }
  std::string_view text(size_t at) const {
    const char* entry = strings_ + (words_[at] & 0x00FFFFFFFFFFFFFF);
    uint32_t size;
    std::memcpy(&size, entry, sizeof(size));
    return {entry + sizeof(size), size};
  }
  // The word behind the value that begins there.
  size_t Next(size_t at) const {
    switch (type(at)) {
      case '{':
      case '[':
        return after(at);
      case 'l':
      case 'u':
      case 'd':
        return at + 2;
      default:
        return at + 1;
    }
  }
  uint32_t Count(size_t at) const {
    uint32_t count = static_cast<uint32_t>(words_[at] >> 32) & kCountSaturated;
    return count < kCountSaturated ? count : CountSlow(at);
  }

 private:
  uint32_t CountSlow(size_t at) const {
    uint32_t count = 0;
    bool object = type(at) == '{';
    for (size_t child = at + 1; child + 1 < after(at); child = Next(child)) {
      if (object) ++child;
      ++count;
    }
    return count;
  }

  const uint64_t* words_;
  const char* strings_;
};

// Makes the tree in one pass over the tape.
class TreeBuilder {
 public:
  // What becomes of members with the same name.
  enum class Repeats { kLastWins, kReported, kKept };
  TreeBuilder(Arena& arena, const Tape& tape, Repeats repeats) : arena_(arena), tape_(tape), repeats_(repeats) { open_.reserve(16); }

  Value Build() {
    at_ = 1;
    Value root = TakeValue();
    while (!open_.empty()) {
      Container& top = open_.back();
      if (top.filled == top.count) {
        Close();
      } else if (top.members != nullptr) {
        std::string_view name = arena_.Copy(tape_.text(at_++));
        Member* member = new (top.members + top.filled++) Member(name, Value());
        // TakeValue may move the containers; the members stay where they are.
        member->value = TakeValue();
      } else {
        Value* item = top.items + top.filled++;
        *item = TakeValue();
      }
    }
    return root_shrunk_ ? root_ : root;
  }

  std::vector<std::string> TakeDuplicates() {
    std::sort(duplicates_.begin(), duplicates_.end());
    std::vector<std::string> paths;
    for (auto& [at, path] : duplicates_) {
      if (paths.size() == kMaxDuplicates) break;
      if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(std::move(path));
    }
    return paths;
  }

 private:
  // A list or object that is being filled. Exactly one of the pointers is set.
  struct Container {
    Value* items;
    Member* members;
    uint32_t count;
    uint32_t filled;
    size_t start;  // on the tape
  };

  Value TakeValue() {
    size_t at = at_;
    switch (tape_.type(at)) {
      case '{':
        return OpenObject(at);
      case '[':
        return OpenList(at);
      case '"':
        at_ += 1;
        return Value::String(arena_, tape_.text(at));
      case 'l':
        at_ += 2;
        return Value::Int(static_cast<int64_t>(tape_.number(at)));
      case 'u':
        at_ += 2;
        return Value::Double(static_cast<double>(tape_.number(at)));
      case 'd': {
        at_ += 2;
        return Value::Double(std::bit_cast<double>(tape_.number(at)));
      }
      case 't':
        at_ += 1;
        return Value::Bool(true);
      case 'f':
        at_ += 1;
        return Value::Bool(false);
      default:
        at_ += 1;
        return Value::Null();
    }
  }

  Value OpenObject(size_t at) {
    uint32_t count = tape_.Count(at);
    at_ = at + 1;
    if (count == 0) {
      at_ = tape_.after(at);
      return Value::EmptyObject();
    }
    Member* members = arena_.AllocateArray<Member>(count);
    open_.push_back({nullptr, members, count, 0, at});
    return Value::Object({members, count});
  }

  Value OpenList(size_t at) {
    uint32_t count = tape_.Count(at);
    at_ = at + 1;
    if (count == 0) {
      at_ = tape_.after(at);
      return Value::EmptyList();
    }
    Value* items = arena_.AllocateArray<Value>(count);
    open_.push_back({items, nullptr, count, 0, at});
    return Value::List({items, count});
  }

  void Close() {
    Container container = open_.back();
    if (container.members != nullptr && repeats_ != Repeats::kKept && HasDuplicates({container.members, container.count})) {
      uint32_t left = Deduplicate(container);
      Shrink(Value::Object({container.members, left}));
    }
    at_ = tape_.after(container.start);
    open_.pop_back();
  }

  // Objects rarely have many members: comparing sizes first makes the quadratic way the fastest for small ones.
  bool HasDuplicates(std::span<const Member> members) {
    constexpr size_t kFew = 48;
    if (members.size() <= kFew) {
      for (size_t i = 1; i < members.size(); ++i) {
        for (size_t j = 0; j < i; ++j) {
          if (members[i].name_size == members[j].name_size && members[i].name() == members[j].name()) return true;
        }
      }
      return false;
    }
    sorted_.clear();
    for (const Member& member : members) sorted_.push_back(member.name());
    std::sort(sorted_.begin(), sorted_.end());
    return std::adjacent_find(sorted_.begin(), sorted_.end()) != sorted_.end();
  }

  // Keeps, of members with one name, the last value at the first place; returns how many members are left.
  uint32_t Deduplicate(const Container& container) {
    std::vector<uint32_t> order(container.count);
    for (uint32_t i = 0; i < container.count; ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return container.members[a].name() < container.members[b].name();
    });
    std::vector<bool> dropped(container.count);
    for (uint32_t i = 0; i < container.count;) {
      uint32_t first = order[i], end = i + 1;
      while (end < container.count && container.members[order[end]].name() == container.members[first].name()) ++end;
      if (end > i + 1) {
        container.members[first].value = container.members[order[end - 1]].value;
        if (repeats_ == Repeats::kReported) Report(container, order[i + 1]);
        for (uint32_t k = i + 1; k < end; ++k) dropped[order[k]] = true;
      }
      i = end;
    }
    uint32_t left = 0;
    for (uint32_t i = 0; i < container.count; ++i) {
      if (!dropped[i]) container.members[left++] = container.members[i];
    }
    return left;
  }

  void Report(const Container& container, uint32_t index) {
    if (duplicates_.size() >= kMaxDuplicates * 10) return;
    size_t at = container.start + 1;
    for (uint32_t i = 0; i < index; ++i) at = tape_.Next(at + 1);
    // An empty name is a step as well: only the first step of all has no dot in front.
    std::string path;
    for (size_t i = 0; i + 1 < open_.size(); ++i) {
      const Container& outer = open_[i];
      if (outer.members != nullptr) {
        if (i > 0) path += '.';
        path += outer.members[outer.filled - 1].name();
      } else {
        path += "[" + std::to_string(outer.filled - 1) + "]";
      }
    }
    if (open_.size() > 1) path += '.';
    path += container.members[index].name();
    duplicates_.emplace_back(at, std::move(path));
  }

  // Puts the object whose members became fewer into its place: its parent holds it by value.
  void Shrink(Value object) {
    if (open_.size() == 1) {
      root_ = object;
      root_shrunk_ = true;
      return;
    }
    const Container& parent = open_[open_.size() - 2];
    if (parent.members != nullptr) {
      parent.members[parent.filled - 1].value = object;
    } else {
      parent.items[parent.filled - 1] = object;
    }
  }

  Arena& arena_;
  const Tape& tape_;
  Repeats repeats_;
  size_t at_ = 0;
  std::vector<Container> open_;
  std::vector<std::string_view> sorted_;
  std::vector<std::pair<size_t, std::string>> duplicates_;
  Value root_;
  bool root_shrunk_ = false;
};

// simdjson reads whole registers, also behind the end of the text: it is given a copy with room behind.
class Parser {
 public:
  simdjson::error_code Parse(std::string_view text) {
    if (text.size() + simdjson::SIMDJSON_PADDING > room_) {
      room_ = text.size() + simdjson::SIMDJSON_PADDING;
      copy_.reset(new char[room_]);
    }
    if (parser_.capacity() < text.size() || parser_.max_depth() != kParserDepth) {
      if (simdjson::error_code error = parser_.allocate(text.size(), kParserDepth)) return error;
    }
    if (!text.empty()) std::memcpy(copy_.get(), text.data(), text.size());
    std::memset(copy_.get() + text.size(), 0, simdjson::SIMDJSON_PADDING);
    return parser_.parse(copy_.get(), text.size(), false).error();
  }
  const simdjson::dom::document& document() const { return parser_.doc; }

  void GiveBackSurplus() {
    if (room_ <= kKeptCapacity) return;
    room_ = 0;
    copy_.reset();
    parser_ = simdjson::dom::parser();
  }

 private:
  simdjson::dom::parser parser_;
  std::unique_ptr<char[]> copy_;
  size_t room_ = 0;
};

Parser& ThreadParser() {
  thread_local Parser parser;
  return parser;
}

Result<Value> Parse(Arena& arena, std::string_view text, TreeBuilder::Repeats repeats, std::vector<std::string>* duplicate_fields) {
  Parser& parser = ThreadParser();
  simdjson::error_code error = parser.Parse(text);
  if (error != simdjson::SUCCESS) {
    TRY_ASSIGN(std::string mended, internal::MendJson(text, repeats == TreeBuilder::Repeats::kKept));
    error = parser.Parse(mended);
  }
  if (error != simdjson::SUCCESS) {
    parser.GiveBackSurplus();
    return Fail(InternalError(std::string("reading JSON: ") + simdjson::error_message(error)));
  }
  Tape tape(parser.document());
  // No more than a value's size for every word of the tape, and the texts.
  arena.Reserve(tape.words() * sizeof(Value) + text.size());
  TreeBuilder builder(arena, tape, repeats);
  Value root = builder.Build();
  if (duplicate_fields != nullptr) {
    for (std::string& path : builder.TakeDuplicates()) duplicate_fields->push_back(std::move(path));
  }
  parser.GiveBackSurplus();
  return root;
}

}  // namespace

bool IsJson(std::string_view text) {
  Parser& parser = ThreadParser();
  bool is_json = parser.Parse(text) == simdjson::SUCCESS;
  parser.GiveBackSurplus();
  return is_json;
}

Result<Value> ParseJson(Arena& arena, std::string_view text, std::vector<std::string>* duplicate_fields) {
  auto repeats = duplicate_fields != nullptr ? TreeBuilder::Repeats::kReported : TreeBuilder::Repeats::kLastWins;
  return Parse(arena, text, repeats, duplicate_fields);
}

Result<Value> ParseJsonWithRepeats(Arena& arena, std::string_view text) {
  return Parse(arena, text, TreeBuilder::Repeats::kKept, nullptr);
}

bool IsBeyondDoubles(const Status& error) { return error.message().starts_with(internal::kBeyondDoubles); }

Result<std::shared_ptr<Document>> ParseJsonDocument(std::string_view text, std::vector<std::string>* duplicate_fields) {
  auto document = std::make_shared<Document>();
  TRY_ASSIGN(Value root, ParseJson(document->arena(), text, duplicate_fields));
  document->set_root(root);
  return document;
}

}  // namespace homeostat::object
