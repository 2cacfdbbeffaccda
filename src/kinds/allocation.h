// Things of which a cluster has each only once, and which objects hold while they live: addresses and ports of services.
//
// A behaviour says what an object needs (allocate) and what it holds (holds); pools say what there is; the server brings the
// two together inside a write: what is taken is reserved at once, so that two writes at a time never get the same, and
// given back if the write fails, or when the object that held it is gone.
#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "homeostat/base/runtime.h"
#include "homeostat/object/value.h"

namespace homeostat::kinds {

class ObjectReader;

// The claims of one write. Not to be kept beyond it.
class Claims {
 public:
  virtual ~Claims() = default;
  // Whether the cluster has such a pool at all (a family of addresses it isn't configured for).
  virtual bool Has(std::string_view pool) const = 0;
  // Reserves something, "" for anything. An error is the text that clients know, see Pool.
  virtual std::expected<std::string, std::string> Take(std::string_view pool, std::string_view thing) = 0;
  // Frees something that the object held before, once the write is stored.
  virtual void GiveBack(std::string_view pool, std::string_view thing) = 0;
};

inline constexpr std::string_view kPoolIsFull = "range is full";

// One sort of things. Stateless: which are taken is the server's to know.
class Pool {
 public:
  virtual ~Pool() = default;
  virtual std::string_view name() const = 0;
  virtual bool Exists(const ObjectReader& objects) const = 0;
  // Anything that isn't taken; nullopt if everything is.
  virtual std::optional<std::string> Pick(const ObjectReader& objects, Runtime& runtime,
                                          const std::function<bool(std::string_view thing)>& is_taken) const = 0;
  // Why it can't be taken by anybody; "" if it can.
  virtual std::string Refusal(const ObjectReader& objects, std::string_view thing) const = 0;
  // The same for a write that is not stored, where upstream looks at less.
  virtual std::string RefusalOfDryRun(const ObjectReader& objects, std::string_view thing) const { return Refusal(objects, thing); }
  // What a client is told when it is taken.
  virtual std::string_view taken_text() const = 0;

  // An object that shows the claim to everybody, for pools that have one; made before the holder is stored and removed with
  // the claim. Empty plural: there is none.
  struct Record {
    std::string_view group, version, kind, plural;
  };
  virtual Record record() const { return {}; }
  virtual object::Value MakeRecord(object::Arena&, std::string_view /*thing*/, std::string_view /*holder_namespace*/,
                                   std::string_view /*holder_name*/) const { return {}; }
};

}  // namespace homeostat::kinds
