// ControllerRevisions: the templates that DaemonSets and StatefulSets have had, as `kubectl rollout history` shows them and
// `kubectl rollout undo` brings them back. Pure.
//
// What a revision holds is a patch: {"spec":{"template":{"$patch":"replace", …the template… }}}, its names sorted.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/api/apps/v1_builders.h"
#include "homeostat/base/result.h"
#include "homeostat/sdk/object.h"

namespace homeostat::controllers {

using Revision = sdk::Object<api::apps::v1::ControllerRevision>;

// The label by which pods name the revision they were made from: of a DaemonSet by its hash, of a StatefulSet by its name.
inline constexpr std::string_view kRevisionHashLabel = "controller-revision-hash";

std::string RevisionPatch(const api::core::v1::PodTemplateSpec& tmpl);
// The hash of a patch and a number of collisions (FNV-1, as upstream's history package takes it), in letters that spell nothing.
std::string RevisionHash(std::string_view patch, int32_t collisions);
// The template that a revision holds, typed. BadRequest if it holds none.
Result<object::OwnedValue> TemplateOf(const api::apps::v1::ControllerRevision& revision);
// Whether the revision brings back that template.
bool HoldsTemplate(const api::apps::v1::ControllerRevision& revision, const api::core::v1::PodTemplateSpec& tmpl);
// By revision, then by age, then by name.
void SortRevisions(std::vector<Revision>& revisions);
// The highest revision; 0 if there is none.
int64_t NewestRevision(const std::vector<Revision>& revisions);

// A revision of the owner's: it has the annotations of the owner and the labels of the template with `hash_label` set to `hash`.
object::DocumentPtr NewRevision(const object::Value& owner, const schema::Kind& owner_kind, const api::core::v1::PodTemplateSpec& tmpl,
                                std::string_view hash_label, std::string_view hash, int64_t number);

}  // namespace homeostat::controllers
