// Which checks of metadata a kind makes by itself, beside those that every write makes. Upstream's kinds differ in this for no
// reason but their age, and a client sees it: each check that finds a fault adds a cause, so that one bad label can come
// back four times.
#pragma once

#include <string_view>

#include "homeostat/schema/kind.h"

namespace homeostat::kinds {

// One letter a check, in their order: m all of an object's metadata, u what an update may not change (and names and labels
// again), n as m but for generateName; in capitals finalizers must be qualified, too, if they are none of Kubernetes' own. What
// stands after a + is checked after what the kind checks itself, or where it calls CheckRestOfMetadata.
struct MetadataChecks {
  std::string_view create;
  std::string_view update;
  std::string_view part;  // updates of status and other parts
};

// kind: as the client named it. custom: defined by a CustomResourceDefinition. Measured on kube-apiserver 1.36.3.
MetadataChecks MetadataChecksOf(const schema::GroupVersionKind& kind, bool custom);

}  // namespace homeostat::kinds
