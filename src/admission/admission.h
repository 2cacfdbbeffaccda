// Admission: plugins that may change or refuse a write after it was decoded and authorized. Order is upstream's
// (plugins.cc). Each plugin is a file of its own.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/metrics.h"
#include "homeostat/base/result.h"
#include "homeostat/object/value.h"
#include "homeostat/schema/kind.h"
#include "kinds/behaviour.h"

namespace homeostat::admission {

class AdmissionMetrics;

enum class Operation : uint8_t { kCreate, kUpdate, kDelete, kConnect };
// CREATE, UPDATE, DELETE, CONNECT
std::string_view OperationName(Operation operation);

// What plugins remember of one write while the chain that changes it runs: a chain is run once more when a plugin asks for that,
// so that those before it see what it changed.
struct Reinvocation {
  // What one plugin remembers: which of its policies or webhooks see the object once more.
  struct Repetition {
    object::Value last_output;
    std::set<std::string> asked;  // in this run, those that want to be asked again if others change the object
    std::set<std::string> again;  // those that will be, in the second run
    void Require() {
      again.insert(asked.begin(), asked.end());
      asked.clear();
    }
  };

  bool is_repeated = false;    // this is the second run
  bool asked_for = false;      // by a plugin that changed the object
  std::map<std::string_view, Repetition> of_plugins;  // by their names
};

// What upstream calls the attributes of a request.
struct Request {
  Operation operation;
  const schema::Kind& kind;          // storage version of the resource written to
  std::string_view subresource;
  std::string_view ns, name;         // name may be empty on create with generateName
  object::Value object;              // absent on delete and connect; of subresource_kind's type where that differs
  object::Value old_object;          // update and delete
  object::Value options;             // create, update or delete options; for connect the subresource's options
  kinds::RuleContext& context;       // arena, user, clock, reader, warnings, dry run
  Reinvocation* reinvocation = nullptr;  // set by the chain while it changes the object

  // Whether it writes to that resource, or to a subresource of it.
  bool Is(std::string_view group, std::string_view plural) const { return kind.plural == plural && kind.gvk.group == group; }
  // Whether it writes to an object of that resource itself.
  bool IsWhole(std::string_view group, std::string_view plural) const { return subresource.empty() && Is(group, plural); }
  bool creates() const { return operation == Operation::kCreate; }
  bool updates() const { return operation == Operation::kUpdate; }
  const User& user() const { return context.user; }
  object::Arena& arena() const { return context.arena; }
};

// The refusal of a plugin: 403 about the object, under its generateName while it has no name.
Status Forbid(const Request& request, std::string_view why);
// Several faults as Go's aggregate prints them: alone as it is, more in brackets, repeated ones once.
std::string JoinFaults(std::span<const std::string> faults);

// Loop only.
class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual std::string_view name() const = 0;
  // Asked before every write, for both hooks: must be cheap.
  virtual bool Handles(const Request& request) const = 0;
  // The object to go on with (request.object if nothing is to change), or the refusal, mostly Forbidden.
  virtual Task<Result<object::Value>> Mutate(const Request& request) { co_return request.object; }
  virtual Task<Result<void>> Validate(const Request&) { co_return {}; }
};

// A plugin that has nothing to wait for.
class PlainPlugin : public Plugin {
 public:
  virtual Result<object::Value> MutateNow(const Request& request) { return request.object; }
  virtual Result<void> ValidateNow(const Request&) { return {}; }

 private:
  Task<Result<object::Value>> Mutate(const Request& request) final { co_return MutateNow(request); }
  Task<Result<void>> Validate(const Request& request) final { co_return ValidateNow(request); }
};

// In which halves of the chain a plugin has a part.
enum class Hooks : uint8_t { kAdmit = 1, kValidate = 2, kBoth = 3 };

// Runs the plugins in order; those that change, once more if one of them asked for it.
class Chain {
 public:
  void Add(std::unique_ptr<Plugin> plugin, Hooks hooks = Hooks::kBoth) { plugins_.push_back({std::move(plugin), hooks, {}}); }
  // From now on; the metrics must outlive the chain.
  void CountInto(AdmissionMetrics& metrics) { metrics_ = &metrics; }
  Task<Result<object::Value>> Mutate(const Request& request);
  Task<Result<void>> Validate(const Request& request);
  // Names in order.
  std::vector<std::string_view> names() const;

 private:
  // Where it is counted what something took, by step, operation and whether it refused; null as long as nothing was.
  using Series = std::array<Histogram*, 16>;
  struct Entry {
    std::unique_ptr<Plugin> plugin;
    Hooks hooks;
    Series series{};
    bool Has(Hooks hook) const { return (static_cast<uint8_t>(hooks) & static_cast<uint8_t>(hook)) != 0; }
  };
  // entry: null for the step itself.
  void Count(Entry* entry, const Request& request, Hooks step, bool rejected, MonotonicTime start);
  Task<Result<object::Value>> MutateTwice(const Request& request);
  Task<Result<object::Value>> RunMutating(Request request);
  Task<Result<void>> RunValidating(const Request& request);

  std::vector<Entry> plugins_;
  AdmissionMetrics* metrics_ = nullptr;
  Series steps_{};
};

}  // namespace homeostat::admission
