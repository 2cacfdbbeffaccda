#include "controllers/answers.h"

#include <algorithm>
#include <utility>

namespace homeostat::controllers {

bool HadNoAnswer(const Status& status) { return status.code() >= 500; }

bool IsNamespaceTerminating(const Status& status) {
  return std::ranges::any_of(status.details().causes, [](const StatusCause& cause) { return cause.reason == "NamespaceTerminating"; });
}

Task<Result<std::string>> NewestVersion(sdk::Client client, const schema::Kind& kind, std::string ns) {
  sdk::ListOptions options;
  options.limit = 1;
  options.metadata_only = true;
  auto list = client.List(kind, std::move(ns), std::move(options));
  CO_TRY_ASSIGN(sdk::ListResult now, co_await list);
  co_return std::move(now.resource_version);
}

}  // namespace homeostat::controllers
