#include "text.h"

#include <cctype>
#include <set>

namespace homeostat::generator {
namespace {

bool IsUpper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }
bool IsLower(char c) { return std::islower(static_cast<unsigned char>(c)) != 0; }

// Whether a word of the name starts at i.
bool StartsWord(std::string_view name, size_t i) {
  if (i == 0 || !IsUpper(name[i])) return false;
  if (!IsUpper(name[i - 1])) return true;
  // Inside a run of capitals the last one starts a word (IPAddress), except before a plural s (IPs, URLs).
  if (i + 1 >= name.size() || !IsLower(name[i + 1])) return false;
  bool plural = name[i + 1] == 's' && (i + 2 == name.size() || IsUpper(name[i + 2]));
  return !plural;
}

}  // namespace

std::string Literal(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + "\"sv";
}

std::string SnakeCase(std::string_view json_name) {
  std::string out;
  for (size_t i = 0; i < json_name.size(); ++i) {
    char c = json_name[i];
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) {
      if (!out.empty() && out.back() != '_') out += '_';
      continue;
    }
    if (StartsWord(json_name, i) && !out.empty() && out.back() != '_') out += '_';
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

std::string SafeName(const std::string& name) {
  static const std::set<std::string> kWords = {
      "and",      "auto",   "bool",     "break",   "case",   "catch",  "char",      "class",    "const",   "continue",
      "default",  "delete", "do",       "double",  "else",   "enum",   "explicit",  "export",   "extern",  "false",
      "float",    "for",    "friend",   "goto",    "if",     "inline", "int",       "long",     "mutable", "namespace",
      "new",      "not",    "operator", "or",      "private", "protected", "public", "register", "requires", "return",
      "short",    "signed", "sizeof",   "static",  "struct", "switch", "template",  "this",     "throw",   "true",
      "try",      "typedef", "typename", "union",  "unsigned", "using", "virtual",  "void",     "volatile", "while",
      "xor",      "concept", "major",   "minor"};
  return kWords.contains(name) ? name + "_" : name;
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  size_t start = 0;
  while (true) {
    size_t end = text.find(separator, start);
    parts.emplace_back(text.substr(start, end == std::string_view::npos ? end : end - start));
    if (end == std::string_view::npos) return parts;
    start = end + 1;
  }
}

std::string Format(std::string_view pattern, const std::vector<std::string>& arguments) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '$' && i + 1 < pattern.size() && std::isdigit(static_cast<unsigned char>(pattern[i + 1])) != 0) {
      size_t index = static_cast<size_t>(pattern[i + 1] - '1');
      out += arguments.at(index);
      ++i;
    } else {
      out += pattern[i];
    }
  }
  return out;
}

std::string CommentText(const std::string& raw) {
  std::string out;
  bool paragraph = false;
  for (std::string line : Split(raw, '\n')) {
    size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos) {
      paragraph = !out.empty();
      continue;
    }
    size_t last = line.find_last_not_of(" \t");
    line = line.substr(first, last - first + 1);
    if (!out.empty()) out += paragraph ? "\n\n" : " ";
    paragraph = false;
    out += line;
  }
  return out;
}

}  // namespace homeostat::generator
