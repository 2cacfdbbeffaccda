#include "server/body.h"

#include <algorithm>
#include <utility>

#include "homeostat/api/meta/v1.h"
#include "homeostat/api/registry.h"
#include "homeostat/object/json.h"
#include "homeostat/object/member_order.h"
#include "homeostat/object/wire.h"
#include "homeostat/object/yaml.h"
#include "homeostat/schema/api_version.h"
#include "homeostat/schema/conform.h"
#include "homeostat/schema/defaults.h"
#include "homeostat/schema/protobuf.h"
#include "homeostat/schema/structural.h"
#include "patch/managed_fields.h"
#include "server/audit/recorder.h"
#include "server/body_kind.h"
#include "server/number_literals.h"

namespace homeostat::server {
namespace {

// The start of a body that could not be read, for the message: text as text, anything else as hexadecimal digits.
std::string Summary(std::string_view body) {
  constexpr size_t kLimit = 30;
  if (body.empty()) return "<empty>";
  std::string summary;
  if (body.front() == '{') {
    summary = body.substr(0, kLimit);
  } else {
    constexpr char kHex[] = "0123456789abcdef";
    for (unsigned char c : body.substr(0, kLimit)) {
      summary.push_back(kHex[c >> 4]);
      summary.push_back(kHex[c & 15]);
    }
  }
  if (body.size() > kLimit) summary += " ...";
  return summary;
}

Status Unrecognized(const schema::Kind& expected, std::string_view why, std::string_view body) {
  return BadRequestError("the object provided is unrecognized (must be of type " + std::string(expected.gvk.kind) +
                         "): " + std::string(why) + " (" + Summary(body) + ")");
}

Result<Value> DecodeProtobufBody(RequestContext& context, const schema::Kind& expected, std::string_view also_version) {
  std::string_view body = context.request.body;
  auto envelope = object::ParseProtobufEnvelope(body);
  if (!envelope) return Fail(Unrecognized(expected, envelope.error().message(), body));
  TypeMeta meta;
  meta.api_version = envelope->api_version;
  meta.kind = envelope->kind;
  if (!SplitApiVersion(meta)) {
    return Fail(Unrecognized(expected, "unexpected GroupVersion string: " + meta.api_version, body));
  }
  FillTypeMeta(meta, expected);
  KindMatch match = MatchKind(context, meta, expected, also_version, Value());
  if (!match.fits) return Fail(match.refusal);
  context.arena().Keep(std::make_shared<Bytes>(context.request.body));
  auto object = schema::DecodeProtobuf(context.arena(), envelope->raw, *expected.type);
  if (!object) return Fail(CannotBeHandled(meta, expected, object.error().message()));
  return *object;
}

// Turns what strict decoding found into warnings or into a refusal.
Result<void> ApplyStrictness(RequestContext& context, const schema::ConformReport& report, FieldValidation validation) {
  if (!report.HasProblems() || validation == FieldValidation::kIgnore) return {};
  if (validation == FieldValidation::kStrict) return Fail(BadRequestError(report.StrictMessage()));
  for (const std::string& problem : report.yaml_duplicates) context.warnings.push_back(problem);
  for (const std::string& problem : report.problems) context.warnings.push_back(problem);
  return {};
}

Result<Value> WithDefaults(RequestContext& context, const schema::Kind& kind, const Value& object) {
  return context.defaults(kind).Apply(context.arena(), *kind.type, object);
}

// A root of which nothing is known but its metadata: what the body of another kind is read as.
const schema::Type& OpenRoot() {
  static const std::shared_ptr<const schema::StructuralSchema> root = schema::StructuralSchema::Compile(
      Value(), nullptr, {.object_meta = &api::meta::v1::ObjectMeta::SchemaType(), .name = {}, .go_name = {}, .preserve_unknown_fields = true});
  return root->type();
}

// The type of a custom object that says it is of that version: what is known of it if there is no such version is its metadata alone.
struct CustomType {
  const schema::Type* type;
  bool known;
};
CustomType TypeOfVersion(const RequestContext& context, const schema::Kind& expected, std::string_view version) {
  if (version == expected.gvk.version) return {expected.type, true};
  const schema::Kind* kind = context.resource->owner ? context.resource->owner->KindIn(version) : nullptr;
  return kind != nullptr ? CustomType{kind->type, true} : CustomType{&OpenRoot(), false};
}

void ReportAllUnknown(const Value& tree, schema::ConformReport& report) {
  for (const object::Member& member : tree.members()) {
    std::string_view name = member.name();
    if (name != "kind" && name != "apiVersion" && name != "metadata") report.AddUnknown(name);
  }
}

// Custom kinds are objects without a Go type: one of another kind is decoded all the same, to be refused with the faults of
// its content; nothing is known of another version's fields. report: the members that the body has twice.
Result<Value> DecodeCustom(RequestContext& context, const schema::Kind& expected, const TypeMeta& meta, Value tree,
                           schema::ConformReport report, FieldValidation validation) {
  object::Arena& arena = context.arena();
  std::string_view body = context.request.body;
  if (tree.Get("kind").AsString().empty()) return Fail(Unrecognized(expected, "Object 'Kind' is missing in '" + std::string(body) + "'", body));
  if (tree.Get("apiVersion").AsString().empty()) return Fail(WrongVersion("", expected));
  bool same_kind = meta.kind == expected.gvk.kind && meta.group == expected.gvk.group;
  bool fits = same_kind && meta.version == expected.gvk.version;
  report.collect = validation != FieldValidation::kIgnore;
  std::vector<std::string> duplicate_problems = std::exchange(report.problems, {});
  CustomType type = same_kind ? TypeOfVersion(context, expected, meta.version) : CustomType{&OpenRoot(), true};
  auto object = schema::Conform(arena, tree, *type.type, report);
  if (!object) return Fail(CannotBeHandled(meta, expected, object.error().message()));
  if (!type.known) ReportAllUnknown(tree, report);
  report.problems.insert(report.problems.begin(), duplicate_problems.begin(), duplicate_problems.end());
  if (auto strict = ApplyStrictness(context, report, validation); !strict) {
    return Fail(CannotBeHandled(meta, expected, strict.error().message()));
  }
  if (meta.group != expected.gvk.group || meta.version != expected.gvk.version) return Fail(WrongVersion(meta.api_version, expected));
  if (!fits) return *object;
  return WithDefaults(context, expected, *object);
}

// A patch may have made a custom object another kind's, which validation refuses. report: what is wrong with the patch.
Result<Value> DecodePatchedCustom(RequestContext& context, const schema::Kind& expected, const Value& tree,
                                  schema::ConformReport report, FieldValidation validation) {
  report.keep_empty = false;
  report.empty_fields = nullptr;
  TRY_ASSIGN(TypeMeta meta, ReadTypeMeta(tree));
  if (meta.kind.empty()) {
    TRY_ASSIGN(std::string json, object::WriteJson(tree, {.sort_names = true}));
    return Fail(BadRequestError("Object 'Kind' is missing in '" + json + "'"));
  }
  bool other = meta.kind != expected.gvk.kind || meta.group != expected.gvk.group;
  std::vector<std::string> in_patch = std::exchange(report.problems, {});
  CustomType type = other ? CustomType{&OpenRoot(), true} : TypeOfVersion(context, expected, meta.version);
  TRY_ASSIGN(Value object, schema::Conform(context.arena(), tree, *type.type, report));
  if (other) return object;
  if (!type.known) ReportAllUnknown(tree, report);
  report.problems.insert(report.problems.begin(), in_patch.begin(), in_patch.end());
  TRY(ApplyStrictness(context, report, validation));
  return type.type == expected.type ? WithDefaults(context, expected, object) : object;
}

}  // namespace

Result<Value> ParseUntyped(object::Arena& arena, std::string_view text, Encoding encoding,
                           std::vector<std::string>* duplicate_fields) {
  if (encoding == Encoding::kYaml) {
    TRY_ASSIGN(Value tree, object::ParseYaml(arena, text, duplicate_fields));
    // Upstream reads YAML by way of JSON that is sorted: what it finds comes in that order.
    return object::WithSortedMembers(arena, tree);
  }
  return object::ParseJson(arena, text, duplicate_fields);
}

namespace {

Result<Encoding> EncodingOfBody(const RequestContext& context) {
  NegotiationScope scope;
  scope.protobuf = !context.resource->custom;
  scope.partial_protobuf = true;  // named among what is taken, though it is not
  return NegotiateInput(context.request.headers.Get("Content-Type"), scope);
}

Result<Value> Decode(RequestContext& context, const schema::Kind& expected, FieldValidation validation, std::string_view also_version) {
  if (context.request.body_too_large) return Fail(RequestTooLargeError("limit is 3145728"));
  TRY_ASSIGN(Encoding encoding, EncodingOfBody(context));
  object::Arena& arena = context.arena();
  std::string_view body = context.request.body;
  if (encoding == Encoding::kProtobuf) {
    TRY_ASSIGN(Value object, DecodeProtobufBody(context, expected, also_version));
    return WithDefaults(context, expected, object);
  }
  std::vector<std::string> duplicates;
  auto untyped = ParseUntyped(arena, body, encoding, &duplicates);
  // A number that no double holds is only refused where something asks for it.
  const bool beyond = !untyped && encoding == Encoding::kJson && object::IsBeyondDoubles(untyped.error());
  const std::string beyond_text = beyond ? untyped.error().message() : std::string();
  if (beyond) untyped = object::ParseJsonWithRepeats(arena, body);
  if (!untyped) {
    std::string why = encoding == Encoding::kJson ? "couldn't get version/kind; json parse error: " : "";
    return Fail(Unrecognized(expected, why + untyped.error().message(), body));
  }
  Value whole = *untyped;
  if (encoding == Encoding::kJson && !duplicates.empty()) {
    TRY_ASSIGN(whole, object::ParseJsonWithRepeats(arena, body));
  }
  auto read = ReadTypeMeta(whole);
  if (!read) return Fail(Unrecognized(expected, read.error().message(), body));
  TypeMeta meta = *std::move(read);
  FillTypeMeta(meta, expected);
  Value tree = untyped->IsNull() ? Value::EmptyObject() : *untyped;
  Value managed = untyped->Path({"metadata", "managedFields"});
  context.resets_managed_fields = managed && patch::AsksForReset(managed);
  if (expected.type->structural) {
    if (beyond && !tree.Get("kind").AsString().empty()) return Fail(CannotBeHandled(meta, expected, beyond_text));
    schema::ConformReport found;
    if (encoding == Encoding::kYaml) found.yaml_duplicates = std::move(duplicates);
    else for (const std::string& path : duplicates) found.AddDuplicate(path);
    return DecodeCustom(context, expected, meta, tree, std::move(found), validation);
  }
  KindMatch match = MatchKind(context, meta, expected, also_version, *untyped);
  if (!match.fits && match.other_version == nullptr) return Fail(match.refusal);
  const schema::Type& type = match.fits ? *expected.type : *match.other_version;

  schema::ConformReport report;
  report.collect = validation != FieldValidation::kIgnore;
  report.keep_empty = true;
  report.empty_fields = &context.empty_fields;
  report.repeats = beyond || (encoding == Encoding::kJson && !duplicates.empty());
  context.empty_fields.Clear();
  auto object = schema::Conform(arena, report.repeats ? whole : tree, type, report);
  if (!object) {
    std::string why = object.error().message();
    why = encoding == Encoding::kJson ? WithNumberAsSent(std::move(why), body) : WithNumberFromYaml(std::move(why), body);
    return Fail(CannotBeHandled(meta, expected, why));
  }
  if (encoding == Encoding::kYaml) report.yaml_duplicates = std::move(duplicates);
  if (auto strict = ApplyStrictness(context, report, validation); !strict) {
    return Fail(CannotBeHandled(meta, expected, strict.error().message()));
  }
  if (!match.fits) return Fail(match.refusal);
  return WithDefaults(context, expected, *object);
}

Result<Value> ReadOptions(RequestContext& context, const schema::Type& type, std::string_view kind) {
  object::Arena& arena = context.arena();
  std::string_view body = context.request.body;
  TRY_ASSIGN(Encoding encoding, NegotiateInput(context.request.headers.Get("Content-Type"), NegotiationScope{}));
  if (encoding == Encoding::kProtobuf) {
    arena.Keep(std::make_shared<Bytes>(context.request.body));
    return schema::DecodeProtobufObject(arena, body, type);
  }
  auto untyped = encoding == Encoding::kJson ? object::ParseJsonWithRepeats(arena, body) : ParseUntyped(arena, body, encoding, nullptr);
  if (!untyped) {
    std::string why = encoding == Encoding::kJson ? "couldn't get version/kind; json parse error: " : "";
    return Fail(BadRequestError(why + untyped.error().message()));
  }
  TRY_ASSIGN(TypeMeta meta, ReadTypeMeta(*untyped));
  if (meta.kind.empty()) meta.kind = kind;
  if (meta.kind != kind) {  // of any version: options are the same in all
    return Fail(BadRequestError("no kind " + GoQuote(meta.kind) + " is registered for version " +
                                GoQuote(meta.api_version.empty() ? "meta.k8s.io/v1" : std::string_view(meta.api_version)) +
                                " in scheme \"pkg/runtime/scheme.go:111\""));
  }
  schema::ConformReport report;
  report.collect = false;
  report.repeats = encoding == Encoding::kJson;
  return schema::Conform(arena, *untyped, type, report);
}

}  // namespace

Result<WriteQuery> ReadCreateQuery(RequestContext& context) {
  TRY(EncodingOfBody(context));
  if (context.request.body_too_large) return Fail(RequestTooLargeError("limit is 3145728"));
  return ParseWriteQuery(context.query, WriteKind::kCreate);
}

Result<Value> DecodeBody(RequestContext& context, const schema::Kind& expected, FieldValidation validation, std::string_view also_version) {
  auto object = Decode(context, expected, validation, also_version);
  if (object && context.recorder != nullptr) {
    context.recorder->NoteRequest(*expected.type, expected.gvk.ApiVersion(), expected.gvk.kind, *object);
  }
  return object;
}

Result<Value> DecodeOptions(RequestContext& context, const schema::Type& type, std::string_view kind) {
  auto options = ReadOptions(context, type, kind);
  if (options && context.recorder != nullptr) context.recorder->NoteRequest(type, "meta.k8s.io/v1", kind, *options);
  return options;
}

Result<Value> DecodePatched(RequestContext& context, const schema::Kind& expected, const Patched& patched,
                            FieldValidation validation) {
  object::Arena& arena = context.arena();
  schema::ConformReport report;
  report.collect = validation != FieldValidation::kIgnore;
  report.keep_empty = true;
  report.empty_fields = &context.empty_fields;
  context.empty_fields.Clear();
  if (report.collect) report.problems.assign(patched.problems.begin(), patched.problems.end());
  size_t in_patch = report.problems.size();
  Value tree = patched.tree;
  if (expected.type->structural) return DecodePatchedCustom(context, expected, tree, std::move(report), validation);
  const schema::Type* type = expected.type;
  if (patched.strategic) {
    TRY_ASSIGN(tree, schema::FromUnstructured(arena, tree, *expected.type));
  } else if (auto meta = ReadTypeMeta(tree); !meta) {
    return Fail(meta.error());
  } else if (tree.Get("apiVersion").AsString().empty()) {
    // Upstream then reads it as its internal form, which has none of these fields.
    for (const object::Member& member : tree.members()) {
      if (member.name() != "kind" && member.name() != "apiVersion") report.AddUnknown(member.name());
    }
    report.SortFrom(in_patch);
    TRY(ApplyStrictness(context, report, validation));
    return WithDefaults(context, expected, Value::EmptyObject());
  } else {
    TRY_ASSIGN(type, TypeOfPatched(context, expected, tree));
  }
  schema::ConformReport first = report;
  auto object = schema::Conform(arena, tree, *type, first);
  if (patched.strategic && (!object || first.HasProblems())) {
    // Upstream has maps here, whose faults come sorted. A sound one keeps the order of raw JSON.
    context.empty_fields.Clear();
    first = report;
    object = schema::Conform(arena, object::WithSortedMembers(arena, tree), *type, first);
    first.SortFrom(in_patch);
  }
  if (!object) {
    if (patched.strategic) return Fail(object.error());
    return Fail(BadRequestError(WithNumberAsSent(object.error().message(), context.request.body)));
  }
  if (first.HasProblems()) TRY(ApplyStrictness(context, first, validation));
  Value typed = *object;
  if (type != expected.type) {
    TRY_ASSIGN(typed, ToExpectedVersion(context, expected, tree, typed));
  }
  return WithDefaults(context, expected, typed);
}

namespace {

Result<Value> Convert(object::Arena& arena, const Resource& resource, const Value& object, const schema::Kind& from,
                      const schema::Kind& to) {
  if (&from == &to || resource.behaviour->convert == nullptr) return object;
  return resource.behaviour->convert(arena, object, from, to);
}

}  // namespace

Result<Value> ToStorage(object::Arena& arena, const Resource& resource, const Value& object) {
  return Convert(arena, resource, object, *resource.kind, *resource.storage);
}
Result<Value> FromStorage(object::Arena& arena, const Resource& resource, const Value& object) {
  return Convert(arena, resource, object, *resource.storage, *resource.kind);
}
Result<Value> ToWorking(object::Arena& arena, const Resource& resource, const Value& object) {
  return Convert(arena, resource, object, *resource.kind, *resource.working);
}
Result<Value> FromWorking(object::Arena& arena, const Resource& resource, const Value& object) {
  return Convert(arena, resource, object, *resource.working, *resource.kind);
}
Result<Value> WorkingToStored(object::Arena& arena, const Resource& resource, const Value& object) {
  return Convert(arena, resource, object, *resource.working, *resource.storage);
}
Result<Value> StoredToWorking(object::Arena& arena, const Resource& resource, const Value& object) {
  return Convert(arena, resource, object, *resource.storage, *resource.working);
}

}  // namespace homeostat::server
