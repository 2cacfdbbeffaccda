// Authentication: who a request is from.
#pragma once

#include <memory>
#include <optional>

#include "homeostat/base/http.h"
#include "homeostat/base/result.h"
#include "kinds/user.h"

namespace homeostat::auth {

// Loop only.
class Authenticator {
 public:
  virtual ~Authenticator() = default;
  // A user; nullopt: the request carries nothing this authenticator knows (then others are asked, last anonymous);
  // an error (401): it carries something that is not good, e.g. an expired token.
  virtual Result<std::optional<User>> Authenticate(const http::Request& request) = 0;
};

}  // namespace homeostat::auth
