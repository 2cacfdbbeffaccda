#include "object/internal/yaml_nodes.h"

#include <yaml.h>

#include <algorithm>

#include "homeostat/object/yaml.h"
#include "object/internal/yaml_resolve.h"

namespace homeostat::object::internal {
namespace {

// libyaml goes through all brackets that are open for each token: this many token-levels are about a second.
constexpr size_t kFlowBudget = 300'000'000;
// libyaml compares each directive with all before it.
constexpr int kMostDirectives = 100;

size_t FlowLimit(size_t text_size) {
  return std::clamp<size_t>(kFlowBudget / std::max<size_t>(text_size, 1), 100, kMaxYamlDepth);
}

// Lines that begin with % before anything else.
bool HasTooManyDirectives(std::string_view text) {
  int directives = 0;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with('%')) {
      if (++directives > kMostDirectives) return true;
    } else if (size_t first = line.find_first_not_of(" \t\r"); first != std::string_view::npos && line[first] != '#') {
      return false;
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return false;
}

std::string_view View(const yaml_char_t* text, size_t size) { return {reinterpret_cast<const char*>(text), size}; }
std::string_view View(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : std::string_view(reinterpret_cast<const char*>(text));
}

}  // namespace

bool YamlNode::IsMergeKey() const {
  return kind == Kind::kScalar && value == "<<" &&
         (implicit || (tag.starts_with(kYamlTagPrefix) && tag.substr(kYamlTagPrefix.size()) == "merge"));
}

// Turns libyaml's events into nodes. The lists and mappings that are open are on a stack of its own.
class YamlReader {
 public:
  YamlReader(YamlNodes& nodes, std::string_view text) : nodes_(nodes), flow_limit_(FlowLimit(text.size())) {
    ready_ = yaml_parser_initialize(&parser_) != 0;
    // An empty input reads as an empty line, as upstream sees to.
    if (text.empty()) text = "\n";
    if (ready_) yaml_parser_set_input_string(&parser_, reinterpret_cast<const yaml_char_t*>(text.data()), text.size());
  }
  ~YamlReader() {
    if (ready_) yaml_parser_delete(&parser_);
  }
  YamlReader(const YamlReader&) = delete;
  YamlReader& operator=(const YamlReader&) = delete;

  Result<YamlNode*> Run() {
    if (!ready_) return Fail(InternalError("yaml: out of memory"));
    while (!done_) {
      yaml_event_t event;
      if (yaml_parser_parse(&parser_, &event) == 0) return Fail(ParserError());
      Done taken = Take(event);
      yaml_event_delete(&event);
      TRY(taken);
    }
    return root_;
  }

 private:
  Done Take(const yaml_event_t& event) {
    switch (event.type) {
      case YAML_SCALAR_EVENT:
        return TakeScalar(event);
      case YAML_ALIAS_EVENT:
        return TakeAlias(event);
      case YAML_SEQUENCE_START_EVENT: {
        const auto& start = event.data.sequence_start;
        return Open(YamlNode::Kind::kSequence, event, start.anchor, start.tag, start.style == YAML_FLOW_SEQUENCE_STYLE);
      }
      case YAML_MAPPING_START_EVENT: {
        const auto& start = event.data.mapping_start;
        return Open(YamlNode::Kind::kMapping, event, start.anchor, start.tag, start.style == YAML_FLOW_MAPPING_STYLE);
      }
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        if (open_.back().flow) --flow_depth_;
        open_.pop_back();
        return {};
      case YAML_DOCUMENT_END_EVENT:
      case YAML_STREAM_END_EVENT:
        done_ = true;
        return {};
      default:
        return {};
    }
  }

  YamlNode* Add(YamlNode::Kind kind, const yaml_event_t& event) {
    YamlNode& node = nodes_.nodes_.emplace_back();
    node.kind = kind;
    node.line = event.start_mark.line + 1;
    if (open_.empty()) {
      root_ = &node;
    } else {
      open_.back().node->children.push_back(&node);
    }
    return &node;
  }

  Done TakeScalar(const yaml_event_t& event) {
    const auto& scalar = event.data.scalar;
    YamlNode* node = Add(YamlNode::Kind::kScalar, event);
    node->value = nodes_.arena_.Copy(View(scalar.value, scalar.length));
    node->tag = nodes_.arena_.Copy(View(scalar.tag));
    node->implicit = scalar.plain_implicit != 0;
    SetAnchor(scalar.anchor, node);
    return {};
  }

  Done TakeAlias(const yaml_event_t& event) {
    YamlNode* node = Add(YamlNode::Kind::kAlias, event);
    node->value = nodes_.arena_.Copy(View(event.data.alias.anchor));
    auto anchor = anchors_.find(node->value);
    if (anchor == anchors_.end()) {
      return Fail(BadRequestError("yaml: unknown anchor '" + std::string(node->value) + "' referenced"));
    }
    node->target = anchor->second;
    return {};
  }

  Done Open(YamlNode::Kind kind, const yaml_event_t& event, const yaml_char_t* anchor, const yaml_char_t* tag, bool flow) {
    YamlNode* node = Add(kind, event);
    node->tag = nodes_.arena_.Copy(View(tag));
    SetAnchor(anchor, node);
    open_.push_back({node, flow});
    if (flow) ++flow_depth_;
    size_t limit = flow_depth_ > flow_limit_ ? flow_limit_ : static_cast<size_t>(kMaxYamlDepth);
    if (flow_depth_ <= flow_limit_ && open_.size() <= static_cast<size_t>(kMaxYamlDepth)) return {};
    return Fail(BadRequestError("yaml: line " + std::to_string(node->line) + ": exceeded max depth of " +
                                std::to_string(limit)));
  }

  // A later anchor of the same name takes its place.
  void SetAnchor(const yaml_char_t* anchor, YamlNode* node) {
    if (anchor != nullptr) anchors_[nodes_.arena_.Copy(View(anchor))] = node;
  }

  // Upstream shows a parser's line counted from zero, and a scanner's from one.
  Status ParserError() const {
    size_t line = parser_.problem_mark.line;
    if (line != 0) {
      if (parser_.error == YAML_SCANNER_ERROR) ++line;
    } else {
      line = parser_.context_mark.line;
    }
    std::string where = line != 0 ? "line " + std::to_string(line) + ": " : "";
    return BadRequestError("yaml: " + where + (parser_.problem ? parser_.problem : "unknown problem parsing YAML content"));
  }

  struct OpenNode {
    YamlNode* node;
    bool flow;
  };

  YamlNodes& nodes_;
  size_t flow_limit_;
  yaml_parser_t parser_;
  bool ready_ = false;
  bool done_ = false;
  size_t flow_depth_ = 0;
  YamlNode* root_ = nullptr;
  std::vector<OpenNode> open_;
  std::unordered_map<std::string_view, YamlNode*> anchors_;
};

Result<YamlNode*> YamlNodes::Read(std::string_view text) {
  if (HasTooManyDirectives(text)) return Fail(BadRequestError("yaml: too many directives"));
  return YamlReader(*this, text).Run();
}

}  // namespace homeostat::object::internal
