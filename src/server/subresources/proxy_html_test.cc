#include "server/subresources/proxy_html.h"

#include <gtest/gtest.h>

namespace homeostat::server {
namespace {

TEST(ProxyHtml, RewritesLinksAndNothingElse) {
  struct Case {
    const char *page, *rewritten;
  };
  const Case cases[] = {
      {R"(<a href="/x">/x</a>)", R"(<a href="[/x]">/x</a>)"},
      {R"(<A class=b HREF = '/x' >)", R"(<A class=b HREF = "[/x]" >)"},
      {R"(<img src=/x><p href="/x">)", R"(<img src="[/x]"><p href="/x">)"},
      {R"(<img src=/x/>)", R"(<img src="[/x/]">)"},
      {R"(<a href="/x?a=1&amp;b=2">)", R"(<a href="[/x?a=1&amp;b=2]">)"},
      {R"(<!-- <a href="/x"> --><a href="/y">)", R"(<!-- <a href="/x"> --><a href="[/y]">)"},
      {R"(<script src="/s">var a = '<a href="/x">';</script><a href=/y>)", R"(<script src="[/s]">var a = '<a href="/x">';</script><a href="[/y]">)"},
      {"a < b <3 <", "a < b <3 <"},
      {R"(<a href="/x)", R"(<a href="/x)"},
      {"<a href", "<a href"},
      {"<a href=", "<a href="},
      {"<a", "<a"},
      {"<!-- <a href=/x>", "<!-- <a href=/x>"},
      {"<a =/x href=/y>", R"(<a =/x href="[/y]">)"},
      {"", ""},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(RewriteHtmlLinks(test.page, [](std::string_view link) { return "[" + std::string(link) + "]"; }), test.rewritten) << test.page;
  }
}

}  // namespace
}  // namespace homeostat::server
