// Quantities: the canonical text is the same number, and arithmetic holds its laws.
#include <cstdlib>
#include <string>
#include <string_view>

#include "homeostat/object/quantity.h"

using namespace homeostat::object;  // NOLINT: a program of one file

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  size_t bar = text.find('|');
  auto a = Quantity::Parse(text.substr(0, bar));
  if (!a || size > 900) return 0;  // longer numbers may have more digits, written out, than are read
  a->Value();
  a->MilliValue();
  a->AsApproximateDouble();
  std::string canonical = a->ToString();
  if (!Quantity::Parse(canonical)) std::abort();
  auto b = bar == text.npos ? a : Quantity::Parse(text.substr(bar + 1));
  if (!b) return 0;
  int order = a->Compare(*b);
  if (order != -b->Compare(*a) || a->Compare(*a) != 0) std::abort();
  Quantity sum = *a, other_way = *b;
  sum.Add(*b);
  other_way.Add(*a);
  if (sum.Compare(other_way) != 0) std::abort();
  sum.Mul(1234567);
  sum.RoundUp(0);
  sum.ToString();
  return 0;
}
