#include "server/subresources/proxy_html.h"

#include <algorithm>
#include <array>

#include "homeostat/base/text.h"

namespace homeostat::server {
namespace {

struct LinkAttributes {
  std::string_view element;
  std::array<std::string_view, 4> attributes;
};
constexpr LinkAttributes kLinks[] = {
    {"a", {"href"}},          {"applet", {"codebase"}},       {"area", {"href"}},
    {"audio", {"src"}},       {"base", {"href"}},             {"blockquote", {"cite"}},
    {"body", {"background"}}, {"button", {"formaction"}},     {"command", {"icon"}},
    {"del", {"cite"}},        {"embed", {"src"}},             {"form", {"action"}},
    {"frame", {"longdesc", "src"}}, {"head", {"profile"}},    {"html", {"manifest"}},
    {"iframe", {"longdesc", "src"}}, {"img", {"longdesc", "src", "usemap"}}, {"input", {"src", "usemap", "formaction"}},
    {"ins", {"cite"}},        {"link", {"href"}},             {"object", {"classid", "codebase", "data", "usemap"}},
    {"q", {"cite"}},          {"script", {"src"}},            {"source", {"src"}},
    {"video", {"poster", "src"}},
};

// Elements whose content is text, whatever it looks like.
constexpr std::string_view kRaw[] = {"script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"};

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool IsLink(std::string_view element, std::string_view attribute) {
  for (const LinkAttributes& entry : kLinks) {
    if (entry.element == element) return std::ranges::find(entry.attributes, attribute) != entry.attributes.end();
  }
  return false;
}

std::string Unescape(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    if (text.starts_with("&amp;")) {
      plain += '&';
      text.remove_prefix(5);
    } else {
      plain += text.front();
      text.remove_prefix(1);
    }
  }
  return plain;
}

std::string Escape(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (c == '&') escaped += "&amp;"; else if (c == '"') escaped += "&#34;"; else if (c == '\'') escaped += "&#39;";
    else if (c == '<') escaped += "&lt;"; else if (c == '>') escaped += "&gt;"; else escaped += c;
  }
  return escaped;
}

class Rewriter {
 public:
  Rewriter(std::string_view page, const std::function<std::string(std::string_view)>& rewrite) : page_(page), rewrite_(rewrite) {}

  std::string Run() {
    while (at_ < page_.size()) {
      size_t open = std::min(page_.find('<', at_), page_.size());
      CopyTo(open);
      if (open == page_.size()) break;
      std::string_view rest = page_.substr(open);
      if (rest.starts_with("<!--")) {
        CopyPast("-->", open + 4);
      } else if (rest.size() > 1 && IsLetter(rest[1])) {
        Tag();
      } else {
        CopyTo(open + 1);
      }
    }
    return std::move(out_);
  }

 private:
  // Copies up to that place, which is where reading goes on.
  void CopyTo(size_t end) {
    out_ += page_.substr(at_, end - at_);
    at_ = end;
  }
  void CopyPast(std::string_view mark, size_t from) {
    size_t found = page_.find(mark, from);
    CopyTo(found == page_.npos ? page_.size() : found + mark.size());
  }
  size_t SkipSpace(size_t place) const {
    while (place < page_.size() && IsSpace(page_[place])) ++place;
    return place;
  }

  void Tag() {
    size_t place = at_ + 1;
    while (place < page_.size() && !IsSpace(page_[place]) && page_[place] != '/' && page_[place] != '>') ++place;
    std::string element = LowerCase(page_.substr(at_ + 1, place - at_ - 1));
    while (place < page_.size() && page_[place] != '>') place = Attribute(element, place);
    CopyTo(std::min(place + 1, page_.size()));
    if (std::ranges::find(kRaw, element) != std::end(kRaw)) CopyRaw(element);
  }

  // Reads one attribute, and writes it if it is a link; gives the place after it.
  size_t Attribute(const std::string& element, size_t place) {
    if (IsSpace(page_[place]) || page_[place] == '/') return place + 1;
    size_t name_at = place;
    ++place;  // a name may begin with anything
    while (place < page_.size() && !IsSpace(page_[place]) && page_[place] != '=' && page_[place] != '/' && page_[place] != '>') ++place;
    std::string name = LowerCase(page_.substr(name_at, place - name_at));
    size_t sign = SkipSpace(place);
    if (sign >= page_.size() || page_[sign] != '=') return place;
    size_t value = SkipSpace(sign + 1);
    if (value >= page_.size()) return value;
    char quote = page_[value];
    size_t begin = value, end = value, after = value;
    if (quote == '"' || quote == '\'') {
      begin = value + 1;
      end = std::min(page_.find(quote, begin), page_.size());
      after = std::min(end + 1, page_.size());
    } else {
      while (end < page_.size() && !IsSpace(page_[end]) && page_[end] != '>') ++end;
      after = end;
    }
    if (!IsLink(element, name) || end == page_.size()) return after;
    CopyTo(value);
    out_ += '"' + Escape(rewrite_(Unescape(page_.substr(begin, end - begin)))) + '"';
    at_ = after;
    return after;
  }

  // Up to the end tag of that name.
  void CopyRaw(const std::string& element) {
    size_t place = at_;
    while (true) {
      size_t close = page_.find("</", place);
      if (close == page_.npos) return CopyTo(page_.size());
      if (LowerCase(page_.substr(close + 2, element.size())) == element) return CopyTo(close);
      place = close + 2;
    }
  }

  std::string_view page_;
  const std::function<std::string(std::string_view)>& rewrite_;
  std::string out_;
  size_t at_ = 0;
};

}  // namespace

std::string RewriteHtmlLinks(std::string_view page, const std::function<std::string(std::string_view link)>& rewrite) {
  return Rewriter(page, rewrite).Run();
}

}  // namespace homeostat::server
