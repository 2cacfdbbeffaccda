#include "homeostat/schema/field_errors.h"

#include <gtest/gtest.h>

#include "schema/internal/test_data.h"

namespace homeostat::schema {
namespace {

TEST(FieldPath, PrintsLikeUpstream) {
  FieldPath spec("spec");
  EXPECT_EQ(spec.String(), "spec");
  EXPECT_EQ(spec.Child("containers").Index(0).Child("image").String(), "spec.containers[0].image");
  EXPECT_EQ(FieldPath("data").Key("a.b").String(), "data[a.b]");
  EXPECT_EQ(spec.Child("template", "spec", "nodeName").String(), "spec.template.spec.nodeName");
  EXPECT_EQ(FieldPath().String(), "<nil>");
  EXPECT_EQ(FieldPath("").String(), "[]");
  EXPECT_EQ(FieldPath().Child("metadata").Key("x").String(), "metadata[x]");
}

TEST(FieldPath, ChainsOfTemporariesMayBeKept) {
  FieldPath path =
      FieldPath("a").Child("b").Index(1).Child("c").Key("d").Child("e").Index(22).Child("f").Child("g").Child("h");
  EXPECT_EQ(path.String(), "a.b[1].c[d].e[22].f.g.h");
  FieldPath copy = path.Child("i");
  FieldPath again = copy;
  EXPECT_EQ(again.Child("j").String(), "a.b[1].c[d].e[22].f.g.h.i.j");
}

TEST(BadValue, ShowsValuesAsGoDoes) {
  object::Arena arena;
  EXPECT_EQ(BadValue("a\"b\n").text(), "\"a\\\"b\\n\"");
  EXPECT_EQ(BadValue(-5).text(), "-5");
  EXPECT_EQ(BadValue(true).text(), "true");
  EXPECT_EQ(BadValue(2.5).text(), "2.5");
  EXPECT_EQ(BadValue(1e21).text(), "1e+21");
  EXPECT_EQ(BadValue(0.00001).text(), "1e-05");
  EXPECT_EQ(BadValue(test::Parse(arena, R"({"b":[1,"x"],"a":null})")).text(), R"({"b":[1,"x"],"a":null})");
  EXPECT_EQ(BadValue(object::Value()).text(), "null");
  const Type& selector = *test::FindType("apps/v1 Deployment")->FindField("spec")->type->FindField("selector")->type;
  EXPECT_EQ(BadValue(selector, test::Typed(arena, selector, R"({"matchLabels":{"b":"2","a":"1"}})")).text(),
            R"({"matchLabels":{"a":"1","b":"2"}})");
  EXPECT_EQ(BadValue(selector, object::Value()).text(), "null");
}

TEST(FieldErrors, AreWordedLikeUpstream) {
  FieldErrors errors;
  FieldPath path = FieldPath("spec").Child("x");
  errors.Required(path);
  errors.Required(path, "must be set");
  errors.Invalid(path, "v", "no good");
  errors.NotSupported(path, "v", {"A", "B"});
  errors.NotSupported(path, "v", {});
  errors.Duplicate(path.Index(1), "v");
  errors.NotFound(path, "v");
  errors.Forbidden(path, "not now");
  errors.TooLong(path, 63);
  errors.TooLong(path, 1);
  errors.TooLong(path, -1);
  errors.TooMany(path, 5, 3);
  errors.TooMany(path, -1, 1);
  errors.TypeInvalid(path, 5, "must be a string");
  errors.Internal(path, "it broke");
  errors.Immutable(path, BadValue::Null());
  errors.Invalid(path, BadValue::Omitted(), "hidden");
  const StatusCause kWanted[] = {
      {"FieldValueRequired", "Required value", "spec.x"},
      {"FieldValueRequired", "Required value: must be set", "spec.x"},
      {"FieldValueInvalid", "Invalid value: \"v\": no good", "spec.x"},
      {"FieldValueNotSupported", "Unsupported value: \"v\": supported values: \"A\", \"B\"", "spec.x"},
      {"FieldValueNotSupported", "Unsupported value: \"v\"", "spec.x"},
      {"FieldValueDuplicate", "Duplicate value: \"v\"", "spec.x[1]"},
      {"FieldValueNotFound", "Not found: \"v\"", "spec.x"},
      {"FieldValueForbidden", "Forbidden: not now", "spec.x"},
      {"FieldValueTooLong", "Too long: may not be more than 63 bytes", "spec.x"},
      {"FieldValueTooLong", "Too long: may not be more than 1 byte", "spec.x"},
      {"FieldValueTooLong", "Too long: value is too long", "spec.x"},
      {"FieldValueTooMany", "Too many: 5: must have at most 3 items", "spec.x"},
      {"FieldValueTooMany", "Too many: must have at most 1 item", "spec.x"},
      {"FieldValueTypeInvalid", "Invalid value: 5: must be a string", "spec.x"},
      {"InternalError", "Internal error: it broke", "spec.x"},
      {"FieldValueInvalid", "Invalid value: null: field is immutable", "spec.x"},
      {"FieldValueInvalid", "Invalid value: hidden", "spec.x"},
  };
  ASSERT_EQ(errors.size(), std::size(kWanted));
  for (size_t i = 0; i < errors.size(); ++i) EXPECT_EQ(errors.causes()[i], kWanted[i]) << errors.causes()[i].message;
  EXPECT_EQ(errors.ToStatus("apps", "Deployment", "web").code(), 422);
}

}  // namespace
}  // namespace homeostat::schema
