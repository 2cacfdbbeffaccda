// Kinds as operations of an API.
#include "schema/internal/openapi_paths.h"

#include <algorithm>
#include <cctype>

#include "schema/internal/presence.h"

namespace homeostat::schema::internal {

namespace {

constexpr std::string_view kMetaPrefix = "io.k8s.apimachinery.pkg.apis.meta.v1.";

// What a patch may be: any JSON, which the kinds of patches read in their own ways.
constexpr Type kPatchType{.form = Form::kRawExtension,
                          .name = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch",
                          .documentation = "A change of an object, in the form that the content type says."};

Parameter Query(std::string_view name, std::string_view type, std::string_view description) {
  return {"query", std::string(name), std::string(type), std::string(description)};
}
Parameter InPath(std::string_view name, std::string_view description) {
  return {"path", std::string(name), "string", std::string(description)};
}

const Parameter kPretty = Query("pretty", "string", "If 'true', the answer is indented for people to read.");
const Parameter kNamespace = InPath("namespace", "The namespace that the objects are in.");
const Parameter kDryRun =
    Query("dryRun", "string", "With 'All' the request goes through every step but nothing is stored.");
const Parameter kFieldValidation = Query("fieldValidation", "string",
                                         "What becomes of unknown and duplicate fields: Ignore drops them, Warn drops "
                                         "them with a warning (the default), Strict refuses the request.");
const Parameter kFieldManager =
    Query("fieldManager", "string", "The name under which the fields of this write are recorded.");
const Parameter kPatchFieldManager =
    Query("fieldManager", "string",
          "The name under which the fields of this write are recorded. An apply patch must give one.");
const Parameter kVersion =
    Query("resourceVersion", "string", "The version that the answer must be as new as, or that a watch starts after.");
const Parameter kForce = Query(
    "force", "boolean", "An apply patch takes over the fields that other managers own, instead of being refused.");

std::vector<Parameter> WriteParameters() { return {kDryRun, kFieldManager, kFieldValidation}; }

std::vector<Parameter> ListParameters() {
  return {
      Query("allowWatchBookmarks", "boolean", "A watch may send bookmarks: events that only tell how far it has come."),
      Query("continue", "string", "The token of the previous page: gives the next."),
      Query("fieldSelector", "string", "Narrows the list of returned objects to those whose fields are as said, e.g. metadata.name=x."),
      Query("labelSelector", "string", "Narrows the list of returned objects to those whose labels are as said, e.g. app=web,tier!=back."),
      Query("limit", "integer", "The most objects a page may have."),
      kVersion,
      Query("resourceVersionMatch", "string", "How resourceVersion is meant: Exact or NotOlderThan."),
      Query("sendInitialEvents", "boolean",
            "A watch starts with the objects that are there, as events, and a bookmark after them."),
      Query("shardSelector", "string", "Only the objects of a part of the hash range."),
      Query("timeoutSeconds", "integer", "How long a list or watch may take."),
  };
}

std::vector<Parameter> WatchParameters() {
  auto parameters = ListParameters();
  parameters.push_back(Query("watch", "boolean", "Watch for changes to the described resources: they come as events, in place of a list."));
  return parameters;
}

std::vector<Parameter> DeleteParameters() {
  return {
      kDryRun,
      Query("gracePeriodSeconds", "integer", "How long the object may take to end by itself; 0 removes it at once."),
      Query("ignoreStoreReadErrorWithClusterBreakingPotential", "boolean",
            "Deletes an object that can no longer be read. Skips finalizers and preconditions; other objects may "
            "depend on what it stood for."),
      Query("orphanDependents", "boolean", "Deprecated: see propagationPolicy."),
      Query("propagationPolicy", "string",
            "What becomes of the objects that this one owns: Orphan, Background or Foreground."),
  };
}

std::vector<Parameter> DeleteCollectionParameters() {
  auto parameters = ListParameters();
  std::erase_if(parameters, [](const Parameter& p) { return p.name == "allowWatchBookmarks"; });
  for (Parameter& parameter : DeleteParameters()) parameters.push_back(std::move(parameter));
  return parameters;
}

std::string Capital(std::string_view text) {
  std::string result(text);
  if (!result.empty()) result[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(result[0])));
  return result;
}

std::string Tag(std::string_view group, std::string_view version) {
  std::string name = OperationGroupName(group);
  if (!name.empty()) name[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(name[0])));
  return version.empty() ? name : name + "_" + std::string(version);
}

// The operations of one group version.
class PathBuilder {
 public:
  PathBuilder(const OpenApiSource& source, std::string_view group, std::string_view version)
      : source_(source),
        group_(group),
        version_(version),
        root_(group.empty() ? "/api/" : "/apis/" + std::string(group) + "/"),
        name_(OperationGroupName(group) + Capital(version)) {
    root_ += version;
    root_ += '/';
  }

  std::vector<PathItem> Build() {
    if (!IsCustomGroup(source_, group_)) AddDiscovery();
    for (const Kind* kind : source_.kinds) {
      if (kind->gvk.group == group_ && kind->gvk.version == version_) AddKind(*kind);
    }
    return std::move(items_);
  }

 private:
  const Type* Meta(std::string_view name) const {
    return source_.find_type(std::string(kMetaPrefix) + std::string(name));
  }

  Operation New(std::string_view method, std::string id, std::string_view action, const GroupVersionKind& gvk,
                std::string description) const {
    return {.method = std::string(method),
            .id = std::move(id),
            .description = std::move(description),
            .action = std::string(action),
            .tag = Tag(group_, version_),
            .gvk = custom_ != nullptr ? custom_->gvk : gvk,
            .custom = custom_ != nullptr};
  }

  void AddDiscovery() {
    Operation get = New("get", "get" + name_ + "APIResources", {}, {}, "The resources of this group version.");
    get.responses = {{200, Meta("APIResourceList")}};
    items_.push_back({root_, {std::move(get)}});
  }

  void AddKind(const Kind& kind) {
    custom_ = kind.type->structural ? &kind : nullptr;
    std::string prefix = root_;
    std::vector<Parameter> common = {kPretty};
    if (kind.namespaced) {
      prefix += "namespaces/{namespace}/";
      common.push_back(kNamespace);
    }
    std::string collection = prefix + std::string(kind.plural);
    AddCollection(kind, collection, common);
    if (kind.namespaced && kind.Allows(kList)) AddAllNamespaces(kind);
    auto named = common;
    named.push_back(InPath("name", "The name of the " + std::string(kind.gvk.kind) + "."));
    AddItem(kind, collection + "/{name}", named);
    for (const Subresource& sub : kind.subresources) {
      bool served = sub.feature_gate.empty() || !source_.gate_enabled || source_.gate_enabled(sub.feature_gate);
      if (served) AddSubresource(kind, sub, collection + "/{name}/" + std::string(sub.name), named);
    }
    if (kind.Allows(kWatch) && custom_ == nullptr) AddWatch(kind, common, named);
  }

  std::string Scoped(const Kind& kind) const {
    return (kind.namespaced ? "Namespaced" : "") + std::string(kind.gvk.kind);
  }

  void AddPath(std::string path, std::vector<Operation> operations, const std::vector<Parameter>& common) {
    if (operations.empty()) return;
    for (Operation& operation : operations)
      operation.parameters.insert(operation.parameters.end(), common.begin(), common.end());
    items_.push_back({std::move(path), std::move(operations)});
  }

  Operation List(const Kind& kind, std::string id) const {
    Operation list = New("get", std::move(id), "list", kind.gvk,
                         "Lists objects of the kind " + std::string(kind.gvk.kind) + ", or watches them.");
    list.parameters = WatchParameters();
    list.media = Media::kStream;
    list.responses = {{200, kind.list_type}};
    return list;
  }

  Operation Create(const Kind& kind) const {
    Operation post =
        New("post", "create" + name_ + Scoped(kind), "post", kind.gvk, "Creates a " + std::string(kind.gvk.kind) + ".");
    SetBody(post, kind.type);
    post.parameters = WriteParameters();
    post.responses = {{200, kind.type}, {201, kind.type}, {202, kind.type}};
    return post;
  }

  static void SetBody(Operation& operation, const Type* type, bool required = true) {
    operation.body = type;
    operation.body_required = required;
  }

  void AddCollection(const Kind& kind, const std::string& path, const std::vector<Parameter>& common) {
    std::vector<Operation> operations;
    if (kind.Allows(kList)) operations.push_back(List(kind, "list" + name_ + Scoped(kind)));
    if (kind.Allows(kCreate)) operations.push_back(Create(kind));
    if (kind.Allows(kDeleteCollection)) {
      Operation remove =
          New("delete", "delete" + name_ + "Collection" + Scoped(kind), "deletecollection", kind.gvk,
              "Deletes all objects of the kind " + std::string(kind.gvk.kind) + " that the selectors match.");
      remove.parameters = custom_ != nullptr ? WatchParameters() : DeleteCollectionParameters();
      if (custom_ == nullptr) SetBody(remove, Meta("DeleteOptions"), false);
      remove.responses = {{200, Meta("Status")}};
      operations.push_back(std::move(remove));
    }
    AddPath(path, std::move(operations), common);
  }

  void AddAllNamespaces(const Kind& kind) {
    AddPath(root_ + std::string(kind.plural),
            {List(kind, "list" + name_ + std::string(kind.gvk.kind) + "ForAllNamespaces")}, {kPretty});
  }

  // get, put and patch of an object or of a subresource that looks like one.
  void AddObjectVerbs(const Kind& kind, uint32_t verbs, const GroupVersionKind& gvk, const Type* type,
                      std::string_view suffix, std::vector<Operation>& operations) const {
    std::string what = Scoped(kind) + std::string(suffix),
                text = "the " +
                       (suffix.empty() ? std::string(kind.gvk.kind)
                                       : std::string(suffix) + " of the " + std::string(kind.gvk.kind)) +
                       ".";
    if (verbs & kGet) {
      operations.push_back(New("get", "read" + name_ + what, "get", gvk, "Reads " + text));
      operations.back().responses = {{200, type}};
      if (custom_ != nullptr) operations.back().parameters = {kVersion};
    }
    if (verbs & kUpdate) {
      Operation put = New("put", "replace" + name_ + what, "put", gvk, "Replaces " + text);
      SetBody(put, type);
      put.parameters = WriteParameters();
      put.responses = {{200, type}, {201, type}};
      operations.push_back(std::move(put));
    }
    if (verbs & kPatch) {
      Operation patch = New("patch", "patch" + name_ + what, "patch", gvk, "Changes parts of " + text);
      SetBody(patch, &kPatchType);
      patch.patch = true;
      patch.parameters = {kDryRun, kPatchFieldManager, kFieldValidation, kForce};
      patch.responses = {{200, type}};
      if (custom_ == nullptr) patch.responses.emplace_back(201, type);
      operations.push_back(std::move(patch));
    }
  }

  void AddItem(const Kind& kind, const std::string& path, const std::vector<Parameter>& named) {
    std::vector<Operation> operations;
    AddObjectVerbs(kind, kind.verbs, kind.gvk, kind.type, {}, operations);
    if (kind.Allows(kDelete)) {
      Operation remove = New("delete", "delete" + name_ + Scoped(kind), "delete", kind.gvk,
                             "Deletes the " + std::string(kind.gvk.kind) + ".");
      SetBody(remove, Meta("DeleteOptions"), false);
      remove.parameters = DeleteParameters();
      // A kind whose objects can't be deleted all at once is one whose deletion takes its time: what OpenAPI promises
      // there is a Status, whatever is sent in the end.
      bool gives_object = kind.delete_returns_object && kind.Allows(kDeleteCollection);
      const Type* answer = gives_object ? kind.type : Meta("Status");
      remove.responses = {{200, answer}, {202, answer}};
      operations.push_back(std::move(remove));
    }
    AddPath(path, std::move(operations), named);
  }

  void AddSubresource(const Kind& kind, const Subresource& sub, const std::string& path,
                      const std::vector<Parameter>& named) {
    if (sub.kind.kind.ends_with("Options")) return AddConnect(kind, sub, path, named);
    const bool whole = custom_ != nullptr && sub.kind.kind == kind.gvk.kind && sub.kind.group == kind.gvk.group;
    const Type* type = whole ? kind.type : source_.find_type_of_kind(sub.kind);
    std::string suffix = Capital(sub.name), options_kind = std::string(kind.gvk.kind) + suffix + "Options";
    std::vector<Operation> operations;
    AddObjectVerbs(kind, sub.verbs, sub.kind, type, suffix, operations);
    if (sub.verbs & kCreate) {
      Operation post = New("post", "create" + name_ + Scoped(kind) + suffix, "post", sub.kind,
                           "Creates a " + std::string(sub.kind.kind) + " for the " + std::string(kind.gvk.kind) + ".");
      SetBody(post, type);
      post.parameters = WriteParameters();
      post.responses = {{200, type}, {201, type}, {202, type}};
      operations.push_back(std::move(post));
    }
    // A subresource with options of its own (log) answers text.
    const Type* options = source_.find_type_of_kind({kind.gvk.group, kind.gvk.version, options_kind});
    auto parameters = named;
    if (options != nullptr) {
      for (Operation& operation : operations) {
        operation.media = Media::kText;
        operation.responses = {{200, nullptr}};
      }
      AddOptions(*options, parameters);
    }
    AddPath(path, std::move(operations), parameters);
  }

  static void AddOptions(const Type& options, std::vector<Parameter>& parameters) {
    for (const Field& field : options.fields) {
      if (field.Has(kJsonOnly)) continue;
      const Type& type = field.type->form == Form::kList ? ElementType(*field.type) : *field.type;
      std::string_view name = type.form == Form::kBool     ? "boolean"
                              : type.form == Form::kString ? "string"
                              : type.form < Form::kString  ? "integer"
                                                           : "";
      if (!name.empty()) parameters.push_back(Query(field.name, name, field.documentation));
    }
  }

  // A connection that is handed on: to a container, or to whatever an object serves.
  void AddConnect(const Kind& kind, const Subresource& sub, const std::string& path,
                  const std::vector<Parameter>& named) {
    const Type* options = source_.find_type_of_kind(sub.kind);
    auto parameters = named;
    std::erase_if(parameters, [](const Parameter& p) { return p.name == "pretty"; });
    if (options != nullptr) AddOptions(*options, parameters);
    bool any_path = options != nullptr && options->FindField("path") != nullptr;
    std::vector<std::string_view> methods = {"get", "post"};
    if (any_path) methods = {"delete", "get", "head", "options", "patch", "post", "put"};
    std::string suffix = Capital(sub.name);
    AddPath(path, Connects(kind, sub, methods, suffix), parameters);
    if (!any_path) return;
    parameters.push_back(InPath("path", "The path that the request is sent on to."));
    AddPath(path + "/{path}", Connects(kind, sub, methods, suffix + "WithPath"), parameters);
  }

  std::vector<Operation> Connects(const Kind& kind, const Subresource& sub,
                                  const std::vector<std::string_view>& methods, const std::string& suffix) const {
    std::vector<Operation> operations;
    for (std::string_view method : methods) {
      Operation connect =
          New(method, "connect" + name_ + Capital(method) + Scoped(kind) + suffix, "connect", sub.kind,
              "Connects to the " + std::string(sub.name) + " of the " + std::string(kind.gvk.kind) + ".");
      connect.media = Media::kAny;
      connect.responses = {{200, nullptr}};
      operations.push_back(std::move(connect));
    }
    return operations;
  }

  void AddWatch(const Kind& kind, const std::vector<Parameter>& common, const std::vector<Parameter>& named) {
    std::string namespaced = kind.namespaced ? "namespaces/{namespace}/" : "", plural(kind.plural), name(kind.gvk.kind);
    AddPath(root_ + "watch/" + namespaced + plural, {Watch(kind, "watch" + name_ + Scoped(kind) + "List", "watchlist")},
            common);
    AddPath(root_ + "watch/" + namespaced + plural + "/{name}", {Watch(kind, "watch" + name_ + Scoped(kind), "watch")},
            named);
    if (kind.namespaced)
      AddPath(root_ + "watch/" + plural, {Watch(kind, "watch" + name_ + name + "ListForAllNamespaces", "watchlist")},
              {kPretty});
  }

  Operation Watch(const Kind& kind, std::string id, std::string_view action) const {
    Operation watch = New("get", std::move(id), action, kind.gvk, "Deprecated: use the 'watch' parameter of a list.");
    watch.parameters = WatchParameters();
    watch.media = Media::kStream;
    watch.responses = {{200, Meta("WatchEvent")}};
    return watch;
  }

  const OpenApiSource& source_;
  const Kind* custom_ = nullptr;  // the kind at work, if it is a custom one
  const std::string_view group_, version_;
  std::string root_;
  const std::string name_;
  std::vector<PathItem> items_;
};

Operation RootOperation(std::string id, std::string tag, Media media, const Type* answer, std::string description) {
  Operation get{.method = "get",
                .id = std::move(id),
                .description = std::move(description),
                .tag = std::move(tag),
                .media = media};
  if (media != Media::kNone) get.responses = {{200, answer}};
  return get;
}

}  // namespace

std::string OperationGroupName(std::string_view group) {
  if (group.empty()) return "Core";
  constexpr std::string_view kSuffix = ".k8s.io";
  if (group.ends_with(kSuffix)) group.remove_suffix(kSuffix.size());
  std::string name;
  bool start = true;
  for (char c : group) {
    bool separator = c == '.' || c == '-';
    if (!separator) name += start ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    start = separator;
  }
  return name;
}

bool IsCustomGroup(const OpenApiSource& source, std::string_view group) {
  bool any = false;
  for (const Kind* kind : source.kinds) {
    if (kind->gvk.group != group) continue;
    if (!kind->type->structural) return false;
    any = true;
  }
  return any;
}

std::vector<PathItem> GroupVersionPaths(const OpenApiSource& source, std::string_view group, std::string_view version) {
  return PathBuilder(source, group, version).Build();
}

std::vector<PathItem> RootPaths(const OpenApiSource& source, std::string_view path) {
  auto meta = [&](std::string_view name) { return source.find_type(std::string(kMetaPrefix) + std::string(name)); };
  auto one = [&](Operation operation) {
    return std::vector<PathItem>{{"/" + std::string(path) + "/", {std::move(operation)}}};
  };
  if (path == "api")
    return one(RootOperation("getCoreAPIVersions", "core", Media::kDiscovery, meta("APIVersions"),
                             "The versions of the core group."));
  if (path == "apis")
    return one(RootOperation("getAPIVersions", "apis", Media::kDiscovery, meta("APIGroupList"), "The groups."));
  if (path == "version") {
    return one(RootOperation("getCodeVersion", "version", Media::kJson,
                             source.find_type("io.k8s.apimachinery.pkg.version.Info"), "The server's version."));
  }
  if (path == "openid/v1/jwks") {
    Operation keys = RootOperation("getServiceAccountIssuerOpenIDKeyset", "openid", Media::kKeySet, nullptr,
                                   "The keys that service account tokens are signed with.");
    keys.takes_nothing = true;
    return one(std::move(keys));
  }
  if (path == ".well-known/openid-configuration") {
    Operation issuer = RootOperation("getServiceAccountIssuerOpenIDConfiguration", "WellKnown", Media::kJson, nullptr,
                                     "Where the keys of service account tokens are.");
    issuer.takes_nothing = true;
    return one(std::move(issuer));
  }
  if (path == "logs") {
    Operation file = RootOperation("logFileHandler", "logs", Media::kNone, nullptr, "A log file.");
    file.parameters = {InPath("logpath", "The file's path.")};
    return {{"/logs/", {RootOperation("logFileListHandler", "logs", Media::kNone, nullptr, "The log files.")}},
            {"/logs/{logpath}", {std::move(file)}}};
  }
  if (path.starts_with("apis/")) {
    std::string_view group = path.substr(5);
    bool built_in = std::ranges::any_of(source.kinds, [&](const Kind* kind) { return kind->gvk.group == group && !kind->type->structural; });
    if (!built_in) return {};
    return one(RootOperation("get" + OperationGroupName(group) + "APIGroup", Tag(group, {}), Media::kDiscovery,
                             meta("APIGroup"), "The versions of this group."));
  }
  return {};
}

std::vector<Parameter> CommonParameters(const PathItem& item) {
  std::vector<Parameter> common = item.operations.empty() ? std::vector<Parameter>() : item.operations[0].parameters;
  for (const Operation& operation : item.operations) {
    std::erase_if(common, [&](const Parameter& parameter) {
      return std::find(operation.parameters.begin(), operation.parameters.end(), parameter) ==
             operation.parameters.end();
    });
  }
  std::sort(common.begin(), common.end(),
            [](const Parameter& a, const Parameter& b) { return std::tie(a.name, a.in) < std::tie(b.name, b.in); });
  return common;
}

}  // namespace homeostat::schema::internal
