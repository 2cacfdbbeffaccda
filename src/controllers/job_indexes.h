// Sets of completion indexes, and the texts they are kept in: "1,3-5,7". Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "homeostat/api/batch/v1.h"

namespace homeostat::controllers {

class IndexSet {
 public:
  IndexSet() = default;
  // What is no number, or not below `limit`, is passed over.
  static IndexSet Parse(std::string_view text, int32_t limit);

  void Add(int32_t index);
  void Add(const IndexSet& other);
  bool Has(int32_t index) const;
  int64_t size() const;
  bool empty() const { return ranges_.empty(); }
  // How many indexes are in both.
  int64_t SizeOfCommon(const IndexSet& other) const;
  // The lowest that are not in it, `count` at most, below `limit`.
  std::vector<int32_t> Missing(size_t count, int32_t limit) const;
  // Two that follow each other with a comma, more with a dash.
  std::string ToString() const;
  bool operator==(const IndexSet&) const = default;

 private:
  void AddRange(int32_t first, int32_t last);
  std::vector<std::pair<int32_t, int32_t>> ranges_;   // ascending, both ends included, none touching the next
};

// The message of the success policy's rule that those indexes meet; nullopt if they meet none.
std::optional<std::string> MetSuccessRule(const api::batch::v1::JobSpec& spec, const IndexSet& succeeded);

}  // namespace homeostat::controllers
