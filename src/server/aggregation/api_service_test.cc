// What is said of a service that may not be asked yet, and how it is written down.
#include "server/aggregation/api_service.h"

#include <gtest/gtest.h>

#include "homeostat/api/core/v1.h"
#include "homeostat/api/discovery/v1.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"

namespace homeostat::server {
namespace {

object::Value Parse(object::Document& document, std::string_view json) { return object::ParseJson(document.arena(), json).value(); }
template <class T>
object::DocumentPtr Typed(std::string_view json) {
  auto document = std::make_shared<object::Document>();
  schema::ConformReport report;
  document->set_root(schema::Conform(document->arena(), Parse(*document, json), T::SchemaType(), report).value());
  return document;
}

TEST(JudgeService, SaysWhatIsMissing) {
  struct Case {
    std::string_view service;
    std::vector<std::string_view> slices;
    std::string_view reason, message;
  };
  constexpr std::string_view kService = R"({"spec":{"type":"ClusterIP","ports":[{"name":"https","port":443}]}})";
  const Case cases[] = {
      {"", {}, "ServiceNotFound", R"(service/api in "wardle" is not present)"},
      {R"({"spec":{"type":"ClusterIP","ports":[{"port":80}]}})", {}, "ServicePortError", R"(service/api in "wardle" is not listening on port 443)"},
      {kService, {}, "EndpointsNotFound", R"(cannot find endpointslices for service/api in "wardle")"},
      {kService,
       {R"({"endpoints":[{"conditions":{"ready":false}}],"ports":[{"name":"https","port":1}]})"},
       "MissingEndpoints",
       R"(endpointslices for service/api in "wardle" have no addresses with port name "https")"},
      {kService,
       {R"({"endpoints":[{}],"ports":[{"name":"other","port":1}]})"},
       "MissingEndpoints",
       R"(endpointslices for service/api in "wardle" have no addresses with port name "https")"},
      {kService, {R"({"endpoints":[{}],"ports":[{"name":"https","port":1}]})"}, "", ""},
      {R"({"spec":{"type":"ExternalName","externalName":"a.b"}})", {}, "", ""},
  };
  const ServiceReference reference{"wardle", "api", 443};
  for (const Case& each : cases) {
    std::vector<object::DocumentPtr> slices;
    for (std::string_view slice : each.slices) slices.push_back(Typed<api::discovery::v1::EndpointSlice>(slice));
    object::DocumentPtr service = each.service.empty() ? nullptr : Typed<api::core::v1::Service>(each.service);
    auto verdict = JudgeService(reference, service ? service->root() : object::Value(), slices);
    EXPECT_EQ(verdict ? verdict->reason : "", each.reason) << each.message;
    EXPECT_EQ(verdict ? verdict->message : "", each.message);
    if (verdict) { EXPECT_EQ(verdict->status, "False"); }
  }
}

TEST(ConditionPatch, KeepsOthersAndTheTimeOfTheLastChange) {
  object::Document document;
  object::Value service = Parse(document, R"({"metadata":{"resourceVersion":"7"},"status":{"conditions":[
      {"type":"Other","status":"Unknown"},
      {"type":"Available","status":"False","reason":"ServiceNotFound","lastTransitionTime":"2020-01-01T00:00:00Z"}]}})");
  EXPECT_EQ(ConditionPatch(service, {"False", "MissingEndpoints", "m"}, "2021-01-01T00:00:00Z"),
            R"({"metadata":{"resourceVersion":"7"},"status":{"conditions":[{"type":"Other","status":"Unknown"},)"
            R"({"type":"Available","status":"False","lastTransitionTime":"2020-01-01T00:00:00Z","reason":"MissingEndpoints","message":"m"}]}})");
  EXPECT_EQ(ConditionPatch(service, {"True", "Passed", "m"}, "2021-01-01T00:00:00Z"),
            R"({"metadata":{"resourceVersion":"7"},"status":{"conditions":[{"type":"Other","status":"Unknown"},)"
            R"({"type":"Available","status":"True","lastTransitionTime":"2021-01-01T00:00:00Z","reason":"Passed","message":"m"}]}})");
}

}  // namespace
}  // namespace homeostat::server
