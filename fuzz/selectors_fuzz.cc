// Label and field selectors and JSONPath: reading ends, and a label selector's text reads as the same selector.
#include <cstdlib>
#include <string_view>

#include "homeostat/object/json.h"
#include "homeostat/object/jsonpath.h"
#include "homeostat/object/selectors.h"

using namespace homeostat::object;  // NOLINT: a program of one file

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  static const auto document =
      *ParseJsonDocument(R"({"a":"b","items":[{"a":1,"b":[{"a":"x"}]},{"a":2.5}],"metadata":{"name":"a"}})");
  if (auto labels = LabelSelector::Parse(text)) {
    auto back = LabelSelector::Parse(labels->ToString());
    if (!back || *back != *labels) std::abort();
    labels->Matches(document->root());
  }
  if (auto fields = FieldSelector::Parse(text)) {
    // Escapes are meant for values: in names they stay, and do not read back.
    bool escapes = text.find('\\') != text.npos;
    auto back = FieldSelector::Parse(fields->ToString());
    if (!escapes && (!back || back->requirements().size() != fields->requirements().size())) std::abort();
    fields->Matches(document->root());
  }
  if (auto path = JsonPath::Parse(text)) (void)path->Evaluate(document->root());
  return 0;
}
