// Client: asks any Kubernetes API server. Over HTTP, or in-process through the same Handler that serves the sockets.
//
//   sdk::Client client(transport, {.user_agent = "replicaset-controller"});
//   auto get = client.Get<core::v1::Pod>("default", "web");
//   CO_TRY_ASSIGN(sdk::Object<core::v1::Pod> pod, co_await std::move(get));
//
// Typed calls speak protobuf for built-in kinds (JSON where a server refuses it), JSON for others. Errors are the server's
// Status with all its details; a response that carries none becomes one by its code. Loop only. A call's task may be
// destroyed at any time; whether the server has then done the work is not known, as with any network. Every object that
// comes back has its kind and apiVersion, items of lists too.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/http.h"
#include "homeostat/base/log.h"
#include "homeostat/base/runtime.h"
#include "homeostat/object/value.h"
#include "homeostat/schema/kind.h"
#include "homeostat/sdk/object.h"

namespace homeostat::sdk {

struct ListOptions {
  std::string label_selector, field_selector;
  std::string resource_version;         // "": most recent; "0": any; else not older than
  std::string resource_version_match;
  int64_t limit = 0;
  std::string continue_token;
  bool metadata_only = false;           // items are PartialObjectMetadata: no more than kind, apiVersion and metadata
};

struct ListResult {
  std::vector<object::DocumentPtr> items;   // each in a document of its own
  std::string resource_version;
  std::string continue_token;
};

struct DeleteOptions {
  std::optional<int64_t> grace_period_seconds;
  std::string propagation_policy;       // "", Orphan, Background, Foreground
  std::string precondition_uid, precondition_resource_version;
};

enum class PatchType : uint8_t { kJson, kMerge, kStrategicMerge, kApply };

struct PatchOptions {
  std::string field_manager;
  bool force = false;
};

enum class WatchEventType : uint8_t { kAdded, kModified, kDeleted, kBookmark, kError };

struct WatchEvent {
  WatchEventType type = WatchEventType::kAdded;
  object::DocumentPtr object;           // of the kind; for kBookmark only resourceVersion (and annotations) is set
  std::optional<Status> error;          // for kError, e.g. 410: list again
};

struct WatchOptions {
  std::string label_selector, field_selector;
  std::string resource_version;
  bool allow_bookmarks = true;
  bool send_initial_events = false;     // stream the list first; ends with a bookmark annotated k8s.io/initial-events-end
  int64_t timeout_seconds = 0;
  bool metadata_only = false;           // as for lists
};

// One watch. Destroying it ends the watch.
class WatchStream {
 public:
  virtual ~WatchStream() = default;
  // nullopt at the server's clean end.
  virtual Task<Result<std::optional<WatchEvent>>> Next() = 0;
};

struct ClientOptions {
  std::string user_agent = "homeostat";
  std::string bearer_token;             // sent with every request, if set
  std::string field_manager;            // for create, update, patch, if set
  std::string impersonate_user;
  // With it, answers that ask to come back (Retry-After with 429 or 5xx) are waited out, up to ten times. Must outlive calls.
  Runtime* runtime = nullptr;
  Logger log;                           // of the client, and of informers and recorders that use it
};

// Copies share the transport, which must outlive their calls.
class Client {
 public:
  Client(std::shared_ptr<http::Handler> transport, ClientOptions options = {});
  const ClientOptions& options() const;

  // --- any kind, told by its schema::Kind, which must outlive the call; namespace empty for cluster-scoped kinds and for
  // all namespaces.
  Task<Result<object::DocumentPtr>> Get(const schema::Kind& kind, std::string ns, std::string name) const;
  Task<Result<ListResult>> List(const schema::Kind& kind, std::string ns, ListOptions options) const;
  Task<Result<object::DocumentPtr>> Create(const schema::Kind& kind, std::string ns, object::DocumentPtr object) const;
  // Replaces by the name in the object; subresource: "", "status", "scale" …. With "scale" and the like, object and answer
  // are of the subresource's kind.
  Task<Result<object::DocumentPtr>> Update(const schema::Kind& kind, object::DocumentPtr object, std::string subresource) const;
  Task<Result<object::DocumentPtr>> Patch(const schema::Kind& kind, std::string ns, std::string name, PatchType type,
                                          Bytes body, std::string subresource, PatchOptions options) const;
  Task<Result<void>> Delete(const schema::Kind& kind, std::string ns, std::string name, DeleteOptions options) const;
  Task<Result<void>> DeleteCollection(const schema::Kind& kind, std::string ns, ListOptions list, DeleteOptions options) const;
  Task<Result<std::unique_ptr<WatchStream>>> Watch(const schema::Kind& kind, std::string ns, WatchOptions options) const;
  // POST of one kind to a subresource of another (binding, eviction, token); answers with what the server sent.
  Task<Result<object::DocumentPtr>> CreateSubresource(const schema::Kind& kind, std::string ns, std::string name,
                                                      std::string subresource, const schema::Kind& body_kind,
                                                      object::DocumentPtr body) const;
  // A raw request with the client's identity.
  Task<Result<http::Response>> Raw(http::Request request) const;

  // --- typed; T is a generated view of a kind.
  template <class T>
  Task<Result<Object<T>>> Get(std::string ns, std::string name) const;
  template <class T>
  Task<Result<Object<T>>> Create(std::string ns, Object<T> object) const;
  template <class T>
  Task<Result<Object<T>>> Update(Object<T> object) const;
  template <class T>
  Task<Result<Object<T>>> UpdateStatus(Object<T> object) const;
  template <class T>
  Task<Result<void>> Delete(std::string ns, std::string name, DeleteOptions options = {}) const;
  template <class T>
  Task<Result<std::vector<Object<T>>>> List(std::string ns, ListOptions options = {}) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace homeostat::sdk

#include "homeostat/sdk/client_inline.h"
