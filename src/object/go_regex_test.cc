#include "object/go_regex.h"

#include <gtest/gtest.h>
#include <re2/re2.h>

namespace homeostat::object {
namespace {

// Recorded from Go 1.26.
TEST(GoRegexTest, FaultsAreInGosWords) {
  struct Case {
    std::string_view pattern, fault;
  };
  for (const Case& c :
       {Case{"^[a-z]+$", ""}, Case{"(?<year>[0-9]+)", ""}, Case{"(?P<year>[0-9]+)", ""}, Case{"[(?<x>]+", ""}, Case{R"(\Q(?<x>\E)", ""},
        Case{"(?<year>[0-9]+", "missing closing ): `(?<year>[0-9]+`"}, Case{"(?<year)", "invalid named capture: `(?<year)`"},
        Case{"(?P<year)", "invalid named capture: `(?P<year)`"}, Case{"(?i)(?<y", "invalid named capture: `(?<y`"},
        Case{"(?<!a)b", "invalid named capture: `(?<!a)b`"}, Case{"[a", "missing closing ]: `[a`"}, Case{"(a", "missing closing ): `(a`"},
        Case{"*", "missing argument to repetition operator: `*`"}, Case{"a**", "invalid nested repetition operator: `**`"},
        Case{"x{2,1}", "invalid repeat count: `{2,1}`"}, Case{"(?<a>x){1001}", "invalid repeat count: `{1001}`"}}) {
    auto compiled = CompileGoRegex(c.pattern, 1 << 20);
    std::string fault = compiled->ok() ? "" : GoRegexFault(*compiled, c.pattern);
    EXPECT_EQ(fault, c.fault.empty() ? "" : "error parsing regexp: " + std::string(c.fault)) << c.pattern;
  }
}

TEST(GoRegexTest, WhatBeginsAGroupIsItselfInClassesQuotesAndEscapes) {
  struct Case {
    std::string_view pattern, good, bad;
  };
  for (const Case& c : {Case{"^[(?<]$", "<", "P"}, Case{"^[^](?<]$", "P", "]"}, Case{"^[[:digit:](?<]$", "<", "P"}, Case{R"(^[\](?<]$)", "<", "P"},
                        Case{R"(^\Q(?<a\E$)", "(?<a", "(?P<a"}, Case{R"(^\(?<a$)", "(<a", "(P<a"}, Case{"^[a](?<n>b)$", "ab", "a"}}) {
    auto compiled = CompileGoRegex(c.pattern, 1 << 20);
    EXPECT_TRUE(re2::RE2::PartialMatch(std::string(c.good), *compiled)) << c.pattern;
    EXPECT_FALSE(re2::RE2::PartialMatch(std::string(c.bad), *compiled)) << c.pattern;
  }
}

}  // namespace
}  // namespace homeostat::object
