// Charge: whether a write fits into the quotas of its namespace, and what is used of them afterwards.
// Source of the rules: CheckRequest of apiserver's admission/plugin/resourcequota.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <vector>

#include "quota/evaluator.h"

namespace homeostat::quota {

// A quota and its use as they stand, or would stand after writes that are being decided on.
struct Balance {
  object::DocumentPtr document;   // the ResourceQuota as it was read
  std::string name;
  std::vector<ScopeRequirement> scopes;  // views of the document
  Amounts hard, used;             // of its status
  bool changed = false;           // used differs from the document's
};

Balance ReadBalance(object::DocumentPtr quota);

// Charges all balances, or says why the write is refused: then none has changed.
std::expected<void, std::string> Charge(std::span<Balance> balances, const Evaluator& evaluator, const Attempt& attempt,
                                        const Surroundings& around);

}  // namespace homeostat::quota
