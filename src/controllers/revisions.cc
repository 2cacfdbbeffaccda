#include "controllers/revisions.h"

#include <algorithm>

#include "controllers/claims.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"
#include "homeostat/schema/diff.h"
#include "homeostat/schema/json_encoder.h"

namespace homeostat::controllers {

using api::apps::v1::ControllerRevision;
using api::apps::v1::ControllerRevisionBuilder;
using api::core::v1::PodTemplateSpec;
using object::Value;

namespace {

constexpr std::string_view kPatchMember = "$patch";
constexpr std::string_view kSafeAlphabet = "bcdfghjklmnpqrstvwxz2456789";
// Of the owner's name in the name of a revision.
constexpr size_t kNamePrefix = 223;

}  // namespace

std::string RevisionPatch(const PodTemplateSpec& tmpl) {
  object::Arena arena;
  object::ObjectBuilder inner(arena, schema::ToJsonForm(arena, PodTemplateSpec::SchemaType(), tmpl.Raw()));
  inner.Set(kPatchMember, Value::StringRef("replace"));
  std::string text;
  // A template that came from a server has no numbers that JSON can't say.
  auto written = object::AppendJson(text, inner.Build(), {.sort_names = true});
  if (!written) return {};
  return "{\"spec\":{\"template\":" + text + "}}";
}

std::string RevisionHash(std::string_view patch, int32_t collisions) {
  std::string text = std::string(patch) + std::to_string(collisions);
  uint32_t hash = 2166136261u;
  for (unsigned char c : text) hash = (hash * 16777619u) ^ c;
  std::string name;
  for (char digit : std::to_string(hash)) name.push_back(kSafeAlphabet[static_cast<unsigned char>(digit) % kSafeAlphabet.size()]);
  return name;
}

Result<object::OwnedValue> TemplateOf(const ControllerRevision& revision) {
  Value held = revision.data().Path({"spec", "template"});
  if (!held.IsObject()) return Fail(BadRequestError("the revision " + std::string(revision.metadata().name()) + " holds no template"));
  auto document = std::make_shared<object::Document>();
  // The revision's tree need not outlive the template.
  object::ObjectBuilder plain(document->arena(), object::DeepCopy(document->arena(), held));
  plain.Erase(kPatchMember);
  schema::ConformReport report;
  report.collect = false;
  TRY_ASSIGN(Value typed, schema::Conform(document->arena(), plain.Build(), PodTemplateSpec::SchemaType(), report));
  document->set_root(typed);
  return object::OwnedValue{document, typed};
}

bool HoldsTemplate(const ControllerRevision& revision, const PodTemplateSpec& tmpl) {
  auto held = TemplateOf(revision);
  return held && schema::IsEqual(PodTemplateSpec::SchemaType(), held->value, tmpl.Raw());
}

void SortRevisions(std::vector<Revision>& revisions) {
  std::ranges::sort(revisions, [](const Revision& a, const Revision& b) {
    if (a->revision() != b->revision()) return a->revision() < b->revision();
    std::string_view x = a->metadata().creation_timestamp(), y = b->metadata().creation_timestamp();
    return x != y ? x < y : a->metadata().name() < b->metadata().name();
  });
}

int64_t NewestRevision(const std::vector<Revision>& revisions) {
  int64_t newest = 0;
  for (const Revision& revision : revisions) newest = std::max(newest, revision->revision());
  return newest;
}

object::DocumentPtr NewRevision(const Value& owner, const schema::Kind& owner_kind, const PodTemplateSpec& tmpl, std::string_view hash_label,
                                std::string_view hash, int64_t number) {
  ControllerRevisionBuilder revision;
  auto metadata = revision.mutable_metadata();
  metadata.set_name(std::string(sdk::meta::Name(owner).substr(0, kNamePrefix)) + "-" + std::string(hash));
  metadata.set_namespace(sdk::meta::Namespace(owner));
  metadata.set_labels(schema::Subtree(tmpl.metadata().labels()));
  metadata.set_labels(hash_label, hash);
  if (Value annotations = sdk::meta::Annotations(owner)) metadata.set_annotations(schema::Subtree(annotations));
  AddControllerReference(metadata, owner_kind, owner);
  if (auto data = object::ParseJsonDocument(RevisionPatch(tmpl))) revision.set_data(schema::Subtree(object::DocumentPtr(*data)));
  revision.set_revision(number);
  return revision.Freeze();
}

}  // namespace homeostat::controllers
