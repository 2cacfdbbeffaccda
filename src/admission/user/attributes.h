// Attributes: one write as policies and webhooks see it: the resource and kind that the client named, the equivalent ones, and
// the objects in each of these versions.
//
// Source of the rules: apiserver's admission.Attributes, conversion.go, runtime.EquivalentResourceRegistry; the handlers that make
// the attributes (a write of a namespace is in the namespace of that name).
#pragma once

#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "admission/admission.h"
#include "admission/user/served_kinds.h"

namespace homeostat::admission {

// Upstream's GroupVersionResource.
struct ResourceName {
  std::string_view group, version, resource;
  bool operator==(const ResourceName&) const = default;
};

// A resource in one version, and the kind that is sent to it or to its subresource.
struct Place {
  ResourceName resource;
  schema::GroupVersionKind kind;
  const schema::Kind* resource_kind = nullptr;  // of the resource itself
  const schema::Type* type = nullptr;           // of `kind`; null: nothing is sent there that has a type
};

// The objects in the version of a place: JSON form, with apiVersion and kind. Absent where there is none.
struct VersionedObjects {
  object::Value object, old_object;
  object::Value request;  // the AdmissionRequest that expressions see as `request`, without the objects
};

// A typed value of that kind as clients see it: JSON form, with apiVersion and kind.
object::Value JsonFormOf(object::Arena& arena, const schema::Type& type, const schema::GroupVersionKind& kind, const object::Value& typed);

// For one request and no longer: holds references. What it makes lives in the request's arena. Loop only.
class Attributes {
 public:
  Attributes(const Request& request, const ServedKinds& served);
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  const Request& request() const { return request_; }
  const ServedKinds& served() const { return served_; }
  // As the client named it.
  const Place& place() const { return place_; }
  std::string_view subresource() const { return subresource_; }
  // Of a namespace its own name.
  std::string_view ns() const { return ns_; }
  std::string_view name() const { return request_.name; }
  std::string_view operation() const { return OperationName(request_.operation); }
  bool is_namespace_object() const { return place_.kind == schema::GroupVersionKind{"", "v1", "Namespace"}; }

  // Whether what is sent to the place is an object of the resource that is written to, and no part of it or an action on it.
  bool IsOfResource(const Place& place) const;
  // The other places at which the same request could have been made, in their order of preference; kept with the attributes.
  const std::deque<Place>& equivalents();

  // Has what only a webhook converts ready for In. The place must be one of this class's.
  Task<Result<void>> Prepare(const Place& place);
  // Made once a place. The place must be one of this class's.
  Result<VersionedObjects> In(const Place& place);

  // The same with another object in the place of the request's, in JSON form: what an earlier policy made of it.
  void SetObject(const Place& place, const object::Value& object);

 private:
  Place PlaceAt(const schema::Kind& kind) const;
  Result<object::Value> VersionOf(const object::Value& object, const Place& place) const;
  object::Value RequestValue(const Place& place) const;

  const Request& request_;
  const ServedKinds& served_;
  Place place_;
  std::string_view subresource_, ns_;
  std::optional<std::deque<Place>> equivalents_;
  std::vector<std::pair<const Place*, VersionedObjects>> versions_;
};

// Whether the write is to a configuration of admission itself: nobody is to lock himself out. Webhooks see none of these
// (webhooks, policies, bindings); policies see no policies and no bindings.
bool IsHiddenFromWebhooks(const Request& request);
bool IsHiddenFromPolicies(const Request& request);
// Whether policies leave it alone because a cluster that refuses it is broken: reviews of who somebody is and what he may do.
bool IsReviewOfRights(const Request& request);

}  // namespace homeostat::admission
