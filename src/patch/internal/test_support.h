// For the tests of this layer only: recorded data, parsing, printing.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "homeostat/api/registry.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"
#include "homeostat/schema/json_encoder.h"
#include "patch/field_set.h"
#include "patch/internal/test_widget.h"

namespace homeostat::patch::test {

inline std::string ReadGzip(const std::string& path) {
  std::string text;
  gzFile file = gzopen(path.c_str(), "rb");
  EXPECT_NE(file, nullptr) << path;
  if (file == nullptr) return {};
  char buffer[65536];
  for (int count; (count = gzread(file, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(count));
  gzclose(file);
  return text;
}

// Calls back for each line of a file in testdata, or in the directory that HOMEOSTAT_PATCH_RECORDED names.
template <class Visit>
void ForEachRecorded(const char* name, Visit visit) {
  const char* other = std::getenv("HOMEOSTAT_PATCH_RECORDED");
  std::string text = ReadGzip(std::string(other ? other : HOMEOSTAT_PATCH_TESTDATA) + "/" + name);
  ASSERT_FALSE(text.empty());
  for (std::string_view rest = text; !rest.empty();) {
    size_t end = std::min(rest.find('\n'), rest.size());
    if (end > 0) visit(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

inline Value Parse(Arena& arena, std::string_view json) {
  auto parsed = object::ParseJson(arena, json);
  EXPECT_TRUE(parsed.has_value()) << parsed.error().message() << ": " << json;
  return parsed ? *parsed : Value();
}

inline std::string Sorted(const Value& value) {
  auto text = object::WriteJson(value, {.sort_names = true});
  return text ? *text : text.error().message();
}

// "apps/v1 Deployment"
inline const schema::Type& TypeOf(std::string_view kind) {
  if (kind == "x.io/v1 Widget") return WidgetType();
  size_t space = kind.find(' '), slash = kind.find('/');
  std::string_view group = slash < space ? kind.substr(0, slash) : std::string_view();
  std::string_view version = slash < space ? kind.substr(slash + 1, space - slash - 1) : kind.substr(0, space);
  const schema::Type* type = api::FindTypeOfKind(group, version, kind.substr(space + 1));
  EXPECT_NE(type, nullptr) << kind;
  return *type;
}

inline Value Typed(Arena& arena, const schema::Type& type, const Value& untyped) {
  schema::ConformReport report;
  report.collect = false;
  auto typed = schema::Conform(arena, untyped, type, report);
  EXPECT_TRUE(typed.has_value()) << typed.error().message() << ": " << Sorted(untyped);
  return typed ? *typed : Value();
}

inline std::string Json(const schema::Type& type, const Value& value) {
  std::string text;
  schema::EncodeJson(type, value, text);
  return text;
}

}  // namespace homeostat::patch::test
