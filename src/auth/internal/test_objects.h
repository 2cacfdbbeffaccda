// Objects for tests of this folder, given as JSON.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>

#include "homeostat/api/registry.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"
#include "kinds/behaviour.h"

namespace homeostat::auth::internal {

class TestObjects : public kinds::ObjectReader {
 public:
  // Puts, or replaces, an object of the kind: {"kind":"Role", …}.
  object::DocumentPtr Put(const std::string& json) {
    auto document = std::make_shared<object::Document>();
    auto parsed = object::ParseJson(document->arena(), json);
    EXPECT_TRUE(parsed.has_value()) << json;
    const schema::Kind* kind = KindOf(parsed->Get("kind").AsString());
    schema::ConformReport report;
    auto object = schema::Conform(document->arena(), *parsed, *kind->type, report);
    EXPECT_TRUE(object.has_value() && report.problems.empty()) << json;
    document->set_root(*object);
    object::Value metadata = object->Get("metadata");
    objects_[{std::string(kind->gvk.group), std::string(kind->plural), std::string(metadata.Get("namespace").AsString()),
              std::string(metadata.Get("name").AsString())}] = document;
    return document;
  }
  void Remove(std::string group, std::string plural, std::string ns, std::string name) { objects_.erase({group, plural, ns, name}); }

  object::DocumentPtr Get(std::string_view group, std::string_view plural, std::string_view ns, std::string_view name) const override {
    ++reads;
    auto found = objects_.find({std::string(group), std::string(plural), std::string(ns), std::string(name)});
    return found == objects_.end() ? nullptr : found->second;
  }
  std::vector<object::DocumentPtr> List(std::string_view group, std::string_view plural, std::string_view ns) const override {
    ++reads;
    std::vector<object::DocumentPtr> list;
    for (const auto& [key, document] : objects_) {
      if (std::get<0>(key) == group && std::get<1>(key) == plural && (ns.empty() || std::get<2>(key) == ns)) list.push_back(document);
    }
    return list;
  }
  mutable int reads = 0;

 private:
  static const schema::Kind* KindOf(std::string_view name) {
    for (const schema::Kind* kind : api::AllKinds()) if (kind->gvk.kind == name && kind->gvk.version == "v1") return kind;
    return nullptr;
  }
  std::map<std::tuple<std::string, std::string, std::string, std::string>, object::DocumentPtr> objects_;
};

}  // namespace homeostat::auth::internal
