// A network inside one process and one seed: pipes of bytes between listeners and those who connect.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "homeostat/base/net.h"

namespace homeostat::base_internal {

class SimulatedListener;

// Addresses are texts: "10.0.0.1:80" reaches who listens there, or on "0.0.0.0:80" or "[::]:80". Reads may return less
// than has arrived, as sockets do. `runtime` must outlive it and everything it opens.
class SimulatedNetwork final : public Network {
 public:
  explicit SimulatedNetwork(Runtime& runtime) : runtime_(runtime) {}
  ~SimulatedNetwork() override;

  Result<std::unique_ptr<Listener>> Listen(std::string_view address) override;
  Task<Result<std::unique_ptr<Stream>>> Connect(std::string address) override;

  void SetLatency(Duration shortest, Duration longest) {
    shortest_ = shortest;
    longest_ = longest < shortest ? shortest : longest;
  }
  // How long the next piece of bytes takes.
  Duration DrawLatency() {
    auto range = static_cast<uint64_t>((longest_ - shortest_).count());
    return range == 0 ? shortest_ : shortest_ + Duration(runtime_.Random() % (range + 1));
  }
  Runtime& runtime() { return runtime_; }
  void Forget(const std::string& address) { listeners_.erase(address); }

 private:
  SimulatedListener* Find(std::string_view address);

  Runtime& runtime_;
  std::map<std::string, SimulatedListener*, std::less<>> listeners_;
  Duration shortest_{0}, longest_{0};
  int next_port_ = 32768;
};

}  // namespace homeostat::base_internal
