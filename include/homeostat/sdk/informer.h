// Informer: a local, indexed copy of one kind, kept up to date by list and watch. Lister: reads it. The level-triggered
// base of every controller. Loop only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "homeostat/sdk/client.h"

namespace homeostat::sdk {

struct InformerOptions {
  std::string ns;                       // empty: all namespaces
  std::string label_selector, field_selector;
  Duration resync{0};                   // calls the handlers for everything again this often; 0: never
  bool metadata_only = false;           // objects are PartialObjectMetadata: kind, apiVersion and metadata
  bool managed_fields = true;           // whether metadata.managedFields are kept; they are often half of an object
  // Keeps no objects, only which there are, in a hundred bytes each: handlers get the current object as it came, and of a
  // previous one, as readers of any, its metadata's namespace, name, uid and resourceVersion. There are no indexes then, and
  // nothing is told again (resync).
  bool identities_only = false;
  // Asks for the list as the beginning of the watch (sendInitialEvents); where nothing comes of that, lists.
  bool stream_list = true;
  bool operator==(const InformerOptions&) const = default;
};

// What changed. `previous` is null for additions; `current` for deletions, with the last state in `previous`. A deletion
// that no watch has shown is told after the next list, with the last state known; an object that was replaced by another of
// the same name is a deletion and an addition. With a resync both are the same.
struct Change {
  object::DocumentPtr previous, current;
};

// Values of an index for one object, e.g. the owner's uid or spec.nodeName.
using IndexFunction = std::function<void(const object::Value& object, std::vector<std::string>& values)>;

// Its states, by what is known: nothing → listing → (the list is whole) in step: watching from the last version seen. A
// watch that ends or breaks is opened again from there, with a growing, jittered pause after failures; only a version that
// the server no longer has (410), or does not have yet, leads back to listing. Events that repeat what is known are dropped.
class Informer {
 public:
  Informer(Runtime& runtime, Client client, const schema::Kind& kind, InformerOptions options = {});
  ~Informer();
  Informer(const Informer&) = delete;

  // Handlers run on the loop in order of events; they must not block, nor destroy the informer. One that is added late
  // hears of everything that is there as additions. An index of a name that there is already is not added again.
  void AddHandler(std::function<void(const Change&)> handler);
  void AddIndex(std::string name, IndexFunction function);
  void Start();   // lists and watches until destroyed: reconnects with back-off, relists on 410
  bool synced() const;               // the first list has been handed out
  Task<void> WaitForSync();

  object::DocumentPtr Get(std::string_view key) const;          // meta::Key; null if there is none
  std::vector<object::DocumentPtr> List(std::string_view ns = {}) const;
  std::vector<object::DocumentPtr> ByIndex(std::string_view index, std::string_view value) const;
  size_t size() const;
  const schema::Kind& kind() const;
  // The version up to which the copy is known to be in step; empty before the first list. Versions are compared by
  // ReachedVersion.
  const std::string& resource_version() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Whether `version` is `other` or a later one, as resource versions of one kind may be compared (decimal numbers); false
// where one of them is none.
bool ReachedVersion(std::string_view version, std::string_view other);

// Typed reading of an Informer.
template <class T>
class Lister {
 public:
  explicit Lister(const Informer& informer) : informer_(&informer) {}
  Object<T> Get(std::string_view ns, std::string_view name) const {
    return Object<T>(informer_->Get(ns.empty() ? std::string(name) : std::string(ns) + "/" + std::string(name)));
  }
  Object<T> GetByKey(std::string_view key) const { return Object<T>(informer_->Get(key)); }
  std::vector<Object<T>> List(std::string_view ns = {}) const { return Wrap(informer_->List(ns)); }
  std::vector<Object<T>> ByIndex(std::string_view index, std::string_view value) const {
    return Wrap(informer_->ByIndex(index, value));
  }

 private:
  static std::vector<Object<T>> Wrap(std::vector<object::DocumentPtr> documents) {
    std::vector<Object<T>> objects;
    objects.reserve(documents.size());
    for (object::DocumentPtr& document : documents) objects.emplace_back(std::move(document));
    return objects;
  }
  const Informer* informer_;
};

// Informers of one client, one per kind and options, shared by all controllers that ask for them.
class InformerFactory {
 public:
  // `usual`: the options of those who give none.
  InformerFactory(Runtime& runtime, Client client, InformerOptions usual = {});
  ~InformerFactory();
  Informer& For(const schema::Kind& kind);
  template <class T>
  Informer& For() { return For(T::SchemaKind()); }
  // Those of a kind that the options select; one informer for the same options.
  Informer& For(const schema::Kind& kind, InformerOptions options);
  // For those who need no more than metadata: the informer of whole objects if somebody has asked for that one already.
  Informer& ForMetadata(const schema::Kind& kind);
  // Starts those that have been asked for since; waits for their first lists.
  void Start();
  Task<void> WaitForSync();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace homeostat::sdk
