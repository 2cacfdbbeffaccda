#include "schema/internal/test_data.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "homeostat/api/registry.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"
#include "homeostat/schema/json_encoder.h"

namespace homeostat::schema::test {

std::string ReadGzip(std::string_view name) {
  std::string path = std::string(HOMEOSTAT_SCHEMA_TESTDATA) + "/" + std::string(name), text;
  gzFile file = gzopen(path.c_str(), "rb");
  EXPECT_NE(file, nullptr) << path;
  if (file == nullptr) return {};
  char buffer[65536];
  for (int count; (count = gzread(file, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(count));
  gzclose(file);
  return text;
}

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

const Type* FindType(std::string_view gvk) {
  size_t space = gvk.find(' '), slash = gvk.find('/');
  std::string_view group = slash < space ? gvk.substr(0, slash) : std::string_view();
  std::string_view version = slash < space ? gvk.substr(slash + 1, space - slash - 1) : gvk.substr(0, space);
  const Type* type = api::FindTypeOfKind(group, version, gvk.substr(space + 1));
  EXPECT_NE(type, nullptr) << gvk;
  return type;
}

object::Value Parse(object::Arena& arena, std::string_view json) {
  auto parsed = object::ParseJson(arena, json);
  EXPECT_TRUE(parsed.has_value()) << parsed.error().message() << ": " << json;
  return parsed ? *parsed : object::Value();
}

object::Value Typed(object::Arena& arena, const Type& type, std::string_view json) {
  ConformReport report;
  auto typed = Conform(arena, Parse(arena, json), type, report);
  EXPECT_TRUE(typed.has_value()) << typed.error().message() << ": " << json;
  return typed ? *typed : object::Value();
}

std::string Json(const Type& type, const object::Value& value) {
  std::string text;
  EncodeJson(type, value, text);
  return text;
}

std::string FromBase64(std::string_view text) {
  auto octets = object::DecodeBase64(text);
  EXPECT_TRUE(octets.has_value());
  return octets ? *octets : std::string();
}

std::string Hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (unsigned char c : bytes) {
    text += kDigits[c >> 4];
    text += kDigits[c & 15];
  }
  return text;
}

}  // namespace homeostat::schema::test
