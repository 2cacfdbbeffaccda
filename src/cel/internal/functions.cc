#include "cel/internal/functions.h"

#include <deque>
#include <unordered_map>

namespace homeostat::cel::internal {

namespace {

void CollectParams(const Type& type, std::vector<std::string>& names) {
  if (type.kind() == TypeKind::kTypeParam) {
    for (const std::string& name : names) {
      if (name == type.name()) return;
    }
    names.emplace_back(type.name());
  }
  for (const Type& parameter : type.parameters()) CollectParams(parameter, names);
}

struct Table {
  std::deque<Function> functions;
  std::unordered_map<std::string_view, Function*> by_name;

  Table() {
    std::unordered_map<std::string_view, const Binding*> bindings;
    for (auto list : {OperatorBindings(), ConversionBindings(), TimeBindings(), StringBindings(), ListBindings(),
                      OptionalBindings(), RegexBindings(), UrlBindings(), NetworkBindings(), QuantityBindings(),
                      SemverBindings(), FormatBindings(), AuthorizerBindings()}) {
      for (const Binding& binding : list) bindings[binding.id] = &binding;
    }
    Library library = Library::kBase;
    for (std::string_view rest = FunctionTable(); !rest.empty();) {
      std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      if (line == "# jsonpatch") library = Library::kJsonPatch;
      if (line == "# extended") library = Library::kExtended;
      if (line == "# base") library = Library::kBase;
      if (!line.empty() && line[0] != '#') AddLine(line, library, bindings);
    }
    for (Function& function : functions) {
      if (auto found = bindings.find(std::string(function.name) + "()"); found != bindings.end()) {
        function.code = found->second->code;
        function.trait = found->second->trait;
      }
      function.unguarded = function.name == "contains" || function.name == "startsWith" || function.name == "endsWith" ||
                           function.name == "flatten";
    }
  }

  void AddLine(std::string_view line, Library library, const std::unordered_map<std::string_view, const Binding*>& bindings) {
    size_t space = line.find(' ');
    std::string_view name = line.substr(0, space);
    line.remove_prefix(space + 1);
    Overload overload;
    overload.library = library;
    overload.id = line.substr(0, line.find(' '));
    line.remove_prefix(overload.id.size() + 1);
    overload.member = line[0] == '.';
    if (overload.member) line.remove_prefix(1);
    size_t arrow = line.find(" -> ");
    std::string_view result = line.substr(arrow + 4);
    if (result.ends_with(" nonstrict")) {
      overload.non_strict = true;
      result.remove_suffix(std::string_view(" nonstrict").size());
    }
    overload.result = ParseType(result);
    if (arrow > 2) {
      Type args = ParseType("args" + std::string(line.substr(0, arrow)));
      overload.args = args.parameters();
    }
    for (const Type& arg : overload.args) CollectParams(arg, overload.type_params);
    CollectParams(overload.result, overload.type_params);
    if (auto found = bindings.find(overload.id); found != bindings.end()) overload.code = found->second->code;
    Function*& function = by_name[name];
    if (function == nullptr) {
      function = &functions.emplace_back();
      function->name = name;
    }
    function->overloads.push_back(std::move(overload));
  }
};

}  // namespace

const Function* FindFunction(std::string_view name) {
  static const Table table;
  auto found = table.by_name.find(name);
  return found == table.by_name.end() ? nullptr : found->second;
}

bool HasTrait(const Value& value, Trait trait) {
  switch (trait) {
    case Trait::kNone: return true;
    case Trait::kAdder:
      return value.IsNumber() || value.IsString() || value.IsBytes() || value.IsDuration() || value.IsTimestamp() || value.IsList();
    case Trait::kComparer:
      return value.IsNumber() || value.IsString() || value.IsBytes() || value.IsDuration() || value.IsTimestamp() || value.IsBool();
    case Trait::kDivider: case Trait::kMultiplier: return value.IsNumber();
    case Trait::kModder: return value.IsInt() || value.IsUint();
    case Trait::kNegator: return value.IsBool() || value.IsDouble() || value.IsDuration() || value.IsInt();
    case Trait::kSubtractor: return value.IsNumber() || value.IsDuration() || value.IsTimestamp();
    case Trait::kSizer: return value.IsString() || value.IsBytes() || value.IsList() || value.IsMap();
    case Trait::kMatcher: return value.IsString();
    case Trait::kContainer: case Trait::kIndexer: return value.IsList() || value.IsMap();
    case Trait::kLister: return value.IsList();
  }
  return false;
}

bool IsReceiver(const Value& value) { return value.IsString() || value.IsDuration() || value.IsTimestamp(); }

bool IsAssignableAtRunTime(const Type& type, const Value& value) {
  if (type.kind() == TypeKind::kTypeParam || type.IsDyn()) return !value.IsError();
  if (type.nullable() && value.IsNull()) return true;
  if (type.name() != value.TypeName()) return false;
  if (type.kind() == TypeKind::kList) {
    return value.list().size() == 0 || IsAssignableAtRunTime(type.parameters()[0], value.list().At(0));
  }
  if (type.kind() == TypeKind::kMap) {
    const Map& map = value.map();
    return map.size() == 0 || (IsAssignableAtRunTime(type.parameters()[0], map.KeyAt(0)) &&
                               IsAssignableAtRunTime(type.parameters()[1], map.ValueAt(0)));
  }
  return true;
}

Value NoSuchOverload(CallContext& context, std::string_view function, std::span<const Value> args) {
  std::string text = "no such overload: " + std::string(function) + "(";
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].IsError()) return args[i];
    if (i > 0) text += ", ";
    text += args[i].TypeName();
  }
  return MakeError(context.arena, text + ")");
}

}  // namespace homeostat::cel::internal
