#include "server/selection.h"

#include <algorithm>

#include "server/metadata.h"

namespace homeostat::server {
namespace {

// A kind's selectable field is written "label" or, where the client's name is another, "label=path".
std::string_view SelectablePath(const schema::Kind& kind, std::string_view label) {
  for (std::string_view entry : kind.selectable_fields) {
    size_t equals = entry.find('=');
    if (entry.substr(0, equals) == label) return equals == std::string_view::npos ? entry : entry.substr(equals + 1);
  }
  return {};
}

bool IsMetadataField(const schema::Kind& kind, std::string_view label) {
  return label == "metadata.name" || (label == "metadata.namespace" && kind.namespaced);
}

Result<void> CheckField(const Resource& resource, std::string_view label) {
  const schema::Kind& kind = *resource.kind;
  // Kinds with fields of their own name all that they take; the others take a namespace even where they have none.
  bool any_namespace = label == "metadata.namespace" && kind.selectable_fields.empty() && !kind.type->structural;
  if (IsMetadataField(kind, label) || any_namespace || !SelectablePath(kind, label).empty()) return {};
  if (resource.behaviour->unselectable != nullptr) return Fail(BadRequestError(resource.behaviour->unselectable(label)));
  if (!kind.selectable_fields.empty() || kind.type->structural) return Fail(BadRequestError("field label not supported: " + std::string(label)));
  return Fail(BadRequestError(GoQuote(label) +
                              " is not a known field selector: only \"metadata.name\", \"metadata.namespace\""));
}

std::string ScalarText(const Value& value) {
  if (value.IsString()) return std::string(value.AsString());
  if (value.IsBool()) return value.AsBool() ? "true" : "false";
  if (value.IsInt()) return std::to_string(value.AsInt());
  return "";
}

}  // namespace

Result<Selection> Selection::Make(const ListQuery& query, const Resource& resource) {
  Selection selection;
  selection.resource_ = resource;
  TRY_ASSIGN(selection.labels_, object::LabelSelector::Parse(query.label_selector));
  TRY_ASSIGN(selection.fields_, object::FieldSelector::Parse(query.field_selector));
  for (const object::FieldRequirement& requirement : selection.fields_.requirements()) {
    TRY(CheckField(resource, requirement.field));
  }
  return selection;
}

std::string Selection::FieldText(const Value& object, std::string_view label) const {
  if (label == "metadata.name") return std::string(MetadataString(object, "name"));
  if (label == "metadata.namespace") return std::string(MetadataString(object, "namespace"));
  if (resource_.behaviour->selectable != nullptr) {
    if (auto text = resource_.behaviour->selectable(object, label)) return *std::move(text);
  }
  return ScalarText(GetPath(object, SelectablePath(*resource_.kind, label)));
}

bool Selection::Matches(const Value& object) const {
  if (!labels_.IsEverything() && !labels_.Matches(object.Path({"metadata", "labels"}))) return false;
  return std::ranges::all_of(fields_.requirements(), [&](const object::FieldRequirement& requirement) {
    return (FieldText(object, requirement.field) == requirement.value) == requirement.equals;
  });
}

std::optional<std::string> Selection::name() const {
  auto pinned = fields_.RequiresExactMatch("metadata.name");
  return pinned ? std::optional<std::string>(*pinned) : std::nullopt;
}

}  // namespace homeostat::server
