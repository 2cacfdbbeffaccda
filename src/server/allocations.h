// Allocations: which things that there is only once are held (kinds/allocation.h), and the claims of writes under way.
//
// What is held is learnt from the stored objects when the first write asks, and kept up with every write since: all writes of
// this cluster pass here. A pool whose claims are objects of their own (IPAddress) is held by those objects as well.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "server/context.h"

namespace homeostat::server {

// One write's claims. Destroyed before it was committed, it frees what it had reserved, but not the records it had made:
// call Revert for that. Loop only.
class ClaimTransaction : public kinds::Claims {
 public:
  ClaimTransaction(Allocations& allocations, bool dry_run) : allocations_(allocations), dry_run_(dry_run) {}
  ~ClaimTransaction() override;
  ClaimTransaction(const ClaimTransaction&) = delete;
  ClaimTransaction& operator=(const ClaimTransaction&) = delete;

  bool Has(std::string_view pool) const override;
  std::expected<std::string, std::string> Take(std::string_view pool, std::string_view thing) override;
  void GiveBack(std::string_view pool, std::string_view thing) override;

  // Makes the objects that show the claims, just before the holder is stored.
  Task<Result<void>> Record(RequestContext& context, std::string ns, std::string name);
  // The holder is stored: what it gave back is free.
  Task<Result<void>> Commit(RequestContext& context);
  // It is not: what it took is free.
  Task<Result<void>> Revert(RequestContext& context);

 private:
  struct Claim {
    const kinds::Pool* pool;
    std::string thing;
    bool recorded = false;
  };

  Allocations& allocations_;
  bool dry_run_;
  std::vector<Claim> taken_, given_back_;
};

class Allocations {
 public:
  Allocations(Runtime& runtime, const Resources& resources, const kinds::ObjectReader& objects)
      : runtime_(runtime), resources_(resources), objects_(objects) {}

  std::unique_ptr<ClaimTransaction> Begin(bool dry_run);
  // Frees everything that an object held which is gone.
  Task<Result<void>> Release(RequestContext& context, const kinds::Behaviour& behaviour, Value object);

 private:
  friend class ClaimTransaction;

  void Load();
  bool IsTaken(const kinds::Pool& pool, std::string_view thing) const;

  Runtime& runtime_;
  const Resources& resources_;
  const kinds::ObjectReader& objects_;
  bool loaded_ = false;
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> taken_;  // things by pool
};

}  // namespace homeostat::server
