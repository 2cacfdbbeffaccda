// Objects for tests, written as JSON.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"

namespace homeostat::controllers {

template <class T>
object::DocumentPtr FromJson(const std::string& json) {
  auto document = object::ParseJsonDocument(json).value();
  schema::ConformReport report;
  document->set_root(schema::Conform(document->arena(), document->root(), T::SchemaType(), report).value());
  EXPECT_TRUE(report.problems.empty()) << report.problems.front();
  return document;
}

}  // namespace homeostat::controllers
