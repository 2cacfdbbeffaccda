#include <algorithm>
#include <optional>

#include "homeostat/object/json.h"
#include "patch/field_set.h"
#include "patch/internal/fields_text.h"
#include "patch/internal/path_element_text.h"
#include "patch/internal/set_builder.h"

namespace homeostat::patch {

using internal::ParsedElement;
using internal::SetBuilder;
using object::Member;

namespace {

constexpr std::string_view kSelf = ".";

class Reader {
 public:
  explicit Reader(Arena& arena) : out_(arena) {}

  struct Level {
    FieldSet children;
    bool member = false;  // the path that leads here is in the set itself
  };

  Result<Level> Read(const Value& fields) {
    if (!fields.IsObject()) {
      if (!fields.IsNull()) return Fail(BadRequestError("expect { or n, but found something else"));
      canonical_ = false;
      return Level{{}, true};
    }
    size_t start = out_.Begin();
    bool member = false, sorted = true;
    for (const Member& field : fields.members()) {
      if (field.name() == kSelf) {
        member = true;
        canonical_ = canonical_ && &field == fields.members().data() && fields.size() > 1 && field.value.IsObject() &&
                     field.value.empty();
        continue;
      }
      PathElement element;
      if (field.name().starts_with("f:")) {
        element = PathElement::Field(field.name().substr(2));
      } else {
        TRY_ASSIGN(std::optional<ParsedElement> step, internal::ParsePathElement(out_.arena(), field.name()));
        canonical_ = canonical_ && step && step->canonical;
        if (!step) continue;
        element = step->element;
      }
      Level below{{}, true};
      if (bool leaf = field.value.IsObject() && field.value.empty(); !leaf) {
        TRY_ASSIGN(below, Read(field.value));
      }
      sorted = sorted && (out_.Begin() == start || out_.Last().element < element);
      out_.Push({element, below.children, below.member});
    }
    Level level{sorted ? out_.End(start) : UnionFrom(start), member};
    if (level.children.empty()) {
      canonical_ = canonical_ && fields.empty();
      level.member = true;
    }
    return level;
  }

  bool canonical() const { return canonical_; }

 private:
  // Steps may come in any order and more than once; the sets of equal ones are put together.
  FieldSet UnionFrom(size_t start) {
    canonical_ = false;
    FieldSet all;
    for (const FieldSet::Entry& entry : out_.TakeFrom(start)) {
      auto* one = out_.arena().AllocateArray<FieldSet::Entry>(1);
      std::uninitialized_copy_n(&entry, 1, one);
      all = Union(out_.arena(), all, FieldSet(std::span<const FieldSet::Entry>(one, 1)));
    }
    return all;
  }

  SetBuilder out_;
  bool canonical_ = true;
};

class Writer {
 public:
  explicit Writer(Arena& arena) : arena_(arena) {}

  Value Write(const FieldSet& set, bool self) {
    if (set.empty()) return Value::EmptyObject();
    std::span<const FieldSet::Entry> entries = set.entries();
    Member* members = arena_.AllocateArray<Member>(entries.size() + self);
    Member* next = members;
    if (self) *next++ = Member(kSelf, Value::EmptyObject());
    for (const FieldSet::Entry& entry : entries)
      *next++ = Member(Name(entry.element), Write(entry.children, entry.member));
    return Value::Object({members, entries.size() + self});
  }

 private:
  std::string_view Name(const PathElement& element) {
    if (element.IsField()) {
      std::string_view name = element.name();
      char* text = arena_.AllocateArray<char>(name.size() + 2);
      text[0] = 'f';
      text[1] = ':';
      std::copy(name.begin(), name.end(), text + 2);
      return {text, name.size() + 2};
    }
    text_.clear();
    internal::AppendPathElement(text_, element);
    return arena_.Copy(text_);
  }

  Arena& arena_;
  std::string text_;
};

}  // namespace

Result<FieldSet> ReadFieldsV1(Arena& arena, const Value& fields, bool* canonical) {
  Value tree = fields;
  if (fields.IsAbsent()) {
    tree = Value::EmptyObject();
  } else if (fields.IsBytes()) {
    if (std::optional<FieldSet> read = internal::ReadPlainFieldsText(arena, fields.AsString())) {
      if (canonical) *canonical = true;
      return *read;
    }
    TRY_ASSIGN(tree, object::ParseJson(arena, fields.AsString()));
  }
  Reader reader(arena);
  TRY_ASSIGN(Reader::Level root, reader.Read(tree));
  if (canonical) *canonical = reader.canonical() && tree.IsObject() && (tree.empty() || !root.member) && !fields.IsAbsent();
  return root.children;
}

Value WriteFieldsV1(Arena& arena, const FieldSet& set) { return Writer(arena).Write(set, false); }

}  // namespace homeostat::patch
