// Field sets: two of them as FieldsV1, one a line. The algebra of sets holds, and what is written reads as the same
// set.
#include "json_input.h"
#include "patch/field_set.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace homeostat;
  using namespace homeostat::patch;
  object::Arena arena;
  auto values = fuzz::JsonLines(arena, data, size);
  if (!values || values->size() != 2) return 0;
  auto first = ReadFieldsV1(arena, (*values)[0]), second = ReadFieldsV1(arena, (*values)[1]);
  if (!first || !second) return 0;
  FieldSet a = *first, b = *second;
  FieldSet both = Union(arena, a, b), shared = Intersection(arena, a, b), rest = Difference(arena, a, b);
  fuzz::Require(Equal(both, Union(arena, b, a)), "a or b is b or a");
  fuzz::Require(Equal(shared, Intersection(arena, b, a)), "a and b is b and a");
  fuzz::Require(Equal(Union(arena, rest, shared), a), "a without b, and a and b, are a");
  fuzz::Require(Intersection(arena, rest, b).empty(), "a without b has nothing of b");
  fuzz::Require(both.Size() + shared.Size() == a.Size() + b.Size(), "sizes add up");
  fuzz::Require(Difference(arena, RecursiveDifference(arena, a, b), rest).empty(),
                "the recursive difference is no larger");
  both.ForEach([&](PathView path) { fuzz::Require(a.Has(path) || b.Has(path), "each path is of a or b"); });
  bool canonical = false;
  Value written = WriteFieldsV1(arena, both);
  auto again = ReadFieldsV1(arena, written, &canonical);
  fuzz::Require(again && Equal(*again, both), "what is written reads the same");
  fuzz::Require(object::JsonText(WriteFieldsV1(arena, *again)) == object::JsonText(written), "and is written the same");
  Value text = WriteFieldsV1Text(arena, both);
  fuzz::Require(text.AsString() == object::JsonText(written), "as text it is the tree's");
  auto of_text = ReadFieldsV1(arena, text, &canonical);
  fuzz::Require(of_text && Equal(*of_text, both), "and reads the same");
  // Any text at all.
  std::string_view line(reinterpret_cast<const char*>(data), size);
  line = line.substr(0, line.find('\n'));
  auto raw = ReadFieldsV1(arena, Value::BytesRef(line));
  fuzz::Require(raw && Equal(*raw, a), "a text is the same set as its tree");
  return 0;
}
