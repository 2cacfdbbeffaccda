// Schemas of custom resources compiled at run time: what is kept, what is reported, in whose words.
#include "homeostat/schema/structural.h"

#include <gtest/gtest.h>

#include "homeostat/object/yaml.h"
#include "homeostat/schema/conform.h"
#include "homeostat/schema/defaults.h"
#include "homeostat/schema/json_encoder.h"
#include "schema/internal/test_data.h"
#include "schema/openapi.h"

namespace homeostat::schema {
namespace {

using object::Arena;
using object::Value;

std::shared_ptr<const StructuralSchema> Compiled(std::string_view yaml) {
  auto document = object::ParseYamlDocument(yaml);
  EXPECT_TRUE(document) << yaml;
  const Type* metadata = test::FindType("v1 Pod")->FindField("metadata")->type;
  return StructuralSchema::Compile((*document)->root(), *document, {.object_meta = metadata, .name = "com.example.v1.Boat", .go_name = "Boat"});
}

// The object as it is after decoding and defaulting, in JSON, with what was unknown.
struct Decoded {
  std::string json;
  std::vector<std::string> problems;
};
Decoded Decode(const StructuralSchema& schema, std::string_view json) {
  Arena arena;
  ConformReport report;
  auto typed = Conform(arena, test::Parse(arena, json), schema.type(), report);
  EXPECT_TRUE(typed) << typed.error().message();
  auto defaulted = Defaults().Apply(arena, schema.type(), typed.value_or(Value()));
  EXPECT_TRUE(defaulted);
  return {test::Json(schema.type(), defaulted.value_or(Value())), report.problems};
}

std::vector<std::string> Faults(const StructuralSchema& schema, std::string_view json, std::string_view old = "") {
  Arena arena;
  FieldErrors errors;
  Value before = old.empty() ? Value() : test::Typed(arena, schema.type(), old);
  CheckConditions(schema.condition(), test::Typed(arena, schema.type(), json), FieldPath(), errors, &schema.type(), before);
  std::vector<std::string> texts;
  for (const StatusCause& cause : errors.causes()) texts.push_back(cause.field + ": " + cause.message);
  return texts;
}
using Texts = std::vector<std::string>;

constexpr std::string_view kBoat = R"(
type: object
required: [spec]
properties:
  spec:
    type: object
    required: [oars]
    properties:
      oars: {type: integer, format: int32, minimum: 0, maximum: 40}
      keel: {type: string, default: oak}
      colour: {type: string, minLength: 3, maxLength: 10, pattern: '^[a-z]+$'}
      built: {type: string, format: date-time}
      load: {type: number, exclusiveMinimum: true, minimum: 0, multipleOf: 0.5}
      price: {type: number, multipleOf: 0.01}
      silent: {type: string, maxLength: -1}
      port: {x-kubernetes-int-or-string: true}
      rig: {type: object, default: {}, properties: {masts: {type: integer, default: 1}, sail: {type: string, enum: [lug, gaff]}}}
      crew: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}, rank: {type: string, enum: [mate, cook]}}}}
      flags: {type: array, items: {type: string}, maxItems: 3, minItems: 1}
      cargo: {type: object, additionalProperties: {type: string, maxLength: 2}, maxProperties: 2}
      free: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {known: {type: object}}}
      paint: {type: object, additionalProperties: {type: object, default: {coat: 1}, properties: {coat: {type: integer}, gloss: {type: boolean, default: true}}}}
      knots: {type: array, items: {type: integer, default: 7}}
      names: {type: object, x-kubernetes-preserve-unknown-fields: true, additionalProperties: true}
      maybe: {type: string, nullable: true}
      embed: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
      pick: {type: object, oneOf: [{required: [a]}, {required: [b]}], properties: {a: {type: string}, b: {type: string}}}
      some: {type: integer, anyOf: [{minimum: 5}, {maximum: 2}]}
      every: {type: integer, allOf: [{minimum: 5}, {multipleOf: 2}]}
      never: {type: string, not: {enum: ['no']}}
      two: {type: string, allOf: [{enum: [a]}, {enum: [b]}]}
)";

TEST(Structural, PrunesDefaultsAndReports) {
  auto boat = Compiled(kBoat);
  struct Case {
    std::string_view json, expected;
    Texts problems;
  };
  const Case kCases[] = {
      {R"({"spec":{"oars":2}})", R"({"spec":{"keel":"oak","oars":2,"rig":{"masts":1}}})", {}},
      {R"({"stray":1,"spec":{"wheels":4,"rig":{"spare":1}}})", R"({"spec":{"keel":"oak","rig":{"masts":1}}})",
       {R"(unknown field "spec.rig.spare")", R"(unknown field "spec.wheels")", R"(unknown field "stray")"}},
      {R"({"metadata":{"name":"a","odd":1},"stray":1})", R"({"metadata":{"name":"a"}})",
       {R"(unknown field "metadata.odd")", R"(unknown field "stray")"}},
      {R"({"spec":{"keel":null,"colour":null,"maybe":null,"rig":{}}})", R"({"spec":{"keel":"oak","maybe":null,"rig":{"masts":1}}})", {}},
      {R"({"spec":{"keel":"","rig":{"masts":0},"free":{"x":[1,{"y":null}],"known":{"z":1}}}})",
       R"({"spec":{"free":{"known":{},"x":[1,{"y":null}]},"keel":"","rig":{"masts":0}}})", {R"(unknown field "spec.free.known.z")"}},
      {R"({"spec":{"cargo":{"a":"b","c":null},"keel":"","rig":{"masts":0},"oars":"two"}})",
       R"({"spec":{"cargo":{"a":"b"},"keel":"","oars":"two","rig":{"masts":0}}})", {}},
      {R"({"spec":{"embed":{"kind":"Pod","x":1,"metadata":{"name":"p","odd":1}},"keel":"","rig":{"masts":0}}})",
       R"({"spec":{"embed":{"kind":"Pod","metadata":{"name":"p"},"x":1},"keel":"","rig":{"masts":0}}})",
       {R"(unknown field "spec.embed.metadata.odd")"}},
      {R"({"spec":{"paint":{"a":null,"b":{}},"knots":[null,1],"keel":"","rig":{"masts":0}}})",
       R"({"spec":{"keel":"","knots":[7,1],"paint":{"a":{"coat":1,"gloss":true},"b":{"gloss":true}},"rig":{"masts":0}}})", {}},
      {R"({"spec":{"names":{"a":{"b":1},"c":2},"keel":"","rig":{"masts":0}}})", R"({"spec":{"keel":"","names":{"a":{},"c":2},"rig":{"masts":0}}})",
       {R"(unknown field "spec.names.a.b")"}},
      // Of a value of another kind no members stay.
      {R"({"spec":{"oars":{"a":1},"keel":[{"b":1},[{"c":2}],3],"rig":{"masts":0}}})",
       R"({"spec":{"keel":[{},[{}],3],"oars":{},"rig":{"masts":0}}})",
       {R"(unknown field "spec.keel[0].b")", R"(unknown field "spec.keel[1][0].c")", R"(unknown field "spec.oars.a")"}},
  };
  for (const Case& c : kCases) {
    Decoded decoded = Decode(*boat, c.json);
    EXPECT_EQ(decoded.json, c.expected) << c.json;
    EXPECT_EQ(decoded.problems, c.problems) << c.json;
  }
}

TEST(Structural, ResourcesWithinAreDecodedByThemselves) {
  auto boat = Compiled(kBoat);
  auto fault = [&](std::string_view embed) {
    Arena arena;
    ConformReport report;
    auto typed = Conform(arena, test::Parse(arena, "{\"spec\":{\"embed\":" + std::string(embed) + "}}"), boat->type(), report);
    return typed ? std::string() : typed.error().message();
  };
  EXPECT_EQ(fault(R"({"kind":5,"apiVersion":"v1"})"), "spec.embed.kind: Invalid value: 5: must be a string");
  EXPECT_EQ(fault(R"({"kind":"Pod","apiVersion":null})"), "spec.embed.apiVersion: Invalid value: null: must be a string");
  EXPECT_EQ(fault(R"({"kind":"Pod","metadata":{"uid":5}})"),
            R"(spec.embed.metadata: Invalid value: {"uid":5}: json: cannot unmarshal number into Go struct field ObjectMeta.uid of type types.UID)");
  EXPECT_EQ(fault(R"({"kind":"Pod","metadata":{"creationTimestamp":"x"}})"),
            R"(spec.embed.metadata: Invalid value: {"creationTimestamp":"x"}: parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006")");
  {
    Arena arena;
    ConformReport report;
    auto typed = Conform(arena, test::Parse(arena, R"({"spec":{"embed":{"kind":5}},"metadata":{"uid":5}})"), boat->type(), report);
    ASSERT_FALSE(typed);
    EXPECT_TRUE(typed.error().message().starts_with("json: cannot unmarshal number")) << "the object's own comes first";
  }
  EXPECT_EQ(Decode(*boat, R"({"spec":{"embed":{"kind":"Pod","metadata":null},"keel":"","rig":{"masts":0}}})").json,
            R"({"spec":{"embed":{"kind":"Pod","metadata":{}},"keel":"","rig":{"masts":0}}})");
}

TEST(Structural, ChecksConditionsInUpstreamsWords) {
  auto boat = Compiled(kBoat);
  struct Case {
    std::string_view spec;
    Texts faults;
  };
  const Case kCases[] = {
      {R"({"oars":2,"colour":"blue","built":"2019-04-05T06:07:08Z","load":2.5,"port":"http","pick":{"a":"x"},"maybe":null})", {}},
      {R"({})", {"spec.oars: Required value"}},
      {R"({"oars":"two"})", {R"(spec.oars: Invalid value: "string": spec.oars in body must be of type integer: "string")"}},
      {R"({"oars":2.5})",
       {R"(spec.oars: Invalid value: "float64": spec.oars in body must be of type int32: "float64")",
        R"(<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.oars)"}},
      {R"({"oars":41})", {"spec.oars: Invalid value: 41: spec.oars in body should be less than or equal to 40"}},
      {R"({"oars":-1})", {"spec.oars: Invalid value: -1: spec.oars in body should be greater than or equal to 0"}},
      {R"({"oars":2,"colour":"B9!"})", {R"(spec.colour: Invalid value: "B9!": spec.colour in body should match '^[a-z]+$')"}},
      {R"({"oars":2,"colour":"ab"})", {R"(spec.colour: Invalid value: "ab": spec.colour in body should be at least 3 chars long)"}},
      {R"({"oars":2,"colour":"abcdefghijk"})", {"spec.colour: Too long: may not be more than 10 bytes"}},
      {R"({"oars":2,"built":"soon"})", {R"(spec.built: Invalid value: "soon": spec.built in body must be of type date-time: "soon")"}},
      // Numbers without a fraction are compared as integers, and so is the factor then.
      {R"({"oars":2,"load":0})",
       {"spec.load: Invalid value: 0: factor MultipleOf declared for spec.load must be positive: 0",
        "spec.load: Invalid value: 0: spec.load in body should be greater than 0"}},
      {R"({"oars":2,"load":-0.5})", {"spec.load: Invalid value: -0.5: spec.load in body should be greater than 0"}},
      {R"({"oars":2,"load":0.7})", {"spec.load: Invalid value: 0.7: spec.load in body should be a multiple of 0.5"}},
      {R"({"oars":2,"price":1.1})", {}},  // 110.00000000000001 times
      {R"({"oars":2,"price":1.001})", {"spec.price: Invalid value: 1.001: spec.price in body should be a multiple of 0.01"}},
      {R"({"oars":2,"silent":""})", {"spec.silent: Too long: value is too long"}},
      {R"({"oars":2,"port":true})", {R"(spec.port: Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean")"}},
      {R"({"oars":2,"rig":{"sail":"square"}})", {R"(spec.rig.sail: Unsupported value: "square": supported values: "lug", "gaff")"}},
      {R"({"oars":2,"crew":5})", {R"(spec.crew: Invalid value: "integer": spec.crew in body must be of type array: "integer")"}},
      {R"({"oars":2,"crew":[{"rank":"mate"}]})", {"spec.crew[0].name: Required value"}},
      {R"({"oars":2,"flags":["a","b","c","d"]})", {"spec.flags: Too many: 4: must have at most 3 items"}},
      {R"({"oars":2,"flags":[]})", {"spec.flags: Invalid value: 0: spec.flags in body should have at least 1 items"}},
      {R"({"oars":2,"cargo":{"a":"a","b":"b","c":"c"}})", {"spec.cargo: Too many: 3: must have at most 2 items"}},
      {R"({"oars":2,"cargo":{"a":"long"}})", {"spec.cargo.a: Too long: may not be more than 2 bytes"}},
      {R"({"oars":2,"pick":{"a":"x","b":"y"}})",
       {R"(<nil>: Invalid value: "": "spec.pick" must validate one and only one schema (oneOf). Found 2 valid alternatives)"}},
      {R"({"oars":2,"pick":{}})",
       {R"(<nil>: Invalid value: "": "spec.pick" must validate one and only one schema (oneOf). Found none valid)",
        "spec.pick.a: Required value"}},
      {R"({"oars":2,"some":3})",
       {R"(<nil>: Invalid value: "": "spec.some" must validate at least one schema (anyOf))",
        "spec.some: Invalid value: 3: spec.some in body should be greater than or equal to 5"}},
      {R"({"oars":2,"every":3})",
       {"spec.every: Invalid value: 3: spec.every in body should be greater than or equal to 5",
        "spec.every: Invalid value: 3: spec.every in body should be a multiple of 2",
        R"(<nil>: Invalid value: "": "spec.every" must validate all the schemas (allOf). None validated)"}},
      {R"({"oars":2,"two":"c"})",
       {R"(spec.two: Unsupported value: "c": supported values: "a")", R"(spec.two: Unsupported value: "c": supported values: "b")",
        R"(<nil>: Invalid value: "": "spec.two" must validate all the schemas (allOf). None validated)"}},
      {R"({"oars":2,"never":"no"})", {R"(<nil>: Invalid value: "": "spec.never" must not validate the schema (not))"}},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(Faults(*boat, "{\"spec\":" + std::string(c.spec) + "}"), c.faults) << c.spec;
  }
  EXPECT_EQ(Faults(*boat, "{}"), Texts{"spec: Required value"});
}

TEST(Structural, ForgivesWhatWasWrongBefore) {
  auto boat = Compiled(kBoat);
  std::string_view old = R"({"spec":{"oars":99,"crew":[{"name":"a","rank":"lost"},{"name":"b","rank":"lost"}]}})";
  EXPECT_EQ(Faults(*boat, old, old), Texts());
  EXPECT_EQ(Faults(*boat, R"({"spec":{"oars":99,"keel":"elm"}})", old), Texts());
  EXPECT_EQ(Faults(*boat, R"({"spec":{"oars":98}})", old).size(), 1u);
  EXPECT_EQ(Faults(*boat, R"({"spec":{"oars":2,"crew":[{"name":"b","rank":"lost"},{"name":"c","rank":"lost"}]}})", old),
            Texts{R"(spec.crew[1].rank: Unsupported value: "lost": supported values: "mate", "cook")"});
}

// Limits of whole numbers are whole numbers, too; others are compared as they are.
TEST(Structural, LimitsAreOfTheKindOfTheNumber) {
  auto boat = Compiled("{type: object, properties: {a: {type: integer, maximum: 1.5}, b: {type: number, maximum: 1e21}, "
                       "c: {type: integer, multipleOf: 1.5}, d: {type: integer, maximum: 9007199254740992}}}");
  EXPECT_EQ(Faults(*boat, R"({"a":1,"b":2.5,"c":3,"d":9007199254740992})"),
            (Texts{R"(<nil>: Invalid value: "": Maximum boundary value must be of type integer (default format) in a)",
                   R"(<nil>: Invalid value: "": MultipleOf value must be of type integer (default format) in c)"}));
  EXPECT_EQ(Faults(*boat, R"({"b":2})"), Texts{"b: Invalid value: 2: b in body should be less than or equal to -9223372036854775808"});
  EXPECT_EQ(Faults(*boat, R"({"d":9007199254740993})"), Texts{"d: Invalid value: 9007199254740993: d in body should be less than or equal to 9007199254740992"});
}

TEST(Structural, FormatsAreChecked) {
  struct Case {
    std::string_view format, good, bad;
  };
  const Case kCases[] = {
      {"date", "2024-02-29", "2023-02-29"}, {"date-time", "2019-04-05t06:07:08.5+01:00", "2019-04-05T24:00:00Z"},
      {"uri", "http://[fe80::1%25eth0]:80/%20?%zz", "http://[::1"}, {"uri", "fe80::1%eth0", "http://a%41/"}, {"uri", "mysql://a:1,b:2/x", "http://a:1:2"},
      {"email", "a@b.c (me)", "a@b@c"}, {"mac", "001122334455", "00112233445"}, {"ssn", "123-45-6789", "123456789"},
      {"duration", "1h5m", "soon"}, {"duration", "22 ns", "h"}, {"ipv4", "010.0.0.1", "::1"}, {"ipv6", "fe80::1", "10.0.0.1"},
      {"cidr", "10.0.0.0/8", "10.0.0.0"}, {"mac", "01:23:45:67:89:ab", "01:23"}, {"uuid", "123E4567-e89b-12d3-a456-426614174000", "x"},
      {"uuid4", "123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"}, {"byte", "YWJj", "YWJ"},
      {"email", "a.b@example.com", "a.b"}, {"email", "Ann <a@b.c>", "a@"}, {"hostname", "a-b.example.com", "-a.b_c"},
      {"uri", "https://a.b/c?d", "a b"}, {"uri", "/a/b", "relative"}, {"hexcolor", "#fffFFF", "#ff"},
      {"rgbcolor", "rgb(1, 2,255)", "rgb(1,2,256)"}, {"isbn", "978-0321751041", "978-0321751042"}, {"isbn10", "0321751043", "0321751044"},
      {"creditcard", "4111 1111 1111 1111", "4111 1111 1111 1112"}, {"ssn", "123-45-6789", "123-45-678"},
      {"k8s-short-name", "a-b", "A"}, {"k8s-long-name", "a.b-c", "a..b"}, {"bsonobjectid", "0123456789abcdef01234567", "0123"}};
  for (const Case& c : kCases) {
    EXPECT_TRUE(IsKnownFormat("string", c.format)) << c.format;
    EXPECT_TRUE(FitsFormat(c.format, c.good)) << c.format << " " << c.good;
    EXPECT_FALSE(FitsFormat(c.format, c.bad)) << c.format << " " << c.bad;
  }
  EXPECT_FALSE(IsKnownFormat("string", "shape"));
  EXPECT_TRUE(FitsFormat("shape", "anything"));
}

TEST(Structural, PatternsAreGosAndBounded) {
  EXPECT_EQ(PatternFault("^[a-z]+$"), "");
  EXPECT_EQ(PatternFault("(?<year>[0-9]+"), "error parsing regexp: missing closing ): `(?<year>[0-9]+`");
  EXPECT_NE(PatternFault("((a{1,1000}){1,1000}){1,1000}"), "");
}

TEST(Structural, DeepAndHugeSchemasAreRead) {
  std::string deep = "{type: string}";
  for (int i = 0; i < 180; ++i) deep = "{type: object, properties: {a: " + deep + "}}";
  auto compiled = Compiled(deep);
  EXPECT_EQ(Faults(*compiled, R"({"a":{"a":5}})").size(), 1u);
  std::string wide = "type: object\nproperties:\n";
  for (int i = 0; i < 50; ++i) wide += "  field" + std::to_string(i) + ": {type: string, maxLength: 9, description: some words of text}\n";
  EXPECT_LT(Compiled(wide)->size(), 100'000u) << "a definition of fifty fields is small";
}

TEST(Structural, IsPublishedAsItStands) {
  auto boat = Compiled(kBoat);
  Arena arena;
  Value v3 = OpenApiDefinition(arena, boat->type(), OpenApiVersion::kV3), v2 = OpenApiDefinition(arena, boat->type(), OpenApiVersion::kV2);
  Value spec = v3.Path({"properties", "spec", "properties"});
  EXPECT_EQ(spec.Path({"oars", "maximum"}).AsInt(), 40);
  EXPECT_EQ(spec.Path({"port", "anyOf"}).size(), 2u);
  EXPECT_EQ(spec.Path({"embed", "properties", "metadata", "allOf"}).size(), 1u);
  EXPECT_TRUE(v3.Path({"properties", "metadata"}));
  Value old = v2.Path({"properties", "spec", "properties"});
  EXPECT_FALSE(old.Path({"pick", "oneOf"}));
  EXPECT_FALSE(old.Path({"maybe", "type"}));
}

}  // namespace
}  // namespace homeostat::schema
