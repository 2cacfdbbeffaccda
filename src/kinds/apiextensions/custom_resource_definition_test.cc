// CustomResourceDefinitions: their schemas' rules, their names, their conditions.
#include "kinds/internal/testing.h"

namespace homeostat::kinds {
namespace {

using internal::Texts;

constexpr std::string_view kDefinition = R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kites.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: kites, kind: Kite, shortNames: [kt]}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
)";

class DefinitionTest : public internal::BehaviourTest {
 protected:
  Texts FaultsOfSchema(std::string_view schema) {
    std::string change = "spec: {versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: " + std::string(schema) + "}}]}";
    return Create(kDefinition, change).faults;
  }
};

TEST_F(DefinitionTest, IsEstablishedWhenItIsMade) {
  Outcome made = Create(kDefinition);
  EXPECT_EQ(made.faults, Texts());
  EXPECT_EQ(At(made.object, "spec.names"), R"({"plural":"kites","singular":"kite","shortNames":["kt"],"kind":"Kite","listKind":"KiteList"})");
  EXPECT_EQ(At(made.object, "status.acceptedNames"), At(made.object, "spec.names"));
  EXPECT_EQ(At(made.object, "status.conditions.0.reason"), "\"NoConflicts\"");
  EXPECT_EQ(At(made.object, "status.conditions.1.reason"), "\"InitialNamesAccepted\"");
  EXPECT_EQ(At(made.object, "status.storedVersions"), "[\"v1\"]");
}

TEST_F(DefinitionTest, NamesOfAnotherAreNotGiven) {
  EXPECT_EQ(Create(kDefinition).faults, Texts());
  Outcome second = Create(kDefinition, "{metadata: {name: dragons.example.com}, spec: {names: {plural: dragons, kind: Dragon, shortNames: [kt]}}}");
  EXPECT_EQ(At(second.object, "status.conditions.0.reason"), "\"ShortNamesConflict\"");
  EXPECT_EQ(At(second.object, "status.conditions.0.message"), R"("\"kt\" is already in use")");
  EXPECT_EQ(At(second.object, "status.conditions.1.status"), "\"False\"");
  EXPECT_EQ(At(second.object, "status.acceptedNames.plural"), "\"dragons\"");
  Outcome same = Create(kDefinition, "{metadata: {name: sheep.example.com}, spec: {names: {plural: sheep, singular: sheep, kind: Sheep, shortNames: null}}}");
  EXPECT_EQ(At(same.object, "status.conditions.0.status"), "\"True\"") << "plural and singular may be the same";
}

TEST_F(DefinitionTest, SchemasAreStructural) {
  const std::string kRoot = "spec.validation.openAPIV3Schema";
  struct Case {
    std::string_view schema;
    Texts faults;
  };
  const Case kCases[] = {
      {"{type: object, properties: {a: {}}}", {kRoot + ".properties[a].type: Required value: must not be empty for specified object fields"}},
      {"{type: object, properties: {a: {type: array}}}", {kRoot + ".properties[a].items: Required value: must be specified"}},
      {"{type: object, properties: {a: {type: string, default: 5}}}",
       {kRoot + R"(.properties[a].default: Invalid value: "integer":  in body must be of type string: "integer")"}},
      {"{type: object, properties: {a: {type: integer, default: 1, x-kubernetes-validations: [{rule: 'self > 1', message: too few}]}}}",
       {kRoot + ".properties[a].default: Invalid value: 1: too few"}},
      {"{type: object, properties: {a: {type: integer, default: 1, x-kubernetes-validations: [{rule: self.b}]}}}",
       {kRoot + ".properties[a].default: Invalid value: \"integer\": rule compile error: compilation failed: ERROR: <input>:1:5: type 'int' does "
                "not support field selection\n | self.b\n | ....^"}},
      {"{type: object, properties: {a: {type: object, default: {b: 1}}}}",
       {kRoot + R"(.properties[a].default: Invalid value: {"b":1}: must not have unknown fields)"}},
      {"{type: object, properties: {a: {type: object, default: {b: 1, a: [{d: 1, c: 2}]}}}}",
       {kRoot + R"(.properties[a].default: Invalid value: {"a":[{"c":2,"d":1}],"b":1}: must not have unknown fields)"}},
      {"{type: object, properties: {a: {type: number, default: {b: 1}}}}",
       {kRoot + R"(.properties[a].default: Invalid value: {"b":1}: must not have unknown fields)",
        kRoot + R"(.properties[a].default: Invalid value: "object":  in body must be of type number: "object")"}},
      {"{type: object, properties: {a: {type: object, properties: {c: {type: integer}}, default: {b: 1, c: 2}, x-kubernetes-validations: "
       "[{rule: self == oldSelf}]}}}",
       {kRoot + R"(.properties[a].default: Invalid value: {"b":1,"c":2}: must not have unknown fields)"}},
      {"{type: object, properties: {a: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, properties: {k: {type: string}}}}}}",
       {kRoot + ".properties[a].items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"}},
      {"{type: object, properties: {a: {type: string, pattern: '[a'}}}",
       {kRoot + R"(.properties[a].pattern: Invalid value: "[a": must be a valid regular expression, but isn't: error parsing regexp: missing closing ]: `[a`)"}},
      {"{type: object, anyOf: [{properties: {b: {type: string}}}]}",
       {kRoot + ".anyOf[0].properties[b].type: Forbidden: must be empty to be structural",
        kRoot + ".properties[b]: Required value: because it is defined in " + kRoot + ".anyOf[0].properties[b]"}},
      {"{type: object, properties: {metadata: {type: object, properties: {labels: {type: object}}}}}",
       {kRoot + ".properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified"}},
      {"{type: object, properties: {a: {type: string, $ref: x}}}", {kRoot + ".properties[a].$ref: Forbidden: $ref is not supported"}},
      {"{type: object, properties: {a: {type: whale}}}",
       {kRoot + R"(.properties[a].type: Unsupported value: "whale": supported values: "array", "boolean", "integer", "number", "object", "string")"}},
      {"{type: object, properties: {a: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}}}", {}},
      {"{type: object, x-kubernetes-preserve-unknown-fields: true}", {}},
      {"{type: object, properties: {a: {type: array, items: {type: string}, uniqueItems: true}}}",
       {kRoot + ".properties[a].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic"}},
      {"{type: string}", {kRoot + R"(.type: Invalid value: "string": must be object at the root)"}},
  };
  for (const Case& c : kCases) EXPECT_EQ(FaultsOfSchema(c.schema), c.faults) << c.schema;
}

TEST_F(DefinitionTest, DefaultsAreCheckedAgainstTheStructuralForm) {
  const std::string kAt = "spec.validation.openAPIV3Schema.properties[a]";
  struct Case {
    std::string_view schema;
    Texts faults;
  };
  const Case kCases[] = {
      {"{type: string, maxLength: -1, default: x}", {kAt + ".default: Too long: value is too long"}},
      {"{type: array, items: {type: string}, maxItems: -1, default: []}", {kAt + ".default: Too many: 0: has too many items"}},
      {"{x-kubernetes-int-or-string: true, default: true}", {}},
      {"{x-kubernetes-int-or-string: true, type: integer, default: x}",
       {kAt + R"(.default: Invalid value: "string":  in body must be of type integer: "string")"}},
      {"{type: string, format: shape, default: 1.5}", {kAt + R"(.default: Invalid value: "float64":  in body must be of type shape: "float64")"}},
      {"{type: string, format: shape, default: x}", {}},
      {"{type: object, x-kubernetes-embedded-resource: true, properties: {apiVersion: {type: string, default: a/b/c}, metadata: "
       "{type: object, properties: {name: {type: string, default: a/b}}}}}",
       {kAt + R"(.properties[apiVersion].default: Invalid value: "a/b/c": must result in valid metadata: apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c)",
        kAt + R"(.properties[metadata].properties[name].default: Invalid value: "a/b": must result in valid metadata: metadata.name: Invalid value: "a/b": may not contain '/')"}},
      {"{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true, default: {kind: 5, apiVersion: v1}}",
       {kAt + ".default.kind: Invalid value: 5: must be a string"}},
  };
  for (const Case& c : kCases) EXPECT_EQ(FaultsOfSchema("{type: object, properties: {a: " + std::string(c.schema) + "}}"), c.faults) << c.schema;
}

TEST_F(DefinitionTest, RulesOfAllDefaultsHaveOneBudget) {
  const std::string rule = "{rule: 'self.all(x, self.all(y, self.all(z, x + y + z < 5)))'}";
  std::string rules = rule, zeros = "0";
  for (int i = 0; i < 39; ++i) rules += ", " + rule, zeros += ", 0";
  std::string part = "{type: array, maxItems: 40, items: {type: integer}, x-kubernetes-validations: [" + rules + "], default: [" + zeros + "]}";
  size_t spent = 0;
  for (const std::string& fault : FaultsOfSchema("{type: object, properties: {a: " + part + ", b: " + part + "}}")) {
    if (fault.find("running out of cost budget") != fault.npos) ++spent;
  }
  EXPECT_EQ(spent, 1u) << "after that no default is looked at";
}

TEST_F(DefinitionTest, RulesThatDontCompileUseNoOldValue) {
  Texts faults = FaultsOfSchema("{type: object, properties: {a: {type: integer, x-kubernetes-validations: [{rule: 'self >', optionalOldSelf: true}]}}}");
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_TRUE(faults[1].ends_with(".optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule")) << faults[1];
}

TEST_F(DefinitionTest, RulesAreLookedAtWhereTheirOwnPartIsSound) {
  const std::string kRoot = "spec.validation.openAPIV3Schema.properties";
  EXPECT_EQ(FaultsOfSchema("{type: object, properties: {a: {type: integer, uniqueItems: true, x-kubernetes-validations: [{rule: self > 0, optionalOldSelf: true}]}, "
                           "b: {type: integer, x-kubernetes-validations: [{rule: self > 0, optionalOldSelf: true}]}}}"),
            (Texts{kRoot + "[a].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
                   kRoot + "[b].x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule"}));
  // What a set asks of its items is the set's own fault.
  EXPECT_EQ(FaultsOfSchema("{type: object, properties: {a: {type: array, x-kubernetes-list-type: set, items: {type: object, properties: {b: {type: integer}}, "
                           "x-kubernetes-validations: [{rule: self.b > 0, optionalOldSelf: true}]}}}}"),
            (Texts{kRoot + "[a].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
                   kRoot + "[a].items.x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule"}));
}

TEST_F(DefinitionTest, RulesOfValuesThatExpressionsCantSee) {
  const std::string kRoot = "spec.validation.openAPIV3Schema.properties[a].";
  EXPECT_EQ(FaultsOfSchema("{type: object, properties: {a: {type: array, items: {x-kubernetes-preserve-unknown-fields: true}, default: [], "
                           "x-kubernetes-validations: [{rule: self.size() > 0}]}}}"),
            Texts{kRoot + "default: Invalid value: \"array\": rule compiler initialization error: failed to convert to declType for CEL validation rules"});
}

TEST_F(DefinitionTest, AVersionThatIsNamedTwiceIsStoredOnce) {
  const std::string version = "{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}";
  Texts faults = Create(kDefinition, "spec: {versions: [" + version + ", " + version + "]}").faults;
  ASSERT_EQ(faults.size(), 3u);
  EXPECT_EQ(faults[2], "status.storedVersions: Invalid value: [\"v1\"]: must have the storage version v1");
}

TEST_F(DefinitionTest, SchemasAreShownAsGoHasThem) {
  Texts faults = Create(kDefinition, "spec: {versions: [{name: v1, served: true, storage: false, additionalPrinterColumns: [{name: A, type: string, jsonPath: .a}], "
                                     "schema: {openAPIV3Schema: {type: object}}}, {name: v2, served: true, "
                                     "storage: false, schema: {openAPIV3Schema: {type: object, properties: {a: {type: object, additionalProperties: {type: array, "
                                     "items: {x-kubernetes-int-or-string: true}}}}}}}]}").faults;
  ASSERT_EQ(faults.size(), 2u);
  for (std::string_view part : {R"("Priority":0,"JSONPath":".a"}])", R"("OpenAPIV3Schema":{"ID":"","Schema":"","Ref":null,"Description":"","Type":"object","Nullable":false,)",
                                R"("AdditionalProperties":{"Allows":true,"Schema":{"ID":)", R"("Items":{"Schema":{"ID":)", R"("JSONSchemas":null})",
                                R"("XEmbeddedResource":false,"XIntOrString":true,"XListMapKeys":null)"}) {
    EXPECT_NE(faults[0].find(part), std::string::npos) << part << " in " << faults[0];
  }
}

TEST_F(DefinitionTest, FieldsToSelectByStandBesideTheirSchema) {
  const std::string schema = "schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: string}}}}}}";
  const std::string change = "spec: {versions: [{name: v1, served: true, storage: true, selectableFields: [{jsonPath: .spec.a}], " + schema +
                             "}, {name: v2, served: true, storage: false, " + schema + "}]}";
  EXPECT_EQ(Create(kDefinition, change).faults,
            Texts{"spec.versions[0].selectableFields: Invalid value: \"\": may only be set when `version.schema.openAPIV3Schema` is not included"});
}

TEST_F(DefinitionTest, DefaultsAndUnknownFieldsDontGoTogether) {
  Texts faults = Create(kDefinition, "spec: {preserveUnknownFields: true, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: "
                                     "{type: object, properties: {a: {type: integer, default: 1}}}}}]}").faults;
  ASSERT_FALSE(faults.empty());
  EXPECT_EQ(faults[0], "spec.preserveUnknownFields: Invalid value: true: must be false in order to use defaults in the schema");
  EXPECT_EQ(Create(kDefinition, "spec: {preserveUnknownFields: true, conversion: {strategy: Webhook, webhook: {clientConfig: {url: 'https://x.example'}, "
                                "conversionReviewVersions: [v1]}}}").faults[0],
            R"(spec.conversion.strategy: Invalid value: "Webhook": must be None if spec.preserveUnknownFields is true)");
}

TEST_F(DefinitionTest, PartsOfVersions) {
  struct Case {
    std::string_view version;
    Texts faults;
  };
  const Case kCases[] = {
      {"selectableFields: [{jsonPath: .spec.a}]", {}},
      {"selectableFields: [{jsonPath: .spec.x}]",
       {R"(spec.selectableFields[0].jsonPath: Invalid value: ".spec.x": is an invalid path: does not refer to a valid field)"}},
      {"selectableFields: [{jsonPath: .spec}]",
       {R"(spec.selectableFields[0].jsonPath: Invalid value: ".spec": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.)"}},
      {"deprecationWarning: x", {R"(spec.versions[0].deprecationWarning: Invalid value: "x": can only be set for deprecated versions)"}},
      {"additionalPrinterColumns: [{name: x, type: colour, jsonPath: x}]",
       {R"(spec.additionalPrinterColumns[0].type: Invalid value: "colour": must be one of boolean,date,integer,number,string)",
        R"(spec.additionalPrinterColumns[0].JSONPath: Invalid value: "x": must be a simple json path starting with .)"}},
  };
  for (const Case& c : kCases) {
    std::string change = "spec: {versions: [{name: v1, served: true, storage: true, " + std::string(c.version) +
                         ", schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: string}}}}}}}]}";
    EXPECT_EQ(Create(kDefinition, change).faults, c.faults) << c.version;
  }
}

TEST_F(DefinitionTest, WarnsOfFormatsThatNobodyChecks) {
  std::string change = "spec: {versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {a: {type: string, format: shape}}}}}]}";
  EXPECT_EQ(Create(kDefinition, change).warnings, Texts{"unrecognized format \"shape\""});
}

}  // namespace
}  // namespace homeostat::kinds
