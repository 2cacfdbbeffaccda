// Objects from short JSON, for tests: what a test is about stands in it, the rest is filled in.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "homeostat/api/core/v1.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"
#include "scheduler/node_table.h"

namespace homeostat::scheduler {

template <class T>
object::DocumentPtr FromJson(std::string_view json) {
  auto parsed = object::ParseJsonDocument(json);
  EXPECT_TRUE(parsed) << parsed.error().message() << " in " << json;
  schema::ConformReport report;
  auto conformed = schema::Conform((*parsed)->arena(), (*parsed)->root(), T::SchemaType(), report);
  EXPECT_TRUE(conformed) << conformed.error().message() << " in " << json;
  EXPECT_TRUE(report.problems.empty()) << report.problems.front();
  (*parsed)->set_root(*conformed);
  return *parsed;
}

// spec and metadata are JSON texts of those objects' members, without braces.
inline PodInfoPtr MakePod(std::string_view name, std::string_view spec = R"("containers":[{"name":"c"}])",
                          std::string_view metadata = "", std::string_view status = "") {
  std::string json = R"({"metadata":{"namespace":"default","name":")" + std::string(name) + R"(","uid":"uid-)" +
                     std::string(name) + "\"";
  if (!metadata.empty()) json += "," + std::string(metadata);
  json += "},\"spec\":{" + std::string(spec) + "},\"status\":{" + std::string(status) + "}}";
  return ReadPod(FromJson<api::core::v1::Pod>(json));
}

inline std::string Requests(std::string_view cpu, std::string_view memory) {
  return R"("containers":[{"name":"c","resources":{"requests":{"cpu":")" + std::string(cpu) + R"(","memory":")" +
         std::string(memory) + R"("}}}])";
}

inline object::DocumentPtr MakeNode(std::string_view name, std::string_view labels = "", std::string_view spec = "",
                                    std::string_view cpu = "4", std::string_view memory = "8Gi", int pods = 110) {
  std::string all = R"("kubernetes.io/hostname":")" + std::string(name) + "\"";
  if (!labels.empty()) all += "," + std::string(labels);
  return FromJson<api::core::v1::Node>(R"({"metadata":{"name":")" + std::string(name) + R"(","labels":{)" + all +
                                       R"(}},"spec":{)" + std::string(spec) + R"(},"status":{"allocatable":{"cpu":")" +
                                       std::string(cpu) + R"(","memory":")" + std::string(memory) + R"(","pods":")" +
                                       std::to_string(pods) + R"("}}})");
}

}  // namespace homeostat::scheduler
