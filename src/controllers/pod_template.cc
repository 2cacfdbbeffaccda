#include "controllers/pod_template.h"

#include <string>

#include "controllers/claims.h"
#include "homeostat/object/names.h"

namespace homeostat::controllers {

api::core::v1::PodBuilder PodFromTemplate(const api::core::v1::PodTemplateSpec& tmpl, const schema::Kind& owner_kind, const object::Value& owner) {
  api::core::v1::PodBuilder pod;
  auto metadata = pod.mutable_metadata();
  metadata.set_labels(schema::Subtree(tmpl.metadata().labels()));
  metadata.set_annotations(schema::Subtree(tmpl.metadata().annotations()));
  metadata.set_finalizers(schema::Subtree(tmpl.metadata().finalizers()));
  std::string name(sdk::meta::Name(owner)), prefix = name + "-";
  metadata.set_generate_name(object::NameIsDNSSubdomain(prefix, true).empty() ? prefix : name);
  metadata.set_namespace(sdk::meta::Namespace(owner));
  AddControllerReference(metadata, owner_kind, owner);
  pod.set_spec(schema::Subtree(tmpl.spec()));
  return pod;
}

}  // namespace homeostat::controllers
