// RequestContext: one request to a resource on its way through the verbs. Parts: what the verbs work with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "admission/admission.h"
#include "auth/authorizer.h"
#include "cache/cache.h"
#include "homeostat/base/http.h"
#include "homeostat/base/log.h"
#include "homeostat/object/value.h"
#include "homeostat/schema/defaults.h"
#include "kinds/behaviour.h"
#include "server/negotiation.h"
#include "server/request_info.h"
#include "server/resources.h"

namespace homeostat::callout {
class Caller;
}

namespace homeostat::server {
namespace audit {
class Recorder;
}

using object::Value;

class Allocations;
class StoreMetrics;

struct Parts {
  Runtime& runtime;
  cache::Cache& cache;
  Resources& resources;
  admission::Chain& admission;
  auth::Authorizer& authorizer;
  kinds::ObjectReader& objects;
  const schema::Defaults& defaults;    // of built-in kinds, with the hooks of kinds/
  Allocations& allocations;
  const kinds::Rights& rights;
  callout::Caller& caller;             // of webhooks and extension servers
  Logger log;
  StoreMetrics* store_metrics = nullptr;  // null: requests to the store are not counted
};

struct RequestContext {
  Parts& parts;
  const http::Request& request;
  const RequestInfo& info;
  http::Query query;
  const User& user;
  const Resource* resource = nullptr;
  MediaTypeOptions output;
  std::string audit_id;
  audit::Recorder* recorder = nullptr;                   // null: the audit log is told nothing of this request
  kinds::AuditAnnotations* annotations = nullptr;        // the recorder's
  std::vector<std::string> warnings;
  schema::EmptyFields empty_fields;    // what came empty in the object that was decoded last
  MonotonicTime deadline = MonotonicTime::max();  // when the request is given up
  bool resets_managed_fields = false;  // the decoded body asks to forget who manages what, which a typed tree can't show
  // Everything this request decodes and builds lives here; the object that is stored or answered keeps it alive.
  std::shared_ptr<object::Document> work = std::make_shared<object::Document>();

  object::Arena& arena() { return work->arena(); }
  const schema::Kind& kind() const { return *resource->kind; }
  const schema::Kind& storage() const { return *resource->storage; }
  // The version in which writes are checked.
  const schema::Kind& working() const { return *resource->working; }
  // Of the request's kind, or of another built-in one.
  const schema::Defaults& defaults(const schema::Kind& of) const {
    return of.type->structural && resource->owner ? resource->owner->defaults() : parts.defaults;
  }
  Runtime& runtime() { return parts.runtime; }

  // The rule context of a write to `subresource` ("" for the object itself).
  kinds::RuleContext Rules(bool dry_run, std::string_view subresource) {
    kinds::RuleContext rules{arena(), working(), subresource, info.ns, user, parts.runtime, parts.objects, dry_run, &warnings};
    rules.requested = resource->kind;
    rules.rights = &parts.rights;
    rules.request_name = info.name;
    rules.verb = info.verb;
    rules.empty_fields = &empty_fields;
    rules.deadline = deadline;
    rules.annotations = annotations;
    return rules;
  }
  // Who writes: the fieldManager asked for, else the client program's name from its User-Agent.
  std::string FieldManager(std::string_view asked) const;

  Status NotFound(std::string_view name) const {
    return NotFoundError(resource->kind->gvk.group, resource->kind->plural, name);
  }
};

// What a verb answers with: an object, of kind `kind`, or any other value with its type.
struct Answer {
  int code = 200;
  object::DocumentPtr document;      // keeps the value alive
  object::Value value;
  const schema::Kind* kind = nullptr;
  cache::EntryPtr entry;             // set when the value is a stored object in its storage version: encodings are shared
};

}  // namespace homeostat::server
