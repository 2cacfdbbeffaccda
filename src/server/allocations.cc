#include "server/allocations.h"

#include "kinds/behaviours.h"
#include "server/metadata.h"
#include "server/object_store.h"

namespace homeostat::server {
namespace {

bool HasRecord(const kinds::Pool& pool) { return !pool.record().plural.empty(); }

Task<Result<void>> MakeRecord(RequestContext& context, const kinds::Pool& pool, std::string thing, std::string ns, std::string name) {
  const Resource* resource = context.parts.resources.FindAny(pool.record().group, pool.record().plural);
  if (resource == nullptr) co_return Result<void>();
  const schema::Kind& kind = *resource->storage;
  object::Document work;
  Value record = pool.MakeRecord(work.arena(), thing, ns, name);
  record = FillSystemFields(work.arena(), context.runtime(), *kind.type, record);
  CO_TRY_ASSIGN(Bytes bytes, EncodeStored(work.arena(), kind, record, false));
  store::Write write{StorageKey(kind, "", thing), std::move(bytes), store::Expectation::Absent(), MakeWriteInfo(context, "")};
  auto commit = CommitWrite(context, kind, "create", std::move(write));
  CO_TRY_ASSIGN(cache::CommitResult result, co_await std::move(commit));
  if (!result.committed) co_return Fail(AlreadyExistsError(kind.gvk.group, kind.plural, thing));
  co_return Result<void>();
}

Task<Result<void>> RemoveRecord(RequestContext& context, const kinds::Pool& pool, std::string thing) {
  const Resource* resource = context.parts.resources.FindAny(pool.record().group, pool.record().plural);
  if (resource == nullptr) co_return Result<void>();
  cache::EntryPtr entry = context.parts.cache.Get(StorageKey(*resource->storage, "", thing));
  if (!entry) co_return Result<void>();
  // Somebody who changes it meanwhile is somebody who wants it: it stays, and a controller sees to it.
  auto removal = StoreRemoval(context, *resource->storage, *entry, MakeWriteInfo(context, ""));
  auto removed = co_await std::move(removal);
  if (!removed) co_return Fail(removed.error());
  co_return Result<void>();
}

}  // namespace

ClaimTransaction::~ClaimTransaction() {
  for (const Claim& claim : taken_) allocations_.taken_[std::string(claim.pool->name())].erase(claim.thing);
}

bool ClaimTransaction::Has(std::string_view pool) const {
  const kinds::Pool* known = kinds::FindPool(pool);
  return known != nullptr && known->Exists(allocations_.objects_);
}

std::expected<std::string, std::string> ClaimTransaction::Take(std::string_view pool_name, std::string_view thing) {
  const kinds::Pool* pool = kinds::FindPool(pool_name);
  if (pool == nullptr) return std::unexpected("there is no " + std::string(pool_name));
  std::string chosen(thing);
  if (thing.empty()) {
    auto picked = pool->Pick(allocations_.objects_, allocations_.runtime_,
                             [&](std::string_view candidate) { return allocations_.IsTaken(*pool, candidate); });
    if (!picked) return std::unexpected(std::string(kinds::kPoolIsFull));
    chosen = *std::move(picked);
  } else {
    std::string refusal = dry_run_ ? pool->RefusalOfDryRun(allocations_.objects_, thing) : pool->Refusal(allocations_.objects_, thing);
    if (!refusal.empty()) return std::unexpected(refusal);
    if (allocations_.IsTaken(*pool, thing)) return std::unexpected(std::string(pool->taken_text()));
  }
  allocations_.taken_[std::string(pool_name)].insert(chosen);
  taken_.push_back({pool, chosen});
  return chosen;
}

void ClaimTransaction::GiveBack(std::string_view pool, std::string_view thing) {
  if (const kinds::Pool* known = kinds::FindPool(pool)) given_back_.push_back({known, std::string(thing)});
}

Task<Result<void>> ClaimTransaction::Record(RequestContext& context, std::string ns, std::string name) {
  if (dry_run_) co_return Result<void>();
  for (Claim& claim : taken_) {
    if (!HasRecord(*claim.pool)) continue;
    auto make = MakeRecord(context, *claim.pool, claim.thing, ns, name);
    CO_TRY(co_await std::move(make));
    claim.recorded = true;
  }
  co_return Result<void>();
}

Task<Result<void>> ClaimTransaction::Commit(RequestContext& context) {
  if (dry_run_) co_return Result<void>();
  taken_.clear();
  std::vector<Claim> freed = std::move(given_back_);
  for (const Claim& claim : freed) {
    if (HasRecord(*claim.pool)) {
      auto remove = RemoveRecord(context, *claim.pool, claim.thing);
      CO_TRY(co_await std::move(remove));
    }
    allocations_.taken_[std::string(claim.pool->name())].erase(claim.thing);
  }
  co_return Result<void>();
}

Task<Result<void>> ClaimTransaction::Revert(RequestContext& context) {
  std::vector<Claim> reserved = std::move(taken_);
  taken_.clear();
  given_back_.clear();
  for (const Claim& claim : reserved) {
    if (claim.recorded) {
      auto remove = RemoveRecord(context, *claim.pool, claim.thing);
      CO_TRY(co_await std::move(remove));
    }
    allocations_.taken_[std::string(claim.pool->name())].erase(claim.thing);
  }
  co_return Result<void>();
}

std::unique_ptr<ClaimTransaction> Allocations::Begin(bool dry_run) {
  Load();
  return std::make_unique<ClaimTransaction>(*this, dry_run);
}

Task<Result<void>> Allocations::Release(RequestContext& context, const kinds::Behaviour& behaviour, Value object) {
  if (behaviour.holds == nullptr) co_return Result<void>();
  std::unique_ptr<ClaimTransaction> claims = Begin(false);
  ClaimTransaction* transaction = claims.get();
  behaviour.holds(object, [transaction](std::string_view pool, std::string_view thing) { transaction->GiveBack(pool, thing); });
  auto commit = claims->Commit(context);
  co_return co_await std::move(commit);
}

void Allocations::Load() {
  if (std::exchange(loaded_, true)) return;
  for (const Resource* resource : resources_.All()) {
    if (resource->kind != resource->storage || resource->behaviour->holds == nullptr) continue;
    for (const object::DocumentPtr& document : objects_.List(resource->storage->gvk.group, resource->storage->plural, "")) {
      resource->behaviour->holds(document->root(), [this](std::string_view pool, std::string_view thing) {
        taken_[std::string(pool)].emplace(thing);
      });
    }
  }
}

bool Allocations::IsTaken(const kinds::Pool& pool, std::string_view thing) const {
  auto held = taken_.find(pool.name());
  if (held != taken_.end() && held->second.contains(thing)) return true;
  return HasRecord(pool) && objects_.Get(pool.record().group, pool.record().plural, "", thing) != nullptr;
}

}  // namespace homeostat::server
