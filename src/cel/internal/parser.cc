#include "cel/internal/parser.h"

#include <algorithm>
#include <initializer_list>
#include <span>

#include "cel/internal/grammar.h"
#include "cel/internal/lexer.h"
#include "cel/internal/literals.h"
#include "cel/internal/macros.h"
#include "cel/internal/tree_builder.h"
#include "cel/reserved_words.h"

namespace homeostat::cel::internal {

namespace {

class Parser {
 public:
  Parser(const Source& source, const ParserOptions& options, Issues& issues, Ast& ast)
      : source_(source), options_(options), issues_(issues), build_(ast), tokens_(Lex(source, issues)) {}

  ExprPtr Run() {
    ExprPtr root = Expression();
    if (!stopped_ && Type() != Token::kEnd) EndError();
    return root;
  }

 private:
  // Counts how deep one rule of the grammar is nested while it lives.
  class Depth {
   public:
    Depth(Parser& parser, int& depth) : depth_(depth) {
      if (++depth_ > kMaxRecursion) parser.TooDeep("expression recursion limit exceeded: " + std::to_string(kMaxRecursion));
    }
    ~Depth() { --depth_; }

   private:
    int& depth_;
  };

  // Limits chains too, which nest to the left without a rule in another.
  ExprPtr Tall(ExprPtr node, int height) {
    if (height > kMaxRecursion) TooDeep("max recursion depth exceeded");
    node->height = static_cast<uint16_t>(height);
    return node;
  }
  static int Tallest(std::span<const ExprPtr> nodes) {
    int height = 0;
    for (const ExprPtr& node : nodes) height = std::max<int>(height, node->height);
    return height;
  }
  ExprPtr Join(std::string_view function, ExprPtr left, ExprPtr right, int more) {
    int height = std::max(left->height, right->height) + more;
    return Tall(build_.Call(function, std::move(left), std::move(right)), height);
  }
  ExprPtr Inside(std::initializer_list<Token> follow) {
    uint64_t tokens = 0;
    for (Token token : follow) tokens |= Bit(token);
    follow_.push_back(tokens);
    ExprPtr inner = Expression();
    follow_.pop_back();
    return inner;
  }
  static uint64_t Bit(Token token) { return uint64_t{1} << static_cast<int>(token); }

  Token Type(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)].type; }
  int32_t Offset() const { return tokens_[at_].begin; }
  std::string Text(size_t token) const {
    return source_.Slice(static_cast<size_t>(tokens_[token].begin), static_cast<size_t>(tokens_[token].end));
  }
  std::string Quoted(Token type, size_t token) const {
    return type == Token::kEnd ? "'<EOF>'" : "'" + Text(std::min(token, tokens_.size() - 1)) + "'";
  }
  void Next() {
    if (at_ + 1 < tokens_.size()) ++at_;
  }
  bool Take(Token type) {
    if (stopped_ || Type() != type) return false;
    Next();
    return true;
  }

  ExprPtr Bad() {
    build_.set_offset(Offset());
    return build_.New(ExprKind::kUnspecified);
  }
  ExprPtr Report(int32_t offset, std::string message) {
    if (!too_deep_) issues_.Add(offset, std::move(message));
    build_.set_offset(offset);
    return build_.New(ExprKind::kUnspecified);
  }
  ExprPtr Syntax(const std::string& message) {
    if (!stopped_) issues_.Add(Offset(), "Syntax error: " + message);
    stopped_ = true;
    return Bad();
  }
  void TooDeep(std::string message) {
    if (!too_deep_) issues_.Add(kNowhere, std::move(message));
    stopped_ = too_deep_ = true;
  }
  ExprPtr Mismatched(std::string_view expected) {
    return Syntax("mismatched input " + Quoted(Type(), at_) + " expecting " + std::string(expected));
  }
  // Whether a token can stand behind a closing bracket.
  static bool Continues(Token token) {
    std::string_view name;
    return token == Token::kDot || token == Token::kLeftBracket || token == Token::kQuestion || token == Token::kAnd ||
           token == Token::kOr || CalcStrength(token, name) > 0 || !RelationOperator(token).empty();
  }
  // Takes a closing bracket or a colon, or says that it is not there. As the original, it then goes on where the token
  // could simply be put in or what stands before it be left out.
  void Expect(Token type, std::string_view expected) {
    if (stopped_ || Take(type)) return;
    bool one = expected.size() < 4;  // nothing else was possible
    std::string quoted = "'" + std::string(expected) + "'";
    if (expected.size() == 1) expected = quoted;
    bool more = expected.back() == '}' && expected.size() > 3;
    bool insert = type == Token::kColon ? StartsExpression(Type()) : one && MayFollow(Type());
    if (Type() != Token::kEnd && Type(1) == type) {
      Skip(expected);
      Take(type);
    } else if (more && Type() != Token::kEnd && Type(1) == Token::kComma) {
      Skip(expected);
      Next();
      Expect(type, expected.substr(1, 3));
    } else if (insert) {
      issues_.Add(Offset(), "Syntax error: missing " + std::string(expected) + " at " + Quoted(Type(), at_));
    } else {
      Mismatched(expected);
    }
  }
  bool MayFollow(Token token) const {
    return Continues(token) || (follow_.empty() ? token == Token::kEnd : (follow_.back() & Bit(token)) != 0);
  }
  // Leaves a token out.
  void Skip(std::string_view expected) {
    issues_.Add(Offset(), "Syntax error: extraneous input " + Quoted(Type(), at_) + " expecting " + std::string(expected));
    Next();
  }
  // At the start of an expression that may also be something else: what is neither is left out if the next token is good.
  bool StartsOrSkips(std::string_view expected, Token other) {
    bool question = Type() == Token::kQuestion && other != Token::kRightParen;
    if (StartsExpression(Type()) || Type() == other || question || stopped_) return true;
    if (Type() != Token::kEnd && (StartsExpression(Type(1)) || Type(1) == other)) {
      Skip(expected);
      return true;
    }
    Mismatched(expected);
    return false;
  }

  void EndError() {
    if (Type() == Token::kColon || Type() == Token::kRightParen || Type() == Token::kRightBracket ||
        Type() == Token::kRightBrace || Type() == Token::kComma || Type() == Token::kNot || StartsExpression(Type())) {
      bool single = Type(1) == Token::kEnd;
      Syntax((single ? "extraneous input " : "mismatched input ") + Quoted(Type(), at_) + " expecting <EOF>");
    } else {
      Syntax("mismatched input " + Quoted(Type(), at_) + " expecting <EOF>");
    }
  }

  ExprPtr Expression() {
    Depth depth(*this, expr_depth_);
    if (stopped_) return Bad();
    ExprPtr condition = LogicalOr();
    if (stopped_ || Type() != Token::kQuestion) return condition;
    int32_t offset = Offset();
    Next();
    follow_.push_back(Bit(Token::kColon));
    ExprPtr if_true = LogicalOr();
    follow_.pop_back();
    Expect(Token::kColon, "':'");
    if (stopped_) return condition;
    ExprPtr if_false = Expression();
    build_.set_offset(offset);
    int height = std::max({condition->height, if_true->height, if_false->height}) + 1;
    return Tall(build_.Call("_?_:_", std::move(condition), std::move(if_true), std::move(if_false)), height);
  }

  ExprPtr LogicalOr() { return Logical(Token::kOr, "_||_"); }
  ExprPtr LogicalAnd() { return Logical(Token::kAnd, "_&&_"); }

  ExprPtr Logical(Token type, std::string_view function) {
    std::vector<ExprPtr> terms;
    std::vector<int32_t> offsets;
    terms.push_back(type == Token::kOr ? LogicalAnd() : Relation());
    while (!stopped_ && Type() == type) {
      offsets.push_back(Offset());
      Next();
      terms.push_back(type == Token::kOr ? LogicalAnd() : Relation());
    }
    if (terms.size() == 1) return std::move(terms[0]);
    return Balanced(function, terms, offsets, 0, static_cast<int>(offsets.size()) - 1);
  }

  ExprPtr Balanced(std::string_view function, std::vector<ExprPtr>& terms, const std::vector<int32_t>& offsets, int low,
                   int high) {
    int middle = (low + high + 1) / 2;
    ExprPtr left = middle == low ? std::move(terms[middle]) : Balanced(function, terms, offsets, low, middle - 1);
    ExprPtr right = middle == high ? std::move(terms[middle + 1]) : Balanced(function, terms, offsets, middle + 1, high);
    build_.set_offset(offsets[middle]);
    return Join(function, std::move(left), std::move(right), 0);
  }

  ExprPtr Relation() {
    Depth depth(*this, relation_depth_);
    if (stopped_) return Bad();
    ExprPtr left = Calc(1);
    while (!stopped_) {
      std::string_view name = RelationOperator(Type());
      if (name.empty()) break;
      int32_t offset = Offset();
      Next();
      Depth operand(*this, relation_depth_);
      ExprPtr right = Calc(1);
      build_.set_offset(offset);
      left = Join(name, std::move(left), std::move(right), 1);
    }
    return left;
  }

  ExprPtr Calc(int least) {
    Depth depth(*this, calc_depth_);
    if (stopped_) return Bad();
    ExprPtr left = Unary();
    while (!stopped_) {
      std::string_view name;
      int strength = CalcStrength(Type(), name);
      if (strength < least || strength == 0) break;
      int32_t offset = Offset();
      Next();
      ExprPtr right = Calc(strength + 1);
      build_.set_offset(offset);
      left = Join(name, std::move(left), std::move(right), 1);
    }
    return left;
  }

  ExprPtr Unary() {
    if (Type() != Token::kNot && Type() != Token::kMinus) return Member();
    Token sign = Type();
    if (sign == Token::kMinus && (Type(1) == Token::kInt || Type(1) == Token::kFloat)) return Member();
    int32_t offset = Offset();
    size_t count = 0;
    while (Type() == sign) {
      ++count;
      Next();
    }
    bool literal = Type() == Token::kMinus && (Type(1) == Token::kInt || Type(1) == Token::kFloat);
    if (!StartsExpression(Type()) || Type() == Token::kNot || (Type() == Token::kMinus && !literal)) return UnaryError(sign);
    ExprPtr operand = Member();
    if (count % 2 == 0 || stopped_) return operand;
    build_.set_offset(offset);
    int height = operand->height;
    return Tall(build_.Call(sign == Token::kNot ? "!_" : "-_", std::move(operand)), height);
  }

  // Behind a sign there is nothing that it could stand in front of.
  ExprPtr UnaryError(Token sign) {
    if (sign == Token::kNot) {
      return Syntax("extraneous input " + Quoted(Type(), at_) + " expecting " + std::string(kExpressionStart));
    }
    ExprPtr bad = Syntax("no viable alternative at input '-" + (Type() == Token::kEnd ? "" : Text(at_)) + "'");
    if (Type() == Token::kEnd) {
      issues_.Add(Offset(), "Syntax error: mismatched input '<EOF>' expecting " + std::string(kExpressionStart));
    }
    return bad;
  }

  ExprPtr Member() {
    Depth depth(*this, member_depth_);
    if (stopped_) return Bad();
    ExprPtr operand = Primary();
    while (!stopped_ && (Type() == Token::kDot || Type() == Token::kLeftBracket)) {
      operand = Type() == Token::kDot ? SelectOrCall(std::move(operand)) : Index(std::move(operand));
    }
    return operand;
  }

  ExprPtr Selected(ExprPtr operand, std::string_view name) {
    int height = operand->height + 1;
    return Tall(build_.Select(std::move(operand), name), height);
  }

  ExprPtr SelectOrCall(ExprPtr operand) {
    int32_t dot = Offset();
    Next();
    bool optional = Take(Token::kQuestion);
    if (Type() == Token::kEscapedIdentifier) {
      Report(Offset(), "unsupported syntax: '`'");
      Next();
      build_.set_offset(dot);
      return Selected(std::move(operand), "");
    }
    if (Type() != Token::kIdentifier) {
      if (optional) {
        ExprPtr bad = Mismatched("{IDENTIFIER, ESC_IDENTIFIER}");
        issues_.Add(Offset(), "unsupported ident kind");
        return bad;
      }
      if (Type() == Token::kEnd) return Syntax("no viable alternative at input '.'");
      if (Type() == Token::kTrue || Type() == Token::kFalse || Type() == Token::kNull) {
        return Mismatched("IDENTIFIER");
      }
      return Syntax("no viable alternative at input '" +
                    source_.Slice(static_cast<size_t>(dot), static_cast<size_t>(tokens_[at_].end)) + "'");
    }
    std::string name = Text(at_);
    int32_t name_offset = Offset();
    Next();
    if (!optional && Type() == Token::kLeftParen) {
      int32_t open = Offset();
      Next();
      std::vector<ExprPtr> args = Arguments();
      return CallOrMacro(open, std::move(name), std::move(operand), std::move(args));
    }
    if (!optional) {
      build_.set_offset(dot);
      return Selected(std::move(operand), name);
    }
    if (!options_.optional_syntax) return Report(dot, "unsupported syntax '.?'");
    build_.set_offset(name_offset);
    ExprPtr field = build_.StringLiteral(name);
    build_.set_offset(dot);
    return Join("_?._", std::move(operand), std::move(field), 1);
  }

  ExprPtr Index(ExprPtr operand) {
    int32_t offset = Offset();
    Next();
    bool optional = Take(Token::kQuestion);
    if (!optional && !StartsOrSkips(kIndexStart, Token::kQuestion)) return operand;
    ExprPtr index = Inside({Token::kRightBracket});
    Expect(Token::kRightBracket, "']'");
    if (optional && !options_.optional_syntax) return Report(offset, "unsupported syntax '[?'");
    build_.set_offset(offset);
    return Join(optional ? "_[?_]" : "_[_]", std::move(operand), std::move(index), 1);
  }

  // Behind the opening parenthesis, up to the closing one.
  std::vector<ExprPtr> Arguments() {
    std::vector<ExprPtr> args;
    if (!StartsOrSkips(kArgumentStart, Token::kRightParen)) return args;
    if (Type() != Token::kRightParen) {
      do args.push_back(Inside({Token::kRightParen, Token::kComma}));
      while (Take(Token::kComma));
    }
    Expect(Token::kRightParen, "')'");
    return args;
  }

  ExprPtr CallOrMacro(int32_t offset, std::string function, ExprPtr target, std::vector<ExprPtr> args) {
    build_.set_offset(offset);
    int height = std::max(Tallest(args), target ? target->height + 1 : 0);
    if (target) height = std::max(height, Tallest(args) + 1);
    if (!stopped_ && IsMacro(options_, function, args.size(), target != nullptr)) {
      MacroError error;
      if (ExprPtr expanded = ExpandMacro(build_, function, target, args, error)) {
        return Tall(std::move(expanded), height);
      }
      if (!error.message.empty()) return Report(error.offset, std::move(error.message));
    }
    ExprPtr call = build_.New(ExprKind::kCall);
    call->name = std::move(function);
    call->member = target != nullptr;
    if (target) call->args.push_back(std::move(target));
    for (ExprPtr& arg : args) call->args.push_back(std::move(arg));
    return Tall(std::move(call), height);
  }

  ExprPtr Primary() {
    switch (Type()) {
      case Token::kLeftParen: {
        Next();
        ExprPtr inner = Inside({Token::kRightParen});
        Expect(Token::kRightParen, "')'");
        return inner;
      }
      case Token::kLeftBracket: return ListLiteral();
      case Token::kLeftBrace: return MapLiteral();
      case Token::kDot: case Token::kIdentifier: return Name();
      default: return Literal();
    }
  }

  ExprPtr Name() {
    int32_t start = Offset();
    std::string prefix;
    if (Take(Token::kDot)) prefix = ".";
    if (Type() != Token::kIdentifier) {
      if (Type() == Token::kTrue || Type() == Token::kFalse || Type() == Token::kNull) return Mismatched("IDENTIFIER");
      return Syntax("no viable alternative at input '." + (Type() == Token::kEnd ? "" : Text(at_)) + "'");
    }
    size_t length = 1;
    while (Type(length) == Token::kDot && Type(length + 1) == Token::kIdentifier) length += 2;
    if (Type(length) == Token::kLeftBrace) return Message(prefix, length);
    std::string name = Text(at_);
    int32_t name_offset = Offset();
    Next();
    bool call = Type() == Token::kLeftParen;
    if (IsReservedWord(name)) {
      ExprPtr bad = Report(start, "reserved identifier: " + name);
      if (call) {
        Next();
        Arguments();
      }
      return bad;
    }
    if (!call) {
      build_.set_offset(name_offset);
      return build_.Ident(prefix + name);
    }
    int32_t open = Offset();
    Next();
    std::vector<ExprPtr> args = Arguments();
    return CallOrMacro(open, prefix + name, nullptr, std::move(args));
  }

  ExprPtr Message(std::string name, size_t length) {
    for (size_t i = 0; i < length; ++i) {
      name += Text(at_);
      Next();
    }
    build_.set_offset(Offset());
    ExprPtr message = build_.New(ExprKind::kStruct);
    message->name = std::move(name);
    Next();
    bool comma = false;
    while (!stopped_ && Type() != Token::kRightBrace && !(comma && Type() == Token::kEnd)) {
      if (!comma && Take(Token::kComma)) break;
      int32_t question = Offset();
      bool optional = Take(Token::kQuestion);
      if (optional && !options_.optional_syntax) Report(question, "unsupported syntax '?'");
      if (Type() == Token::kEscapedIdentifier) {
        Report(Offset(), "unsupported syntax: '`'");
      } else if (Type() != Token::kIdentifier) {
        Syntax("mismatched input " + Quoted(Type(), at_) + " expecting {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}");
        break;
      }
      std::string field = Text(at_);
      Next();
      int32_t colon = Offset();
      Expect(Token::kColon, "':'");
      message->fields.push_back({std::move(field), build_.NewId(), colon});
      message->args.push_back(Inside({Token::kRightBrace, Token::kComma}));
      message->optional.push_back(optional);
      comma = Take(Token::kComma);
      if (!comma) break;
    }
    Expect(Token::kRightBrace, comma ? "}" : "{'}', ','}");
    int height = Tallest(message->args);
    return Tall(std::move(message), height);
  }

  bool OptionalMark() {
    int32_t offset = Offset();
    if (!Take(Token::kQuestion)) return false;
    if (!options_.optional_syntax) Report(offset, "unsupported syntax '?'");
    return true;
  }

  ExprPtr ListLiteral() {
    build_.set_offset(Offset());
    ExprPtr list = build_.New(ExprKind::kList);
    Next();
    bool any_optional = false;
    if (Type() != Token::kComma && !StartsOrSkips(kListStart, Token::kRightBracket)) return list;
    bool comma = Take(Token::kComma);
    while (!comma && !stopped_ && Type() != Token::kRightBracket) {
      bool optional = OptionalMark();
      any_optional |= optional;
      list->args.push_back(Inside({Token::kRightBracket, Token::kComma}));
      list->optional.push_back(optional);
      if (!Take(Token::kComma)) break;
      comma = !StartsExpression(Type()) && Type() != Token::kQuestion;
    }
    if (!any_optional) list->optional.clear();
    Expect(Token::kRightBracket, comma ? "]" : "{']', ','}");
    int height = Tallest(list->args);
    return Tall(std::move(list), height);
  }

  ExprPtr MapLiteral() {
    build_.set_offset(Offset());
    ExprPtr map = build_.New(ExprKind::kMap);
    Next();
    bool any_optional = false;
    if (Type() != Token::kComma && !StartsOrSkips(kMapStart, Token::kRightBrace)) return map;
    bool comma = Take(Token::kComma);
    while (!comma && !stopped_ && Type() != Token::kRightBrace) {
      bool optional = OptionalMark();
      any_optional |= optional;
      map->args.push_back(Inside({Token::kColon}));
      Expect(Token::kColon, "':'");
      map->args.push_back(Inside({Token::kRightBrace, Token::kComma}));
      map->optional.push_back(optional);
      if (!Take(Token::kComma)) break;
      comma = !StartsExpression(Type()) && Type() != Token::kQuestion;
    }
    if (!any_optional) map->optional.clear();
    Expect(Token::kRightBrace, comma ? "}" : "{'}', ','}");
    int height = Tallest(map->args);
    return Tall(std::move(map), height);
  }

  ExprPtr Literal() {
    int32_t offset = Offset();
    build_.set_offset(offset);
    bool negative = Type() == Token::kMinus;
    if (negative) Next();
    Token type = Type();
    std::string text = Text(at_);
    switch (type) {
      case Token::kInt: {
        Next();
        auto value = ParseIntLiteral(text, negative);
        return value ? build_.Literal(Value::Int(*value)) : Report(offset, "invalid int literal");
      }
      case Token::kFloat: {
        Next();
        auto value = ParseDoubleLiteral(text);
        return value ? build_.Literal(Value::Double(negative ? -*value : *value)) : Report(offset, "invalid double literal");
      }
      case Token::kUint: {
        Next();
        text.pop_back();
        auto value = ParseUintLiteral(text);
        return value ? build_.Literal(Value::Uint(*value)) : Report(offset, "invalid uint literal");
      }
      case Token::kString: case Token::kBytes: {
        Next();
        bool bytes = type == Token::kBytes;
        auto value = Unquote(bytes ? std::string_view(text).substr(1) : std::string_view(text), bytes);
        if (!value) return Report(offset, value.error());
        return bytes ? build_.BytesLiteral(*value) : build_.StringLiteral(*value);
      }
      case Token::kTrue: Next(); return build_.Literal(Value::Bool(true));
      case Token::kFalse: Next(); return build_.Literal(Value::Bool(false));
      case Token::kNull: Next(); return build_.Literal(Value::Null());
      default: return NoLiteral();
    }
  }

  // Nothing that an expression can start with.
  ExprPtr NoLiteral() {
    if (stopped_) return Bad();
    if (Type() != Token::kEnd && StartsExpression(Type(1))) {
      Skip(kExpressionStart);
      return Unary();
    }
    ExprPtr bad = Mismatched(kExpressionStart);
    // Where an operator follows, the original goes on with it.
    stopped_ = Type() == Token::kEnd || !Continues(Type());
    return bad;
  }

  const Source& source_;
  const ParserOptions& options_;
  Issues& issues_;
  TreeBuilder build_;
  std::vector<LexedToken> tokens_;
  size_t at_ = 0;
  bool stopped_ = false;   // after a syntax error
  bool too_deep_ = false;
  std::vector<uint64_t> follow_;  // of each bracket or branch around: the tokens that may come behind what is in it
  int expr_depth_ = 0;
  int relation_depth_ = 0;
  int calc_depth_ = 0;
  int member_depth_ = 0;
};

}  // namespace

Ast Parse(const Source& source, const ParserOptions& options, Issues& issues) {
  Ast ast;
  if (source.text().size() > kMaxExpressionSize) {
    issues.Add(kNowhere, "expression code point size exceeds limit: size: " + std::to_string(source.text().size()) +
                             ", limit " + std::to_string(kMaxExpressionSize));
    return ast;
  }
  ast.root = Parser(source, options, issues, ast).Run();
  ++ast.id_limit;
  return ast;
}

}  // namespace homeostat::cel::internal
