#include "patch/strategic_merge_patch.h"

#include <gtest/gtest.h>

#include "patch/internal/test_support.h"

namespace homeostat::patch {
namespace {

using test::Parse;
using test::Sorted;

// original, patch and result are the pod's spec.
struct Case {
  const char *original, *patch, *result;
};

std::string Pod(std::string_view spec) { return "{\"spec\":" + std::string(spec) + "}"; }

TEST(StrategicMergePatch, Directives) {
  const Case kCases[] = {
      {R"({"nodeName":"a","hostname":"h"})", R"({"nodeName":null,"hostname":"i"})", R"({"hostname":"i"})"},
      {R"({"containers":[{"name":"a","image":"x"},{"name":"b"}]})",
       R"({"containers":[{"name":"b","image":"y"},{"name":"c"}]})",
       R"({"containers":[{"image":"x","name":"a"},{"image":"y","name":"b"},{"name":"c"}]})"},
      {R"({"containers":[{"name":"a"},{"name":"b"}]})", R"({"containers":[{"$patch":"delete","name":"a"}]})",
       R"({"containers":[{"name":"b"}]})"},
      {R"({"containers":[{"name":"a"},{"name":"b"}]})", R"({"containers":[{"name":"c"},{"$patch":"replace"}]})",
       R"({"containers":[{"name":"c"}]})"},
      {R"({"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]})",
       R"({"$setElementOrder/containers":[{"name":"c"},{"name":"a"}]})",
       R"({"containers":[{"name":"b"},{"name":"c"},{"name":"a"}]})"},
      // a container goes and another comes, while one that the client does not know of stays where it was
      {R"({"containers":[{"name":"a"},{"name":"sidecar"}]})",
       R"({"$setElementOrder/containers":[{"name":"n"}],"containers":[{"$patch":"delete","name":"a"},{"name":"n"}]})",
       R"({"containers":[{"name":"sidecar"},{"name":"n"}]})"},
      {R"({"securityContext":{"runAsUser":1,"fsGroup":2}})", R"({"securityContext":{"$patch":"replace","fsGroup":3}})",
       R"({"securityContext":{"fsGroup":3}})"},
      {R"({"securityContext":{"runAsUser":1}})", R"({"securityContext":{"$patch":"delete"}})",
       R"({"securityContext":{}})"},
      {R"({"volumes":[{"name":"v","emptyDir":{}}]})",
       R"({"volumes":[{"$retainKeys":["name","hostPath"],"name":"v","hostPath":{"path":"/"}}]})",
       R"({"volumes":[{"hostPath":{"path":"/"},"name":"v"}]})"},
      // a list that is not merged is replaced
      {R"({"tolerations":[{"key":"a"}]})", R"({"tolerations":[{"key":"b"}]})", R"({"tolerations":[{"key":"b"}]})"},
      // nulls and directives in what is new
      {R"({})", R"({"securityContext":{"runAsUser":null,"fsGroup":1},"affinity":{"$patch":"delete"}})",
       R"({"securityContext":{"fsGroup":1}})"},
      {R"({"nodeSelector":{"a":"b"}})", R"({"nodeSelector":{"a":null,"c":"d"}})", R"({"nodeSelector":{"c":"d"}})"},
  };
  for (const Case& one : kCases) {
    Arena arena;
    auto result = ApplyStrategicMergePatch(arena, test::TypeOf("v1 Pod"), Parse(arena, Pod(one.original)),
                                           Parse(arena, Pod(one.patch)));
    EXPECT_EQ(result ? Sorted(*result) : result.error().message(), Pod(one.result)) << one.patch;
  }
}

TEST(StrategicMergePatch, ListsOfScalars) {
  const Case kCases[] = {
      {R"(["a","b"])", R"({"finalizers":["b","c"]})", R"(["a","b","c"])"},
      {R"(["a","b","c"])", R"({"$deleteFromPrimitiveList/finalizers":["b","z"]})", R"(["a","c"])"},
      {R"(["a","b"])", R"({"$setElementOrder/finalizers":["c","b","a"],"finalizers":["c"]})", R"(["c","b","a"])"},
      {R"(["a","b"])",
       R"({"$setElementOrder/finalizers":["b","c"],"$deleteFromPrimitiveList/finalizers":["a"],"finalizers":["c"]})",
       R"(["b","c"])"},
      {R"(["a"])", R"({"finalizers":null})", R"(null)"},
  };
  for (const Case& one : kCases) {
    Arena arena;
    Value original = Parse(arena, R"({"metadata":{"finalizers":)" + std::string(one.original) + "}}");
    auto result = ApplyStrategicMergePatch(arena, test::TypeOf("v1 Pod"), original,
                                           Parse(arena, "{\"metadata\":" + std::string(one.patch) + "}"));
    EXPECT_EQ(result ? Sorted(result->Path({"metadata", "finalizers"})) : result.error().message(), one.result)
        << one.patch;
  }
}

TEST(StrategicMergePatch, Refusals) {
  struct Refusal {
    const char *original, *patch;
    int code;
    const char* message;
  };
  const Refusal kCases[] = {
      {R"({"containers":[{"name":"a"}]})", R"({"containers":[{"image":"x"}]})", 500,
       "map: map[image:x] does not contain declared merge key: name"},
      {R"({"containers":[{"name":"a"}]})", R"({"containers":["a"]})", 500,
       "list element types are not identical: [[map[name:a]] [a]]"},
      {R"({"containers":[{"name":"a"}]})", R"({"containers":[["a"]]})", 500,
       "list element types are not identical: [[map[name:a]] [[a]]]"},
      {R"({"containers":[{"name":"a"}]})", R"({"containers":[{"$patch":"merge","name":"a"}]})", 500,
       "merging lists cannot yet be specified in the patch"},
      {R"({"containers":[{"name":"a"}]})", R"({"containers":[{"$patch":"x","name":"a"}]})", 500,
       "unknown patch type: x in map: map[$patch:x name:a]"},
      {R"({})", R"({"$patch":5})", 500, "unknown patch type: %!s(int64=5) in map: map[$patch:5]"},
      {R"({})", R"({"$retainKeys":"a"})", 400, "invalid patch format of retainKeys"},
      {R"({})", R"({"$retainKeys":["a"],"b":1})", 400, "invalid patch format of retainKeys"},
      {R"({"containers":[]})", R"({"$deleteFromPrimitiveList":["a"]})", 400, "invalid patch format of primitive list"},
      {R"({})", R"({"$setElementOrder":["a"]})", 400, "invalid patch format of setElementOrder list"},
      {R"({})", R"({"$setElementOrder/containers":"a"})", 500, "expected a []interface {}, but received a string"},
      {R"({"containers":[]})", R"({"$setElementOrder/containers":[{"name":"a"}]})", 500,
       "no elements in any of the given slices"},
      {R"({"containers":[{"name":"a"}]})", R"({"$setElementOrder/bogus":[{"name":"a"}]})", 500,
       "unable to find api field in struct PodSpec for the json field \"bogus\""},
      {R"({"containers":[{"name":"a"}]})",
       R"({"$setElementOrder/containers":[{"name":"a"}],"containers":[{"name":"b"}]})", 500,
       "The order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n"},
      {R"({"nodeSelector":{"a":{"b":1}}})", R"({"nodeSelector":{"a":{"c":1}}})", 500,
       "merging an object in json but data type is not struct, instead is: map"},
      {R"({"containers":[["a"]]})", R"({"containers":[["b"]]})", 422,
       "the server rejected our request due to an error in our request"},
  };
  for (const Refusal& one : kCases) {
    Arena arena;
    auto result = ApplyStrategicMergePatch(arena, test::TypeOf("v1 Pod"), Parse(arena, Pod(one.original)),
                                           Parse(arena, Pod(one.patch)));
    ASSERT_FALSE(result.has_value()) << Sorted(*result) << one.patch;
    EXPECT_EQ(result.error().message(), one.message);
    EXPECT_EQ(result.error().code(), one.code) << one.patch;
  }
  Arena arena;
  EXPECT_EQ(ApplyStrategicMergePatch(arena, test::TypeOf("v1 Pod"), Value::EmptyObject(), Parse(arena, "[1]"))
                .error()
                .message(),
            "json: cannot unmarshal array into Go value of type map[string]interface {}");
}

}  // namespace
}  // namespace homeostat::patch
