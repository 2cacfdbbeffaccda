// Admission: plugins that may change or refuse a write after it was decoded and authorized. Order is upstream's
// (admission-plugins.tsv). Each plugin is a file of its own.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/result.h"
#include "homeostat/object/value.h"
#include "homeostat/schema/kind.h"
#include "kinds/behaviour.h"

namespace homeostat::admission {

enum class Operation : uint8_t { kCreate, kUpdate, kDelete, kConnect };

struct Request {
  Operation operation;
  const schema::Kind& kind;          // storage version of the resource written to
  std::string_view subresource;
  std::string_view ns, name;         // name may be empty on create with generateName
  object::Value object;              // absent on delete and connect; of subresource_kind's type where that differs
  object::Value old_object;          // update and delete
  object::Value options;             // create, update or delete options; for connect the subresource's options
  kinds::RuleContext& context;       // arena, user, clock, reader, warnings
};

class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual std::string_view name() const = 0;
  virtual bool Handles(const Request& request) const = 0;
  // The object to go on with (request.object if nothing is to change), or the refusal, mostly Forbidden.
  virtual Task<Result<object::Value>> Mutate(const Request& request) { co_return request.object; }
  virtual Task<Result<void>> Validate(const Request&) { co_return {}; }
};

// Runs the plugins in order.
class Chain {
 public:
  void Add(std::unique_ptr<Plugin> plugin) { plugins_.push_back(std::move(plugin)); }
  Task<Result<object::Value>> Mutate(const Request& request);
  Task<Result<void>> Validate(const Request& request);

 private:
  std::vector<std::unique_ptr<Plugin>> plugins_;
};

}  // namespace homeostat::admission
