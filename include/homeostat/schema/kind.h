// Kind: everything the server must know of one kind in one version that is not in its fields: names, verbs,
// subresources, columns, and the rules of create, update and delete that differ between kinds. All of it data.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/schema/type.h"

namespace homeostat::object {
class Value;
}

namespace homeostat::schema {

struct GroupVersionKind {
  std::string_view group, version, kind;
  // apiVersion as objects carry it: "apps/v1", or "v1" for the core group.
  std::string ApiVersion() const {
    return group.empty() ? std::string(version) : std::string(group) + "/" + std::string(version);
  }
  bool operator==(const GroupVersionKind&) const = default;
};

enum Verb : uint32_t {
  kGet = 1u << 0, kList = 1u << 1, kWatch = 1u << 2, kCreate = 1u << 3, kUpdate = 1u << 4,
  kPatch = 1u << 5, kDelete = 1u << 6, kDeleteCollection = 1u << 7,
};

struct Subresource {
  std::string_view name;                 // status, scale, binding …
  GroupVersionKind kind;                 // what is sent or answered; group and version may differ from the parent's
  uint32_t verbs = 0;
  // scale only: where the numbers stand in the parent, as dotted paths.
  std::string_view spec_replicas_path, status_replicas_path;
  std::string_view selector_path;        // a LabelSelector, a map of labels, or a selector's text
  std::string_view feature_gate;         // served only with this gate
};

// The first fields of every built-in kind, and where they stand.
inline constexpr uint16_t kKindField = 0, kApiVersionField = 1, kMetadataField = 2;

// A column of a Table. How its cells are made:
//   path alone           the scalar at that path (a JSONPath without braces); of a built-in kind, an absent one counts as the
//                        zero value of its type (0, false, "")
//   path with cell       that value, or the list or map there, by a generic function:
//                        text             as text, also numbers and booleans (True, False)
//                        age              the time since then, as people read it: 5m12s
//                        count            number of items or entries; of several paths, comma separated, their sum
//                        join             the items of a list of strings, comma separated
//                        labels           the entries of a map: a=b,c=d; <none> if there are none
//                        selector         a LabelSelector as text; <none> if it is empty
//                        container_names, container_images   of a list of containers, comma separated
//   cell without path    made by the kind's behaviour, under that name
struct Column {
  std::string_view name, type, format, description;  // without a name: rows have the cell, but no definition tells of it
  int32_t priority = 0;
  std::string_view path;
  std::string_view cell;
  std::string_view fallback;  // shown instead of an absent or empty value, e.g. <none>
};

// What bumps metadata.generation on update (strategies.tsv).
enum class GenerationRule : uint8_t {
  kNone,              // the kind keeps none
  kSpec,              // the spec changed
  kSpecOrAnnotations, // … or annotations did (Deployment)
  kAnyButMetadataAndStatus,
  kAsSent,            // stored as the client sent it
  kAlwaysOne,         // 1 at creation, never raised
  kAnyButMetadata,    // anything outside metadata changed, in a write that can change status also that
  kAnyButMetadataOrLabels,  // anything outside metadata changed, or labels did (EndpointSlice)
};

enum class CollectDefault : uint8_t { kBackground, kOrphan, kUnsupported };

class FieldErrors;

// Rules of a kind that are written as expressions in its definition.
class ObjectRules {
 public:
  virtual ~ObjectRules() = default;
  // Adds what an object breaks; `old` is absent on create. Faults of parts that did not change become warnings, if there is
  // a place for them. Thread-safe.
  virtual void Check(const object::Value& object, const object::Value& old, std::vector<std::string>* warnings,
                     FieldErrors& errors) const = 0;
};

struct Kind {
  GroupVersionKind gvk;
  std::string_view plural, singular, list_kind;
  std::span<const std::string_view> short_names, categories;
  bool namespaced = true;
  uint32_t verbs = 0;
  const Type* type = nullptr;
  const Type* list_type = nullptr;        // of list_kind; null for kinds that can't be listed
  std::span<const Subresource> subresources;
  std::span<const Column> columns;
  std::string_view storage_version;       // version that is written to the store
  std::string_view storage_version_hash;  // as discovery shows it
  std::string_view storage_prefix;        // under /registry/, e.g. deployments or services/specs
  // Beyond metadata.name and metadata.namespace: a path, or "label=path" where the accepted label isn't the path.
  std::span<const std::string_view> selectable_fields;
  std::string_view feature_gate;          // served only with this gate
  bool served_by_default = true;
  // Version numbers of Kubernetes ("1.22") and what to use instead, for the Warning header; empty if not deprecated.
  std::string_view introduced, deprecated, removed, replacement;
  std::string_view deprecation_warning;   // the whole text, where it is no version of Kubernetes that deprecates it

  // Rules of writing.
  const ObjectRules* rules = nullptr;     // null for none
  bool has_status = false;                // status is a subresource: ignored in other writes, wiped at creation
  bool status_at_creation = false;        // … except that a create keeps what was sent
  bool create_on_update = false;          // PUT of a missing name creates
  bool unconditional_update = true;       // PUT without a resourceVersion is accepted
  bool graceful_deletion = false;         // DELETE marks first; someone finishes it
  bool delete_returns_object = false;     // DELETE answers with the object even when it is gone at once
  bool virtual_kind = false;              // answered, never stored (reviews)
  GenerationRule generation = GenerationRule::kNone;
  CollectDefault collect_default = CollectDefault::kBackground;
  // Field paths that server-side apply never records for a write to the main resource; and "subresource:path,path" for those of subresources;
  // "subresource:only path,path" names the only ones it does record (`*` being any item). Read by patch::ResetFields.
  std::span<const std::string_view> reset_fields;
  // Paths that a write of the status subresource takes from the stored object.
  std::span<const std::string_view> status_keeps;
  bool status_writes_only_status = false; // … and this: everything else, but for managed fields

  const Subresource* FindSubresource(std::string_view name) const {
    for (const Subresource& sub : subresources) if (sub.name == name) return &sub;
    return nullptr;
  }
  bool Allows(Verb verb) const { return (verbs & verb) != 0; }
};

}  // namespace homeostat::schema
