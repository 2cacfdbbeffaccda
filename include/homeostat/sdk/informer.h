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
};

// What changed. `previous` is null for additions, `current` for deletions. A missed deletion is told after a relist with
// the last state known.
struct Change {
  object::DocumentPtr previous, current;
};

// Values of an index for one object, e.g. the owner's uid or spec.nodeName.
using IndexFunction = std::function<void(const object::Value& object, std::vector<std::string>& values)>;

class Informer {
 public:
  Informer(Runtime& runtime, Client client, const schema::Kind& kind, InformerOptions options = {});
  ~Informer();
  Informer(const Informer&) = delete;

  // Both before Start. Handlers run on the loop in order of events; they must not block.
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

 private:
  struct State;
  std::shared_ptr<State> state_;
};

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
  InformerFactory(Runtime& runtime, Client client);
  ~InformerFactory();
  Informer& For(const schema::Kind& kind);
  template <class T>
  Informer& For() { return For(T::SchemaKind()); }
  // Starts those that have been asked for since; waits for their first lists.
  void Start();
  Task<void> WaitForSync();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace homeostat::sdk
