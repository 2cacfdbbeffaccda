// Bearer tokens of a file: who each of them is, fixed as long as the program runs.
// Source: kube-apiserver's --token-auth-file; RFC 4180 as Go's encoding/csv reads it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "auth/authenticator.h"

namespace homeostat::auth {

// Loop only.
class StaticTokens : public Authenticator {
 public:
  // Records `token,user,uid` or `token,user,uid,"group1,group2"`; more columns mean nothing. Of a token that is there twice the
  // last record counts, one without a token is passed over. SystemError with the line for what is no such file. No token
  // ever stands in an error.
  static Result<StaticTokens> Parse(std::string_view csv);

  // Null for a token that is not in the file.
  const User* Find(std::string_view token) const;
  // Tokens it doesn't know are left to others.
  Result<std::optional<User>> Authenticate(const http::Request& request) override;

 private:
  std::map<std::string, User, std::less<>> users_;
};

}  // namespace homeostat::auth
