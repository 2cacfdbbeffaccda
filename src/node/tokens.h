// Tokens: service account tokens for pods of this node, asked for when needed and renewed in time. Loop only.
//
// A token is renewed once four fifths of its life have passed, or a day, with some jitter. Source: the documentation of
// projected service account tokens.
#pragma once

#include <map>
#include <string>

#include "homeostat/sdk/client.h"
#include "node/volume_files.h"

namespace homeostat::node {

class Tokens {
 public:
  Tokens(Runtime& runtime, sdk::Client client) : runtime_(runtime), client_(std::move(client)) {}

  // A token bound to the pod. An old one that still holds is given out when a new one can't be had.
  Task<Result<std::string>> Get(object::DocumentPtr pod, TokenWish wish);
  void Forget(const std::string& uid);

 private:
  struct Known {
    std::string token;
    WallTime renew_at, expires_at;
  };
  struct Key {
    std::string uid, audience;
    int64_t expiration_seconds = 0;
    auto operator<=>(const Key&) const = default;
  };
  Task<Result<Known>> Ask(object::DocumentPtr pod, TokenWish wish);

  Runtime& runtime_;
  sdk::Client client_;
  std::map<Key, Known> known_;
};

}  // namespace homeostat::node
