#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "homeostat/base/text.h"
#include "homeostat/object/json.h"
#include "homeostat/object/yaml.h"
#include "object/internal/number.h"
#include "object/internal/utf8.h"
#include "object/internal/yaml_json.h"
#include "object/internal/yaml_nodes.h"
#include "object/internal/yaml_resolve.h"

namespace homeostat::object {
namespace {

using internal::YamlNode;
using internal::YamlScalar;

std::unexpected<Status> YamlError(std::string_view text) { return Fail(BadRequestError("yaml: " + std::string(text))); }

// A double as it is after a detour through JSON, which writes the fewest digits that tell it: without fraction and exponent it is
// an integer, if it fits.
Value FromDouble(double number) {
  if (std::trunc(number) != number) return Value::Double(number);
  std::string digits;
  AppendJsonDouble(digits, number);
  std::optional<int64_t> integer = internal::ParseInt(digits, 10);
  return integer ? Value::Int(*integer) : Value::Double(number);
}

// Share of all nodes that may come out of aliases: nearly all of a small document, a tenth of a large one.
double AllowedAliasShare(size_t decoded) {
  constexpr size_t kLow = 400'000, kHigh = 4'000'000;
  if (decoded <= kLow) return 0.99;
  if (decoded >= kHigh) return 0.10;
  return 0.99 - 0.89 * (static_cast<double>(decoded - kLow) / static_cast<double>(kHigh - kLow));
}

// A mapping as it fills. What a key was before it became a string decides whether it is there twice.
struct Mapping {
  struct Entry {
    std::string_view name;
    Value value;
  };
  std::vector<Entry> entries;
  std::unordered_map<std::string_view, size_t> by_name;
  std::unordered_set<std::string> seen;
};

struct Key {
  std::string_view name;
  std::string shown;        // as Go's %#v prints it
  std::string unsupported;  // its type and itself, if it cannot become a string
  char type = 's';          // 5 and 5.0 are two keys, though they look alike
};

// Go's %#v of a decoded tree, for messages about keys that are no scalars.
void AppendGoSyntax(std::string& out, const Value& value) {
  if (value.IsList()) {
    out += "[]interface {}{";
    for (const Value& item : value.items()) {
      if (&item != value.items().data()) out += ", ";
      AppendGoSyntax(out, item);
    }
    out += '}';
  } else if (value.IsObject()) {
    std::map<std::string_view, Value> sorted;
    for (const Member& member : value.members()) sorted[member.name()] = member.value;
    out += "map[interface {}]interface {}{";
    bool first = true;
    for (const auto& [name, member] : sorted) {
      if (!first) out += ", ";
      first = false;
      out += GoQuote(name) + ":";
      AppendGoSyntax(out, member);
    }
    out += '}';
  } else if (value.IsString()) {
    out += GoQuote(value.AsString());
  } else {
    out += value.IsNull() ? "interface {}(nil)" : JsonText(value);
  }
}

// Gives nodes their meaning. Recursion is bounded by kMaxYamlDepth, aliases counted in.
class Decoder {
 public:
  Decoder(Arena& arena, std::vector<std::string>* duplicates) : arena_(arena), duplicates_(duplicates) {}

  Result<Value> DecodeDocument(YamlNode& root) {
    TRY_ASSIGN(Value value, Decode(root));
    if (!unsupported_key_.empty()) return Fail(BadRequestError(unsupported_key_));
    if (!unsupported_number_.empty()) return Fail(BadRequestError("json: unsupported value: " + unsupported_number_));
    return value;
  }

 private:
  Result<Value> Decode(YamlNode& node) {
    TRY(Count(node));
    DepthGuard guard(depth_);
    switch (node.kind) {
      case YamlNode::Kind::kScalar:
        return Scalar(node);
      case YamlNode::Kind::kAlias:
        return Alias(node);
      case YamlNode::Kind::kSequence:
        return Sequence(node);
      case YamlNode::Kind::kMapping:
        break;
    }
    Mapping mapping;
    TRY(Fill(node, mapping));
    Member* members = arena_.AllocateArray<Member>(mapping.entries.size());
    for (size_t i = 0; i < mapping.entries.size(); ++i) {
      new (members + i) Member(mapping.entries[i].name, mapping.entries[i].value);
    }
    return Value::Object({members, mapping.entries.size()});
  }

  struct DepthGuard {
    explicit DepthGuard(int& depth) : depth_(depth) { ++depth_; }
    ~DepthGuard() { --depth_; }
    int& depth_;
  };

  // Every node counts each time it is decoded, so that aliases of aliases cannot grow without bound.
  Done Count(const YamlNode& node) {
    ++decoded_;
    if (alias_depth_ > 0) ++decoded_in_aliases_;
    bool many = decoded_in_aliases_ > 100 && decoded_ > 1000;
    if (many && static_cast<double>(decoded_in_aliases_) / static_cast<double>(decoded_) > AllowedAliasShare(decoded_)) {
      return YamlError("document contains excessive aliasing");
    }
    if (depth_ < 2 * kMaxYamlDepth) return {};
    return YamlError("line " + std::to_string(node.line) + ": exceeded max depth of " + std::to_string(kMaxYamlDepth));
  }

  Result<YamlScalar> Resolve(const YamlNode& node) {
    if (node.tag.empty() && !node.implicit) return YamlScalar{};
    Result<YamlScalar> scalar = internal::ResolveYaml(node.tag, node.value);
    if (!scalar) return YamlError(scalar.error().message());
    return scalar;
  }

  Result<Value> Scalar(const YamlNode& node) {
    TRY_ASSIGN(YamlScalar scalar, Resolve(node));
    switch (scalar.kind) {
      case YamlScalar::Kind::kNull:
        return Value::Null();
      case YamlScalar::Kind::kBool:
        return Value::Bool(scalar.boolean);
      case YamlScalar::Kind::kInt:
        return Value::Int(scalar.integer);
      case YamlScalar::Kind::kUint:
        return Value::Double(static_cast<double>(scalar.unsigned_integer));
      case YamlScalar::Kind::kFloat:
        if (std::isfinite(scalar.number)) return FromDouble(scalar.number);
        if (unsupported_number_.empty()) {
          unsupported_number_ = std::isnan(scalar.number) ? "NaN" : scalar.number > 0 ? "+Inf" : "-Inf";
        }
        return Value::Null();
      case YamlScalar::Kind::kBinary:
        return Binary(node);
      case YamlScalar::Kind::kString:
      case YamlScalar::Kind::kTimestamp:
      case YamlScalar::Kind::kMerge:
        break;
    }
    return Value::String(arena_, node.value);
  }

  // Octets are text to JSON; those that are not UTF-8 are lost on the way, as upstream loses them.
  Result<Value> Binary(const YamlNode& node) {
    Result<std::string> octets = DecodeBase64(node.value);
    if (!octets) return YamlError("!!binary value contains invalid base64 data");
    std::string text;
    for (std::string_view rest = *octets; !rest.empty();) {
      internal::Rune rune = internal::DecodeRune(rest);
      internal::AppendRune(text, rune.value);
      rest.remove_prefix(rune.size);
    }
    return Value::String(arena_, text);
  }

  Result<Value> Alias(YamlNode& node) {
    if (node.being_decoded) return YamlError("anchor '" + std::string(node.value) + "' value contains itself");
    node.being_decoded = true;
    ++alias_depth_;
    Result<Value> value = Decode(*node.target);
    --alias_depth_;
    node.being_decoded = false;
    return value;
  }

  Result<Value> Sequence(const YamlNode& node) {
    Value* items = arena_.AllocateArray<Value>(node.children.size());
    for (size_t i = 0; i < node.children.size(); ++i) {
      TRY_ASSIGN(Value item, Decode(*node.children[i]));
      new (items + i) Value(item);
    }
    return Value::List({items, node.children.size()});
  }

  Done Fill(const YamlNode& node, Mapping& mapping) {
    for (size_t i = 0; i + 1 < node.children.size(); i += 2) {
      YamlNode& key_node = *node.children[i];
      YamlNode& value_node = *node.children[i + 1];
      if (key_node.IsMergeKey()) {
        TRY(Merge(value_node, mapping));
        continue;
      }
      TRY_ASSIGN(Key key, DecodeKey(key_node));
      TRY_ASSIGN(Value value, Decode(value_node));
      if (!key.unsupported.empty()) NoteUnsupportedKey(key, value);
      Set(mapping, key, value, value_node.line);
    }
    return {};
  }

  // Upstream makes strings of keys when it has read all, and JSON after that: other faults come first.
  void NoteUnsupportedKey(const Key& key, const Value& value) {
    if (!unsupported_key_.empty()) return;
    unsupported_key_ = "unsupported map key of type: " + key.unsupported + ", value: ";
    if (value.IsNull()) {
      unsupported_key_ += "<nil>";
    } else {
      AppendGoSyntax(unsupported_key_, value);
    }
  }

  void Set(Mapping& mapping, const Key& key, const Value& value, size_t line) {
    if (duplicates_ != nullptr && !mapping.seen.insert(key.type + key.shown).second) {
      duplicates_->push_back("line " + std::to_string(line) + ": key " + key.shown + " already set in map");
    }
    auto [entry, added] = mapping.by_name.emplace(key.name, mapping.entries.size());
    if (added) {
      mapping.entries.push_back({key.name, value});
    } else {
      mapping.entries[entry->second].value = value;
    }
  }

  Result<Key> DecodeKey(YamlNode& node) {
    YamlNode& target = node.kind == YamlNode::Kind::kAlias ? *node.target : node;
    if (target.kind != YamlNode::Kind::kScalar) {
      TRY_ASSIGN(Value value, Decode(node));
      std::string shown;
      AppendGoSyntax(shown, value);
      return YamlError("invalid map key: " + shown);
    }
    TRY(Count(node));
    if (&target != &node) {
      ++alias_depth_;
      Done counted = Count(target);
      --alias_depth_;
      TRY(counted);
    }
    TRY_ASSIGN(YamlScalar scalar, Resolve(target));
    return NameOf(target, scalar);
  }

  Result<Key> NameOf(const YamlNode& node, const YamlScalar& scalar) {
    std::string name;
    switch (scalar.kind) {
      case YamlScalar::Kind::kBool:
        name = scalar.boolean ? "true" : "false";
        return Key{arena_.Copy(name), name, {}, 'b'};
      case YamlScalar::Kind::kInt:
        name = std::to_string(scalar.integer);
        return Key{arena_.Copy(name), name, {}, 'i'};
      case YamlScalar::Kind::kFloat:
        // Rounded to 32 bits, as upstream does.
        name = internal::FormatShortest(static_cast<float>(scalar.number));
        return Key{arena_.Copy(name), internal::FormatShortest(scalar.number), {}, 'f'};
      case YamlScalar::Kind::kNull:
        return Key{"null", "interface {}(nil)", "%!s(<nil>), key: <nil>"};
      case YamlScalar::Kind::kUint: {
        name = std::to_string(scalar.unsigned_integer);
        char hexadecimal[24];
        std::snprintf(hexadecimal, sizeof(hexadecimal), "%#" PRIx64, scalar.unsigned_integer);
        return Key{arena_.Copy(name), hexadecimal, std::string("uint64, key: ") + hexadecimal};
      }
      case YamlScalar::Kind::kBinary: {
        TRY_ASSIGN(Value text, Binary(node));
        return Key{text.AsString(), GoQuote(text.AsString()), {}};
      }
      case YamlScalar::Kind::kString:
      case YamlScalar::Kind::kTimestamp:
      case YamlScalar::Kind::kMerge:
        break;
    }
    return Key{arena_.Copy(node.value), GoQuote(node.value), {}};
  }

  Done Merge(YamlNode& node, Mapping& mapping) {
    if (node.kind != YamlNode::Kind::kSequence) return MergeOne(node, mapping);
    for (size_t i = node.children.size(); i-- > 0;) TRY(MergeOne(*node.children[i], mapping));
    return {};
  }

  // What is merged is set as if it were written at this place: upstream lets it win over keys that stand before.
  Done MergeOne(YamlNode& node, Mapping& mapping) {
    YamlNode* target = node.kind == YamlNode::Kind::kAlias ? node.target : &node;
    if (target->kind != YamlNode::Kind::kMapping) {
      return YamlError("map merge requires map or sequence of maps as the value");
    }
    DepthGuard guard(depth_);
    TRY(Count(node));
    if (target == &node) return Fill(node, mapping);
    if (node.being_decoded) return YamlError("anchor '" + std::string(node.value) + "' value contains itself");
    node.being_decoded = true;
    ++alias_depth_;
    Done counted = Count(*target);
    Done filled = counted ? Fill(*target, mapping) : counted;
    --alias_depth_;
    node.being_decoded = false;
    return filled;
  }

  Arena& arena_;
  std::vector<std::string>* duplicates_;
  int depth_ = 0;
  int alias_depth_ = 0;
  size_t decoded_ = 0;
  size_t decoded_in_aliases_ = 0;
  std::string unsupported_key_;
  std::string unsupported_number_;
};

}  // namespace

Result<Value> ParseYaml(Arena& arena, std::string_view text, std::vector<std::string>* duplicate_keys) {
  if (auto read = internal::ReadJsonAsYaml(arena, text)) return *read;
  internal::YamlNodes nodes;
  TRY_ASSIGN(YamlNode * root, nodes.Read(text));
  if (root == nullptr) return Value::Null();
  return Decoder(arena, duplicate_keys).DecodeDocument(*root);
}

Result<std::shared_ptr<Document>> ParseYamlDocument(std::string_view text, std::vector<std::string>* duplicate_keys) {
  auto document = std::make_shared<Document>();
  TRY_ASSIGN(Value root, ParseYaml(document->arena(), text, duplicate_keys));
  document->set_root(root);
  return document;
}

std::string StrictYamlMessage(const std::vector<std::string>& duplicate_keys) {
  std::string message = "yaml: unmarshal errors:";
  for (const std::string& key : duplicate_keys) message += "\n  " + key;
  return message;
}

std::vector<std::string_view> SplitYamlDocuments(std::string_view text) {
  std::vector<std::string_view> documents;
  size_t start = 0;
  auto add = [&](size_t end) {
    std::string_view document = text.substr(start, end - start);
    if (document.find_first_not_of(" \t\r\n") != std::string_view::npos) documents.push_back(document);
  };
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    size_t next = std::min(end + 1, text.size());
    if (line.starts_with("---")) {
      size_t rest = line.find_first_not_of(" \t\r", 3);
      if (rest == std::string_view::npos || line[rest] == '#') {
        add(at);
        start = next;
      }
    }
    at = next;
  }
  add(text.size());
  return documents;
}

}  // namespace homeostat::object
