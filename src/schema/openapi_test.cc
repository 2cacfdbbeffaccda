// The documents against those of the real server: the same definitions and operations, but for prose.
#include "schema/openapi.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "homeostat/api/registry.h"
#include "homeostat/object/json.h"
#include "homeostat/object/yaml.h"
#include "homeostat/schema/structural.h"
#include "schema/internal/test_data.h"

namespace homeostat::schema {
namespace {

using object::Arena;
using object::Member;
using object::Value;

OpenApiSource Source() {
  OpenApiSource source;
  source.kinds = api::AllKinds();
  source.find_type = [](std::string_view name) { return api::FindType(name); };
  source.find_type_of_kind = [](const GroupVersionKind& gvk) {
    return api::FindTypeOfKind(gvk.group, gvk.version, gvk.kind);
  };
  source.enums = false;
  return source;
}

const std::string& Recorded() {
  static const std::string text = test::ReadGzip("openapi.json.gz");
  return text;
}

// What is compared: without prose, with parameters in place of references to them, and with a lone allOf as what it
// holds.
Value Comparable(Arena& arena, const Value& value, const Value& shared) {
  if (value.IsList()) {
    object::ListBuilder list(arena);
    for (const Value& item : value.items()) list.Append(Comparable(arena, item, shared));
    return list.Build();
  }
  if (!value.IsObject()) return value;
  constexpr std::string_view kParameters = "#/parameters/";
  if (std::string_view target = value.Get("$ref").AsString(); target.starts_with(kParameters)) {
    return Comparable(arena, shared.Get(target.substr(kParameters.size())), shared);
  }
  object::ObjectBuilder object(arena);
  for (const Member& member : value.members()) {
    bool prose = member.name() == "description" && member.value.IsString();  // a property of that name is an object
    // Unions were never read by any client; they are not in the tables.
    if (prose || member.name() == "x-kubernetes-unions") continue;
    if (member.name() == "allOf" && member.value.size() == 1) {
      object.Append("$ref", member.value.At(0).Get("$ref"));
    } else {
      object.Append(member.name(), Comparable(arena, member.value, shared));
    }
  }
  return object.Build();
}

void Differences(const std::string& path, const Value& wanted, const Value& got, std::vector<std::string>& out) {
  if (object::Equal(wanted, got)) return;
  if (wanted.IsObject() && got.IsObject()) {
    for (const Member& member : wanted.members())
      Differences(path + "/" + std::string(member.name()), member.value, got.Get(member.name()), out);
    for (const Member& member : got.members()) {
      if (wanted.Get(member.name()).IsAbsent())
        out.push_back(path + "/" + std::string(member.name()) + ": unwanted " +
                      object::JsonText(member.value).substr(0, 200));
    }
    return;
  }
  out.push_back(path + ": wanted " + object::JsonText(wanted).substr(0, 300) + " got " +
                object::JsonText(got).substr(0, 300));
}

// Group versions that only exist in the scheme of the real server's code.
void TrimSharedKinds(Arena& arena, Value& document, std::initializer_list<std::string_view> definitions_path) {
  Value definitions = document.Path(definitions_path);
  object::ObjectBuilder changed(arena, definitions);
  for (std::string_view name : {"DeleteOptions", "WatchEvent"}) {
    std::string full = "io.k8s.apimachinery.pkg.apis.meta.v1." + std::string(name);
    Value definition = definitions.Get(full);
    if (definition.IsAbsent()) continue;
    object::ObjectBuilder without(arena, definition);
    without.Erase("x-kubernetes-group-version-kind");
    changed.SetCopyName(full, without.Build());
  }
  document = object::WithPath(arena, document, definitions_path, definitions.IsAbsent() ? Value() : changed.Build());
}

void ExpectSame(const std::string& name, Value wanted, const std::string& text,
                std::initializer_list<std::string_view> definitions_path) {
  Arena arena;
  Value got = test::Parse(arena, text);
  wanted = Comparable(arena, wanted, wanted.Get("parameters"));
  got = Comparable(arena, got, got.Get("parameters"));
  for (Value* document : {&wanted, &got}) {
    TrimSharedKinds(arena, *document, definitions_path);
    *document = object::WithPath(arena, *document, {"parameters"}, Value());
  }
  std::vector<std::string> differences;
  Differences(name, wanted, got, differences);
  EXPECT_EQ(differences.size(), 0u);
  for (size_t i = 0; i < std::min<size_t>(differences.size(), 25); ++i) ADD_FAILURE() << differences[i];
}

TEST(OpenApi, Version2IsAsRecorded) {
  Arena arena;
  Value recorded = test::Parse(arena, Recorded());
  ExpectSame("v2", recorded.Get("v2"), OpenApiV2Document(Source()), {"definitions"});
}

TEST(OpenApi, Version3IsAsRecorded) {
  Arena arena;
  Value recorded = test::Parse(arena, Recorded());
  OpenApiSource source = Source();
  int count = 0;
  for (const Member& member : recorded.members()) {
    std::string path(member.name());
    if (path == "v2") continue;
    ++count;
    size_t slash = path.rfind('/');
    bool group_version =
        path == "api/v1" || (path.starts_with("apis/") && std::count(path.begin(), path.end(), '/') == 2);
    std::string text = !group_version ? OpenApiV3RootDocument(source, path)
                       : path == "api/v1"
                           ? OpenApiV3Document(source, "", "v1")
                           : OpenApiV3Document(source, path.substr(5, slash - 5), path.substr(slash + 1));
    ASSERT_FALSE(text.empty()) << path;
    ExpectSame(path, member.value, text, {"components", "schemas"});
  }
  EXPECT_GT(count, 60);
}

TEST(OpenApi, PublishesEnumsAndDocumentation) {
  Arena arena;
  OpenApiSource source = Source();
  source.enums = true;
  Value schemas = test::Parse(arena, OpenApiV3Document(source, "apps", "v1")).Path({"components", "schemas"});
  Value protocol = schemas.Path({"io.k8s.api.core.v1.ContainerPort", "properties", "protocol"});
  EXPECT_EQ(object::JsonText(protocol.Get("enum")), R"(["SCTP","TCP","UDP"])");
  EXPECT_EQ(protocol.Get("default").AsString(), "TCP");
}

TEST(OpenApi, SaysTextsBesideReferences) {
  static constexpr Type kInner{.form = Form::kStruct, .name = "x.Inner", .documentation = "What is inside."};
  static constexpr Field kFields[] = {
      {.name = "inner", .type = &kInner, .openapi_default = "{}", .documentation = "The inner part."}};
  static constexpr Type kOuter{.form = Form::kStruct, .name = "x.Outer", .documentation = "What is outside.", .fields = kFields};
  Arena arena;
  EXPECT_EQ(object::JsonText(OpenApiDefinition(arena, kOuter, OpenApiVersion::kV3)),
            R"({"description":"What is outside.","type":"object","properties":{"inner":{"description":"The inner part.",)"
            R"("default":{},"allOf":[{"$ref":"#/components/schemas/x.Inner"}]}}})");
  EXPECT_EQ(object::JsonText(OpenApiDefinition(arena, kOuter, OpenApiVersion::kV2)),
            R"({"description":"What is outside.","type":"object","properties":{"inner":{"description":"The inner part.",)"
            R"("$ref":"#/definitions/x.Inner"}}})");
}

// tests/tidy.py sees to it that api/ has a text for all; here what is written arrives, that of inlined fields too.
TEST(OpenApi, FieldsOfTypesWithTextsHaveThem) {
  Arena arena;
  auto document = object::ParseJson(arena, OpenApiV2Document(Source()));
  ASSERT_TRUE(document);
  size_t fields = 0;
  for (const Member& definition : document->Get("definitions").members()) {
    if (definition.value.Get("description").AsString().empty()) continue;
    for (const Member& field : definition.value.Get("properties").members()) {
      EXPECT_FALSE(field.value.Get("description").AsString().empty()) << definition.name() << " " << field.name();
      ++fields;
    }
  }
  EXPECT_GT(fields, 1000u);
}

TEST(OpenApi, CustomKindsAreDescribedInTheirOwnWay) {
  auto schema = *object::ParseYamlDocument("{type: object, properties: {spec: {type: object}}}");
  const Type* metadata = test::FindType("v1 Pod")->FindField("metadata")->type;
  auto compiled = StructuralSchema::Compile(schema->root(), schema, {.object_meta = metadata, .name = "com.example.v1.Boat", .go_name = "Boat"});
  Kind boat;
  boat.gvk = {"example.com", "v1", "Boat"};
  boat.plural = "boats";
  boat.namespaced = false;
  boat.verbs = kGet | kList | kWatch | kCreate | kUpdate | kPatch | kDelete | kDeleteCollection;
  boat.type = boat.list_type = &compiled->type();
  const Subresource parts[] = {{.name = "status", .kind = boat.gvk, .verbs = kGet | kUpdate | kPatch},
                               {.name = "scale", .kind = {"autoscaling", "v1", "Scale"}, .verbs = kGet | kUpdate | kPatch}};
  boat.subresources = parts;
  std::vector<const Kind*> kinds(Source().kinds.begin(), Source().kinds.end());
  kinds.push_back(&boat);
  OpenApiSource source = Source();
  source.kinds = kinds;
  Arena arena;
  Value document = test::Parse(arena, OpenApiV3Document(source, "example.com", "v1")), paths = document.Get("paths");
  EXPECT_EQ(document.Path({"info", "title"}).AsString(), "Kubernetes CRD Swagger");
  EXPECT_EQ(paths.size(), 4u) << "nothing above the kinds, and no watches";
  Value all = paths.Get("/apis/example.com/v1/boats"), one = paths.Get("/apis/example.com/v1/boats/{name}");
  auto names = [](const Value& content) {
    std::string text;
    for (const Member& member : content.members()) text += std::string(member.name()) + " ";
    return text;
  };
  EXPECT_EQ(names(all.Path({"get", "responses", "200", "content"})), "application/json application/yaml ");
  EXPECT_EQ(names(all.Path({"post", "requestBody", "content"})), "application/json application/yaml ");
  EXPECT_TRUE(all.Path({"delete", "requestBody"}).IsAbsent());
  // kubectl takes the first path of a kind that it comes upon for what all of them take, and its maps have no order.
  for (const char* part : {"", "/status", "/scale"}) {
    Value path = paths.Get("/apis/example.com/v1/boats/{name}" + std::string(part));
    EXPECT_EQ(names(path.Path({"patch", "requestBody", "content"})),
              "application/apply-patch+yaml application/json-patch+json application/merge-patch+json ") << part;
  }
  EXPECT_EQ(one.Path({"get", "parameters"}).At(0).Get("name").AsString(), "resourceVersion");
  EXPECT_TRUE(document.Path({"components", "securitySchemes"}).IsAbsent());
  EXPECT_EQ(OpenApiV3RootDocument(source, "apis/example.com"), "");
  EXPECT_NE(OpenApiV3RootDocument(source, "apis/apps"), "");
}

TEST(OpenApi, KnowsNoOtherRoots) { EXPECT_EQ(OpenApiV3RootDocument(Source(), "apps"), ""); }

}  // namespace
}  // namespace homeostat::schema
