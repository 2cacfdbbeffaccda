// A policy of the audit log, and a request it is asked about: what is read decides something, and says nothing twice.
#include "server/audit/event.h"
#include "server/audit/log_file.h"
#include "server/audit/policy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace homeostat;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string_view line = text.substr(0, text.find('\n'));
  server::audit::SourceAddresses(line, line, line);
  server::audit::BackupTime("/var/log/audit.log", line);
  std::vector<std::string> unknown;
  auto policy = server::audit::Policy::Parse(text, &unknown);
  if (!policy) return 0;
  User user{.name = "a", .uid = {}, .groups = {"b"}, .extra = {}};
  auth::Attributes request;
  request.user = &user;
  request.verb = "get";
  for (bool resource : {true, false}) {
    request.resource_request = resource;
    request.resource = resource ? "pods" : "";
    request.subresource = resource ? "status" : "";
    request.path = resource ? "" : "/healthz";
    policy->For(request);
  }
  return 0;
}
