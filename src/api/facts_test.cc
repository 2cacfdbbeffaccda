// The generated tables against recorded facts of Kubernetes 1.36: every field of every served type, every kind, every enum.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "homeostat/api/registry.h"
#include "homeostat/schema/json_encoder.h"
#include "homeostat/schema/protobuf.h"

namespace homeostat::api {
namespace {

using schema::Field;
using schema::Form;
using schema::Type;

using Row = std::map<std::string, std::string>;

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::vector<Row> ReadFacts(const std::string& name) {
  std::ifstream file(std::string(HOMEOSTAT_API_TESTDATA) + "/" + name);
  std::string line;
  std::getline(file, line);
  std::vector<std::string> header = Split(line, '\t');
  std::vector<Row> rows;
  while (std::getline(file, line)) {
    std::vector<std::string> cells = Split(line, '\t');
    Row row;
    for (size_t i = 0; i < header.size(); ++i) row[header[i]] = i < cells.size() ? cells[i] : "";
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::string> Texts(std::span<const std::string_view> values) { return {values.begin(), values.end()}; }

// types.tsv's name of the type, e.g. []core/v1.Container, map[string]string, int32.
std::string KindText(const Type& type) {
  switch (type.form) {
    case Form::kBool: return "bool";
    case Form::kInt32: return "int32";
    case Form::kInt64: return "int64";
    case Form::kUint32: return "uint32";
    case Form::kUint64: return "uint64";
    case Form::kDouble: return "float64";
    case Form::kString: return "string";
    case Form::kBytes: return "bytes";
    case Form::kList: return "[]" + KindText(*type.element);
    case Form::kMap: return "map[string]" + KindText(*type.element);
    default: break;
  }
  return type.name.empty() ? "any" : std::string(type.go_name);
}

// The same of a fact: packages left out, since definition names say them better.
std::string ExpectedKind(const std::string& kind) {
  size_t dot = kind.rfind('.');
  if (dot == std::string::npos) return kind;
  size_t start = kind.rfind(']', dot);
  return kind.substr(0, start == std::string::npos ? 0 : start + 1) + kind.substr(dot + 1);
}

class FieldFacts : public ::testing::Test {
 protected:
  void SetUp() override {
    for (Row& row : ReadFacts("fields.tsv")) by_type_[row["definition"]].push_back(row);
    ASSERT_GT(by_type_.size(), 600u);
  }

  // The rows of a type with those of inlined structs in their place.
  struct Flat {
    Row row;
    std::vector<std::string> numbers;  // of the messages around it
  };
  void Flatten(const std::string& definition, const std::vector<std::string>& numbers, std::vector<Flat>& out) {
    for (const Row& row : by_type_[definition]) {
      if (row.at("inlined") == "typemeta") {
        for (const char* name : {"kind", "apiVersion"}) {
          out.push_back({{{"json", name}, {"kind", "string"}, {"omitempty", "1"}, {"proto_name", name}}, {}});
        }
      } else if (!row.at("inlined").empty()) {
        std::vector<std::string> inner = numbers;
        inner.push_back(row.at("number"));
        Flatten(row.at("inlined"), inner, out);
      } else {
        out.push_back({row, numbers});
      }
    }
  }

  std::map<std::string, std::vector<Row>> by_type_;
};

void CompareField(const Field& field, Row row, const std::vector<std::string>& numbers) {
  EXPECT_EQ(field.name, row["json"]);
  EXPECT_EQ(std::to_string(field.number), row["number"].empty() ? "0" : row["number"]);
  EXPECT_EQ(field.Has(schema::kJsonOnly), row["number"].empty());
  EXPECT_EQ(std::to_string(field.inline_number), numbers.empty() ? "0" : numbers[0]);
  EXPECT_EQ(std::to_string(field.inline_inner_number), numbers.size() < 2 ? "0" : numbers[1]);
  if (!row["number"].empty()) {
    EXPECT_EQ(field.proto_name, row["proto_name"]);
  }
  EXPECT_EQ(KindText(*field.type), ExpectedKind(row["kind"]));
  EXPECT_EQ(field.Has(schema::kPointer), !row["pointer"].empty());
  EXPECT_EQ(field.Has(schema::kOmitEmpty), !row["omitempty"].empty());
  EXPECT_EQ(field.Has(schema::kOmitZero), !row["omitzero"].empty());
  EXPECT_EQ(field.Has(schema::kRequired), !row["required"].empty());
  std::vector<std::string> strategies = Split(row["patch_strategy"], ',');
  auto has = [&](const char* name) { return std::find(strategies.begin(), strategies.end(), name) != strategies.end(); };
  EXPECT_EQ(field.Has(schema::kPatchMerge), has("merge"));
  EXPECT_EQ(field.Has(schema::kPatchReplace), has("replace"));
  EXPECT_EQ(field.Has(schema::kRetainKeys), has("retainKeys"));
  EXPECT_EQ(field.merge_key, row["merge_key"]);
  EXPECT_EQ(field.openapi_default, row["openapi_default"]);
  // Upstream drops Lifecycle's stopSignal while the gate is off, and not ContainerStatus', though that is the one that is marked.
  if (field.name != "stopSignal") {
    EXPECT_EQ(field.feature_gate, row["feature_gates"]);
  }
  if (field.type->form == Form::kList) {
    const char* kListTypes[] = {"atomic", "set", "map"};
    EXPECT_EQ(kListTypes[static_cast<int>(field.type->list_type)], row["list_type"].empty() ? "atomic" : row["list_type"]);
    EXPECT_EQ(Texts(field.type->list_map_keys), Split(row["list_map_keys"], ','));
  }
}

TEST_F(FieldFacts, EveryFieldOfEveryServedType) {
  size_t compared = 0;
  for (const auto& [definition, rows] : by_type_) {
    SCOPED_TRACE(definition);
    const Type* type = FindType(definition);
    ASSERT_NE(type, nullptr);
    std::vector<Flat> flat;
    Flatten(definition, {}, flat);
    ASSERT_EQ(type->fields.size(), flat.size());
    for (size_t i = 0; i < flat.size(); ++i) {
      SCOPED_TRACE(flat[i].row["json"]);
      CompareField(type->fields[i], flat[i].row, flat[i].numbers);
      ++compared;
    }
  }
  EXPECT_GT(compared, 3000u);
}

TEST(Tables, IndexesAreSortedAndComplete) {
  for (const Type* type : AllTypes()) {
    SCOPED_TRACE(type->name);
    ASSERT_EQ(type->by_name.size(), type->fields.size());
    size_t on_wire = 0;
    for (size_t i = 0; i < type->fields.size(); ++i) {
      EXPECT_EQ(type->FieldIndex(type->fields[i].name), static_cast<int>(i));
      on_wire += type->fields[i].Has(schema::kJsonOnly) ? 0 : 1;
    }
    ASSERT_EQ(type->by_number.size(), on_wire);
    for (size_t i = 1; i < type->by_number.size(); ++i) {
      const Field& before = type->fields[type->by_number[i - 1]];
      const Field& after = type->fields[type->by_number[i]];
      auto outer = [](const Field& field) { return field.inline_number != 0 ? field.inline_number : field.number; };
      EXPECT_LE(outer(before), outer(after));
    }
  }
}

// The masks leave nothing out that a look at every field finds.
TEST(Tables, MasksOfAbsentFields) {
  for (const Type* type : AllTypes()) {
    if (type->form != Form::kStruct) continue;
    SCOPED_TRACE(type->name);
    Type unknown = *type;
    unknown.absent_in_json = unknown.absent_on_wire = ~uint64_t{0};
    std::string masked, whole;
    schema::EncodeJson(*type, object::Value::EmptyObject(), masked);
    schema::EncodeJson(unknown, object::Value::EmptyObject(), whole);
    EXPECT_EQ(masked, whole);
    EXPECT_EQ(schema::EncodeProtobuf(*type, object::Value::EmptyObject()), schema::EncodeProtobuf(unknown, object::Value::EmptyObject()));
    uint64_t known = type->fields.size() < 64 ? (uint64_t{1} << type->fields.size()) - 1 : ~uint64_t{0};
    if (!type->fields.empty() && type->fields.size() < 64) EXPECT_EQ((type->absent_in_json | type->absent_on_wire) & ~known, 0u);
  }
}

TEST(EnumFacts, EveryPublishedEnum) {
  std::vector<Row> rows = ReadFacts("enums.tsv");
  ASSERT_GT(rows.size(), 130u);
  for (Row& row : rows) {
    SCOPED_TRACE(row["definition"] + "." + row["json"]);
    const Type* type = FindType(row["definition"]);
    ASSERT_NE(type, nullptr);
    const Field* field = type->FindField(row["json"]);
    ASSERT_NE(field, nullptr);
    const Type* scalar = field->type->element != nullptr ? field->type->element : field->type;
    ASSERT_NE(scalar->constraints, nullptr);
    EXPECT_EQ(Texts(scalar->constraints->enum_values), Split(row["values"], ','));
  }
}

std::string VerbsText(uint32_t verbs) {
  std::string text;
  auto add = [&](schema::Verb verb, const char* name) {
    if ((verbs & verb) != 0) text += (text.empty() ? "" : ",") + std::string(name);
  };
  add(schema::kCreate, "create");
  add(schema::kDelete, "delete");
  add(schema::kDeleteCollection, "deletecollection");
  add(schema::kGet, "get");
  add(schema::kList, "list");
  add(schema::kPatch, "patch");
  add(schema::kUpdate, "update");
  add(schema::kWatch, "watch");
  return text;
}

std::string SubresourcesText(const schema::Kind& kind) {
  std::string text;
  for (const schema::Subresource& sub : kind.subresources) {
    const auto& [group, version, name] = sub.kind;
    text += (text.empty() ? "" : " ") + std::string(sub.name) + ":" + std::string(group) + "/" + std::string(version) + "." +
            std::string(name) + ":" + VerbsText(sub.verbs);
  }
  return text;
}

// Comma separated dotted paths that must exist in the type.
void ExpectPaths(const Type& root, std::string_view paths) {
  for (const std::string& path : Split(std::string(paths), ',')) {
    const Type* type = &root;
    for (const std::string& name : Split(path, '.')) {
      const Field* field = type->FindField(name);
      ASSERT_NE(field, nullptr) << root.name << " has no " << path;
      type = field->type;
    }
  }
}

TEST(KindFacts, EveryKind) {
  std::vector<Row> rows = ReadFacts("kinds.tsv");
  EXPECT_EQ(rows.size(), AllKinds().size());
  for (Row& row : rows) {
    SCOPED_TRACE(row["group"] + "/" + row["version"] + "." + row["kind"]);
    const schema::Kind* kind = FindKind(row["group"], row["version"], row["kind"]);
    ASSERT_NE(kind, nullptr);
    EXPECT_EQ(kind->plural, row["plural"]);
    EXPECT_EQ(kind->singular, row["singular"]);
    EXPECT_EQ(kind->namespaced, !row["namespaced"].empty());
    EXPECT_EQ(Texts(kind->short_names), Split(row["short_names"], ','));
    EXPECT_EQ(Texts(kind->categories), Split(row["categories"], ','));
    EXPECT_EQ(VerbsText(kind->verbs), row["verbs"]);
    EXPECT_EQ(kind->storage_version, row["storage_version"]);
    EXPECT_EQ(kind->storage_version_hash, row["storage_version_hash"]);
    EXPECT_EQ(kind->served_by_default, !row["default_served"].empty());
    EXPECT_EQ(kind->feature_gate, row["gate"]);
    if (kind->Allows(schema::kList)) {
      EXPECT_EQ(kind->list_kind, row["list_kind"]);
      EXPECT_NE(kind->list_type, nullptr);
    }
    EXPECT_EQ(kind->storage_prefix, row["etcd_prefix"]);
    EXPECT_EQ(kind->virtual_kind, row["etcd_prefix"].empty());
    EXPECT_EQ(kind->introduced, row["introduced"]);
    EXPECT_EQ(kind->deprecated, row["deprecated"]);
    EXPECT_EQ(kind->removed, row["removed"]);
    EXPECT_EQ(kind->replacement, row["replacement"]);
    auto named = std::count_if(kind->columns.begin(), kind->columns.end(), [](const schema::Column& c) { return !c.name.empty(); });
    EXPECT_EQ(std::to_string(named), row["columns"]);
    EXPECT_EQ(SubresourcesText(*kind), row["subresources"]);
    ASSERT_NE(kind->type, nullptr);
    EXPECT_EQ(kind->type, FindTypeOfKind(row["group"], row["version"], row["kind"]));
    // Generic code reads metadata of any kind without looking for it.
    ASSERT_GT(kind->type->fields.size(), schema::kMetadataField);
    EXPECT_EQ(kind->type->fields[schema::kMetadataField].name, "metadata");
    EXPECT_EQ(kind->type->fields[schema::kMetadataField].type->go_name, "ObjectMeta");
    for (const schema::Column& column : kind->columns) {
      EXPECT_FALSE(column.path.empty() && column.cell.empty()) << column.name;
      if (!column.path.empty()) ExpectPaths(*kind->type, column.path);
    }
    for (std::string_view selectable : kind->selectable_fields) {
      ExpectPaths(*kind->type, selectable.substr(selectable.find('=') + 1));
    }
    for (const schema::Subresource& sub : kind->subresources) {
      if (sub.name == "scale") {
        ExpectPaths(*kind->type, sub.spec_replicas_path);
        ExpectPaths(*kind->type, sub.status_replicas_path);
        ExpectPaths(*kind->type, sub.selector_path);
      }
      EXPECT_NE(FindTypeOfKind(sub.kind.group, sub.kind.version, sub.kind.kind), nullptr) << sub.name;
    }
  }
}

TEST(Registry, FindsTypesOfThingsThatAreNoResources) {
  struct Case {
    const char* group;
    const char* version;
    const char* kind;
    const char* definition;
  };
  const Case kCases[] = {
      {"apps", "v1", "DeploymentList", "io.k8s.api.apps.v1.DeploymentList"},
      {"autoscaling", "v1", "Scale", "io.k8s.api.autoscaling.v1.Scale"},
      {"", "v1", "PodExecOptions", "io.k8s.api.core.v1.PodExecOptions"},
      {"policy", "v1", "Eviction", "io.k8s.api.policy.v1.Eviction"},
      {"", "v1", "Status", "io.k8s.apimachinery.pkg.apis.meta.v1.Status"},
      {"apps", "v1", "DeleteOptions", "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"},
      {"meta.k8s.io", "v1", "Table", "io.k8s.apimachinery.pkg.apis.meta.v1.Table"},
  };
  for (const Case& wanted : kCases) {
    const Type* type = FindTypeOfKind(wanted.group, wanted.version, wanted.kind);
    ASSERT_NE(type, nullptr) << wanted.kind;
    EXPECT_EQ(type->name, wanted.definition);
    EXPECT_EQ(FindType(wanted.definition), type);
  }
  EXPECT_EQ(FindTypeOfKind("apps", "v1", "Nothing"), nullptr);
  EXPECT_EQ(FindType("io.k8s.api.apps.v1.Nothing"), nullptr);
  EXPECT_EQ(FindKind("apps", "v2", "Deployment"), nullptr);
}

TEST(DefaultFacts, Unconditional) {
  struct Case {
    const char* definition;
    const char* field;
    const char* json;
  };
  const Case kCases[] = {
      {"io.k8s.api.apps.v1.DeploymentSpec", "replicas", "1"},
      {"io.k8s.api.apps.v1.DeploymentSpec", "progressDeadlineSeconds", "600"},
      {"io.k8s.api.apps.v1.DeploymentStrategy", "type", "\"RollingUpdate\""},
      {"io.k8s.api.core.v1.PodSpec", "restartPolicy", "\"Always\""},
      {"io.k8s.api.core.v1.PodSpec", "securityContext", "{}"},
      {"io.k8s.api.core.v1.Container", "terminationMessagePath", "\"/dev/termination-log\""},
      {"io.k8s.api.core.v1.EphemeralContainer", "terminationMessagePolicy", "\"File\""},
      {"io.k8s.api.core.v1.ContainerPort", "protocol", "\"TCP\""},
      {"io.k8s.api.core.v1.Probe", "periodSeconds", "10"},
      {"io.k8s.api.core.v1.HTTPGetAction", "scheme", "\"HTTP\""},
      {"io.k8s.api.core.v1.SecretVolumeSource", "defaultMode", "420"},
      {"io.k8s.api.core.v1.HostPathVolumeSource", "type", "\"\""},
      {"io.k8s.api.core.v1.Secret", "type", "\"Opaque\""},
      {"io.k8s.api.storage.v1.StorageClass", "reclaimPolicy", "\"Delete\""},
      {"io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerSpec", "minReplicas", "1"},
      // Defaulted in a Job, not in the template of a CronJob: not the schema's to say.
      {"io.k8s.api.batch.v1.JobSpec", "parallelism", ""},
  };
  for (const Case& wanted : kCases) {
    const Field* field = FindType(wanted.definition)->FindField(wanted.field);
    ASSERT_NE(field, nullptr) << wanted.field;
    EXPECT_EQ(field->default_json, wanted.json) << wanted.definition << "." << wanted.field;
  }
  EXPECT_TRUE(FindType("io.k8s.api.apps.v1.DeploymentSpec")->FindField("strategy")->Has(schema::kDefaultToEmpty));
  EXPECT_FALSE(FindType("io.k8s.api.core.v1.Container")->FindField("livenessProbe")->Has(schema::kDefaultToEmpty));
}

}  // namespace
}  // namespace homeostat::api
