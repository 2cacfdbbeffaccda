// Claims: which objects belong to a controlling owner, by its selector and their controller references; taking orphans in
// and letting go of those that no longer fit. The same for every owner and every kind owned.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/result.h"
#include "homeostat/object/selectors.h"
#include "homeostat/sdk/client.h"
#include "homeostat/sdk/informer.h"

namespace homeostat::controllers {

// Objects by their controller's uid; those without one by "orphan/" and their namespace.
inline constexpr std::string_view kControllerIndex = "controller";
void AddControllerIndex(sdk::Informer& informer);
// What is the owner's, and what is nobody's in its namespace.
std::vector<object::DocumentPtr> OwnedBy(const sdk::Informer& informer, const object::Value& owner);
std::vector<object::DocumentPtr> OrphansIn(const sdk::Informer& informer, std::string_view ns);
// Both together.
std::vector<object::DocumentPtr> Candidates(const sdk::Informer& informer, const object::Value& owner);

// What becomes of a candidate:
//
//   its controller is…   | fits the selector          | owner stays         | owner is being deleted
//   ---------------------|----------------------------|---------------------|-----------------------
//   the owner            | yes                        | keep                | keep
//   the owner            | no                         | release             | ignore
//   nobody               | yes, and isn't deleted     | adopt               | ignore
//   anything else        |                            | ignore              | ignore
enum class ClaimStep { kKeep, kAdopt, kRelease, kIgnore };
ClaimStep DecideClaim(const object::Value& owner, const object::LabelSelector& selector, const object::Value& candidate);

struct ClaimTarget {
  const schema::Kind* owner_kind;
  object::DocumentPtr owner;
  object::LabelSelector selector;
  const schema::Kind* kind;             // of the candidates
  std::string finalizer = {};           // put on what is adopted, taken off what is let go of; none if empty
};
// Adopts and releases. Completes with what is the owner's afterwards, in the order of the candidates. Before it adopts
// anything it asks the server whether the owner is still there. All candidates are tried; the first error is the result.
Task<Result<std::vector<object::DocumentPtr>>> ClaimObjects(sdk::Client client, ClaimTarget target,
                                                           std::vector<object::DocumentPtr> candidates);

// The owner named by the object's controller reference, if it is of that kind and the informer has it with that uid.
object::DocumentPtr ResolveController(const sdk::Informer& owners, const object::Value& object);

// How an owner says what is to be its own; where its spec.selector is a LabelSelector, SpecSelector.
using SelectorFunction = std::function<Result<object::LabelSelector>(const object::Value& owner)>;
Result<object::LabelSelector> SpecSelector(const object::Value& owner);
// The keys of the owners that the change of an object concerns: whose it is or was, and who may adopt it now.
std::vector<std::string> OwnersConcerned(const sdk::Informer& owners, const sdk::Change& change, const SelectorFunction& selector_of);

// An owner reference of the controlling kind, for builders of ObjectMeta.
template <class MetadataBuilder>
void AddControllerReference(MetadataBuilder& metadata, const schema::Kind& kind, const object::Value& owner) {
  auto reference = metadata.add_owner_references();
  reference.set_api_version(kind.gvk.ApiVersion()).set_kind(kind.gvk.kind);
  reference.set_name(sdk::meta::Name(owner)).set_uid(sdk::meta::Uid(owner)).set_controller(true).set_block_owner_deletion(true);
}

}  // namespace homeostat::controllers
