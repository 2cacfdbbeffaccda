// Definitions: keeps what is served in step with the stored CustomResourceDefinitions. A definition's kinds appear, change
// and go in the moment of its commit, before the write is answered. It also does what upstream leaves to controllers:
// removes a deleted definition's instances before the definition itself, and has names looked at again that become free.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "server/custom/definition.h"
#include "server/context.h"

namespace homeostat::server {

// Loop only. The parts must outlive it.
class Definitions {
 public:
  // Writes as `user`.
  Definitions(Parts& parts, User user);
  ~Definitions();

  // Serves what is stored, and what comes. Call once, when the cache is loaded.
  void Start();

 private:
  struct Served {
    std::shared_ptr<const Definition> definition;
    bool decodes = false;    // its storage is its own, not that of a built-in kind
    bool finishing = false;  // its instances are being removed
  };

  void Observe(const cache::WatchEvent& event);
  // `entry` null: it is gone.
  void Update(const std::string& name, const cache::EntryPtr& entry);
  void Withdraw(Served& served);
  void Serve(Served& served);
  // The tasks of a definition that is being deleted, or whose group has a name free again.
  Task<void> Finish(std::string name);
  Task<Result<bool>> TryFinish(std::string name);
  Task<Result<void>> RemoveInstances(Resource storage);
  Task<Result<void>> Change(std::string name, std::function<Value(object::Arena&, Value)> change, std::string subresource);
  Task<void> Reconsider(std::string group);

  Parts& parts_;
  const User user_;
  std::map<std::string, Served, std::less<>> served_;
  std::set<std::string> unaccepted_;   // definitions that wait for names of others
  TaskGroup group_;
};

}  // namespace homeostat::server
