#include "patch/json_patch.h"

#include <charconv>
#include <expected>
#include <optional>
#include <utility>

#include "homeostat/object/json.h"
#include "patch/internal/json_draft.h"

namespace homeostat::patch {

using internal::Draft;
using internal::DraftNode;
using object::Member;

namespace {

// Why an operation does not apply. Clients that patch are not told: upstream answers all of these in the same words.
using Outcome = std::expected<void, std::string>;
std::unexpected<std::string> Not(std::string why) { return std::unexpected(std::move(why)); }

constexpr std::string_view kMissing = ": missing value", kTestFailed = ": test failed";

std::string Quoted(std::string_view text) { return "'" + std::string(text) + "'"; }
std::string_view PathOf(const Value& operation, std::string_view name = "path") { return operation.Get(name).AsString(); }

Status DoesNotApply() {
  return Status(422, "Invalid", "the server rejected our request due to an error in our request")
      .WithDetails(StatusDetails());
}

// ~1 is a slash, ~0 a tilde.
std::string DecodeStep(std::string_view step) {
  std::string decoded;
  for (size_t i = 0; i < step.size(); ++i) {
    char next = step[i] == '~' && i + 1 < step.size() ? step[i + 1] : '\0';
    if (next == '0' || next == '1') {
      decoded += next == '0' ? '~' : '/';
      ++i;
    } else {
      decoded += step[i];
    }
  }
  return decoded;
}

std::optional<int64_t> ParseIndex(std::string_view text) {
  if (text.starts_with('+'))
    text.remove_prefix(1);
  else if (text.starts_with("-+"))
    return std::nullopt;
  int64_t index = 0;
  auto read = std::from_chars(text.data(), text.data() + text.size(), index);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || text.empty()) return std::nullopt;
  return index;
}

// A position among `count`; negative ones count from the end.
std::expected<size_t, std::string> Position(std::string_view text, size_t count) {
  std::optional<int64_t> index = ParseIndex(text);
  if (!index) return Not("strconv.Atoi: parsing " + object::JsonText(Value::StringRef(text)) + ": invalid syntax");
  auto limit = static_cast<int64_t>(count);
  if (*index >= limit || *index < -limit) {
    return Not("Unable to access invalid index: " + std::to_string(*index) + ": invalid index referenced");
  }
  return static_cast<size_t>(*index < 0 ? *index + limit : *index);
}

// What holds the thing a path leads to, and its step in there.
struct Place {
  DraftNode* container;
  std::string step;
};

class Patcher {
 public:
  Patcher(Arena& arena, const Value& document, int64_t most_copied_bytes)
      : draft_(arena, document), most_copied_bytes_(most_copied_bytes) {}

  Outcome Apply(const Value& operation) {
    std::string_view kind = operation.Get("op").AsString();
    if (kind == "add") return Add(operation);
    if (kind == "remove") return Remove(operation);
    if (kind == "replace") return Replace(operation);
    if (kind == "move") return Move(operation);
    if (kind == "copy") return Copy(operation);
    if (kind == "test") return Test(operation);
    return Not("Unexpected kind: " + std::string(kind));
  }

  Value Result() const { return draft_.Freeze(draft_.root()); }

 private:
  // The value of an operation that has none is null as well.
  static Value ValueOf(const Value& operation) {
    Value value = operation.Get("value");
    return value.IsAbsent() ? Value::Null() : value;
  }

  // Where the path of that field leads. The error is `lost`, with the path in quotes where that is asked for.
  std::expected<Place, std::string> Find(const Value& operation, std::string_view name, const std::string& kind, std::string_view lost,
                                         std::string_view quote = "") {
    Value path = operation.Get(name);
    if (!path.IsString()) return Not(kind + " operation failed to decode " + std::string(name) + std::string(kMissing));
    std::string_view rest = path.AsString();
    auto missing = [&] {
      return Not(kind + " operation does not apply: " + std::string(lost) + ": " + std::string(quote) + std::string(path.AsString()) +
                 std::string(quote) + std::string(kMissing));
    };
    size_t slash = rest.find('/');
    if (slash == std::string_view::npos) return missing();
    rest.remove_prefix(slash + 1);
    DraftNode* node = draft_.root();
    for (slash = rest.find('/'); slash != std::string_view::npos; slash = rest.find('/')) {
      auto next = Get(node, DecodeStep(rest.substr(0, slash)));
      node = next.value_or(nullptr);
      if (node == nullptr || (!node->IsObject() && !node->IsList())) return missing();
      rest.remove_prefix(slash + 1);
    }
    return Place{node, DecodeStep(rest)};
  }

  // Null: the object has no such member. An error: the list has no such item.
  std::expected<DraftNode*, std::string> Get(DraftNode* container, std::string_view step) {
    if (container->IsObject()) return draft_.Member(container, step);
    std::vector<DraftNode*>& items = draft_.Items(container);
    auto position = Position(step, items.size());
    if (!position) return Not(position.error());
    return items[*position];
  }

  Outcome Put(const Place& place, DraftNode* value) {
    if (place.container->IsObject()) {
      draft_.SetMember(place.container, place.step, value);
      return {};
    }
    std::vector<DraftNode*>& items = draft_.Items(place.container);
    if (place.step == "-") {
      items.push_back(value);
      return {};
    }
    auto position = Position(place.step, items.size() + 1);
    if (!position) {
      bool number = ParseIndex(place.step).has_value();
      return Not((number ? std::string() : "value was not a proper array index: " + Quoted(place.step) + ": ") + position.error());
    }
    items.insert(items.begin() + static_cast<ptrdiff_t>(*position), value);
    return {};
  }

  Outcome Take(const Place& place) {
    if (place.container->IsObject()) {
      if (!draft_.EraseMember(place.container, place.step)) {
        return Not("Unable to remove nonexistent key: " + place.step + std::string(kMissing));
      }
      return {};
    }
    std::vector<DraftNode*>& items = draft_.Items(place.container);
    auto position = Position(place.step, items.size());
    if (!position) return Not(position.error());
    items.erase(items.begin() + static_cast<ptrdiff_t>(*position));
    return {};
  }

  static Outcome Within(Outcome outcome, const std::string& what, std::string_view path) {
    if (outcome) return outcome;
    return Not("error in " + what + ": " + Quoted(path) + ": " + outcome.error());
  }

  Outcome Add(const Value& operation) {
    auto place = Find(operation, "path", "add", "doc is missing path", "\"");
    if (!place) return Not(place.error());
    return Within(Put(*place, draft_.Make(ValueOf(operation))), "add for path", PathOf(operation));
  }

  Outcome Remove(const Value& operation) {
    auto place = Find(operation, "path", "remove", "doc is missing path", "\"");
    if (!place) return Not(place.error());
    return Within(Take(*place), "remove for path", PathOf(operation));
  }

  Outcome Replace(const Value& operation) {
    Value value = ValueOf(operation);
    if (operation.Get("path").IsString() && operation.Get("path").AsString().empty()) {
      if (!value.IsObject() && !value.IsList()) return Not("replace operation value must be object or array");
      draft_.set_root(draft_.Make(value));
      return {};
    }
    auto place = Find(operation, "path", "replace", "doc is missing path");
    if (!place) return Not(place.error());
    if (place->container->IsObject()) {
      draft_.SetMember(place->container, place->step, draft_.Make(value));
      return {};
    }
    std::vector<DraftNode*>& items = draft_.Items(place->container);
    auto position = Position(place->step, items.size());
    if (!position) {
      return Not("replace operation does not apply: doc is missing key: " + std::string(PathOf(operation)) + std::string(kMissing));
    }
    items[*position] = draft_.Make(value);
    return {};
  }

  Outcome Move(const Value& operation) {
    auto from = Find(operation, "from", "move", "doc is missing from path");
    if (!from) return Not(from.error());
    auto value = Get(from->container, from->step);
    if (!value) return Within(Not(value.error()), "move for path", from->step);
    if (Outcome taken = Take(*from); !taken) return Within(taken, "move for path", from->step);
    auto place = Find(operation, "path", "move", "doc is missing destination path");
    if (!place) return Not(place.error());
    return Within(Put(*place, *value), "move for path", PathOf(operation));
  }

  Outcome Copy(const Value& operation) {
    auto from = Find(operation, "from", "copy", "doc is missing from path");
    if (!from) return Not(from.error());
    auto original = Get(from->container, from->step);
    if (!original) return Within(Not(original.error()), "copy for from", PathOf(operation, "from"));
    auto place = Find(operation, "path", "copy", "doc is missing destination path");
    if (!place) return Not(place.error());
    Value value = *original ? draft_.Freeze(*original) : Value::Null();
    if (value) copied_bytes_ += static_cast<int64_t>(object::JsonText(value).size());
    if (most_copied_bytes_ > 0 && copied_bytes_ > most_copied_bytes_) {
      return Not("Unable to complete the copy, the accumulated size increase of copy is " + std::to_string(copied_bytes_) +
                 ", exceeding the limit " + std::to_string(most_copied_bytes_));
    }
    Outcome put = Put(*place, draft_.Make(value));
    return put ? put : Not("error while adding value during copy: " + put.error());
  }

  Outcome Test(const Value& operation) {
    Value wanted = ValueOf(operation);
    DraftNode* found = draft_.root();
    if (!operation.Get("path").IsString() || !operation.Get("path").AsString().empty()) {
      auto place = Find(operation, "path", "test", "is missing path");
      if (!place) return Not(place.error());
      auto at = Get(place->container, place->step);
      if (!at) return Within(Not(at.error()), "test for path", PathOf(operation));
      found = *at;
    }
    // A missing member is as good as null.
    bool equal = found == nullptr || found->IsNull() ? wanted.IsNull() : draft_.Equal(found, wanted);
    if (!equal) return Not("testing value " + std::string(PathOf(operation)) + " failed" + std::string(kTestFailed));
    return {};
  }

  Draft draft_;
  int64_t most_copied_bytes_;
  int64_t copied_bytes_ = 0;
};

std::string_view JsonKind(const Value& value) {
  if (value.IsObject()) return "object";
  if (value.IsList()) return "array";
  if (value.IsString() || value.IsBytes()) return "string";
  return value.IsBool() ? "bool" : "number";
}

Status WrongType(const Value& value, const std::string& into, PatchDecoding decoding) {
  std::string prefix = decoding == PatchDecoding::kChecked ? "error decoding patch: " : "";
  return BadRequestError(prefix + "json: cannot unmarshal " + std::string(JsonKind(value)) + " into Go " + into);
}

// Strict decoding fills a struct with these fields; null leaves a field as it is.
Done CheckOperation(const Value& operation, size_t index, const JsonPatchOptions& options) {
  for (const Member& member : operation.members()) {
    std::string_view name = member.name();
    if (name == "value") continue;
    if (name == "op" || name == "path" || name == "from") {
      if (!member.value || member.value.IsString()) continue;
      return Fail(WrongType(member.value, "struct field jsonPatchOp." + std::string(name) + " of type string",
                            options.decoding));
    }
    if (options.problems) {
      options.problems->push_back("json patch unknown field \"[" + std::to_string(index) + "]." + std::string(name) +
                                  "\"");
    }
  }
  return {};
}

Done CheckPatch(const Value& patch, const JsonPatchOptions& options) {
  bool checked = options.decoding == PatchDecoding::kChecked;
  if (patch && !patch.IsList()) {
    return Fail(WrongType(patch, checked ? "value of type []handlers.jsonPatchOp" : "value of type jsonpatch.Patch",
                          options.decoding));
  }
  for (size_t i = 0; i < patch.size(); ++i) {
    const Value& operation = patch.items()[i];
    if (operation && !operation.IsObject()) {
      return Fail(WrongType(operation,
                            checked ? "value of type handlers.jsonPatchOp" : "value of type jsonpatch.Operation",
                            options.decoding));
    }
    if (checked) TRY(CheckOperation(operation, i, options));
  }
  if (patch.size() > kMostJsonPatchOperations) {
    return Fail(RequestTooLargeError("The allowed maximum operations in a JSON patch is " +
                                     std::to_string(kMostJsonPatchOperations) + ", got " +
                                     std::to_string(patch.size())));
  }
  return {};
}

}  // namespace

Result<Value> ApplyJsonPatch(Arena& arena, const Value& document, const Value& patch, const JsonPatchOptions& options) {
  TRY(CheckPatch(patch, options));
  Patcher patcher(arena, document, options.most_copied_bytes);
  for (const Value& operation : patch.items()) {
    Outcome applied = patcher.Apply(operation);
    if (applied) continue;
    if (options.fault != nullptr) *options.fault = {applied.error(), applied.error().ends_with(kTestFailed)};
    return Fail(DoesNotApply());
  }
  return patcher.Result();
}

}  // namespace homeostat::patch
