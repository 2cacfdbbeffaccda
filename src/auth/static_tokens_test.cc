#include "auth/static_tokens.h"

#include <gtest/gtest.h>

namespace homeostat::auth {
namespace {

using Groups = std::vector<std::string>;

TEST(StaticTokensTest, ReadsWhoEachTokenIs) {
  auto tokens = StaticTokens::Parse("t1,ann,7\n\nt2,bo,,\"crew,\"\"night\"\" watch\"\r\n,nobody,1\nt3,old,\nt3,new,9,one,more\n\"t,4\",eve,\"\"");
  ASSERT_TRUE(tokens.has_value()) << tokens.error().message();
  EXPECT_EQ(tokens->Find("t1")->name, "ann");
  EXPECT_EQ(tokens->Find("t1")->uid, "7");
  EXPECT_EQ(tokens->Find("t1")->groups, Groups());
  EXPECT_EQ(tokens->Find("t2")->groups, (Groups{"crew", "\"night\" watch"}));
  EXPECT_EQ(tokens->Find("t3")->name, "new");
  EXPECT_EQ(tokens->Find("t3")->groups, Groups{"one"});
  EXPECT_EQ(tokens->Find("t,4")->name, "eve");
  EXPECT_EQ(tokens->Find(""), nullptr);
  EXPECT_EQ(tokens->Find("t"), nullptr);
}

TEST(StaticTokensTest, RefusesWhatIsNoSuchFileWithoutTellingTokens) {
  struct Case {
    const char* csv;
    const char* message;
  } cases[] = {
      {"t1,ann,1\nsecret,bo\n", "the token file, line 2: a record needs 3 columns (token, user name, user uid), not 2"},
      {"secret\"x,ann,1\n", "the token file, line 1: a quote within a field that doesn't begin with one"},
      {"\"secret\"x,ann,1\n", "the token file, line 1: text after a closing quote"},
      {"\n\n\"secret,ann,1\n\n", "the token file, line 3: a quote is not closed"},
  };
  for (const Case& c : cases) {
    auto tokens = StaticTokens::Parse(c.csv);
    ASSERT_FALSE(tokens.has_value()) << c.csv;
    EXPECT_EQ(tokens.error().message(), c.message);
  }
}

TEST(StaticTokensTest, AnswersForItsTokensAlone) {
  StaticTokens tokens = StaticTokens::Parse("t1,ann,7,crew").value();
  http::Request request;
  EXPECT_FALSE(tokens.Authenticate(request).value().has_value());
  request.headers.Set("Authorization", "Bearer t1");
  EXPECT_EQ(tokens.Authenticate(request).value()->name, "ann");
  request.headers.Set("Authorization", "Bearer t2");
  EXPECT_FALSE(tokens.Authenticate(request).value().has_value());
}

}  // namespace
}  // namespace homeostat::auth
