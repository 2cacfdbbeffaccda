#include "homeostat/base/status.h"

#include <gtest/gtest.h>

#include "homeostat/base/result.h"

namespace homeostat {
namespace {

struct Case {
  Status status;
  int code;
  const char* reason;
  const char* message;
  StatusDetails details;
  bool has_details = true;
};

StatusDetails About(const char* group, const char* kind, const char* name) { return {name, group, kind, "", {}, 0}; }

// Texts as k8s.io/apimachinery's constructors of API errors give them; clients match on some.
TEST(Status, MakersGiveTheKnownCodesReasonsAndTexts) {
  const Case cases[] = {
      {NotFoundError("", "pods", "web"), 404, "NotFound", "pods \"web\" not found", About("", "pods", "web")},
      {NotFoundError("apps", "deployments", "web"), 404, "NotFound", "deployments.apps \"web\" not found",
       About("apps", "deployments", "web")},
      {AlreadyExistsError("", "namespaces", "a"), 409, "AlreadyExists", "namespaces \"a\" already exists",
       About("", "namespaces", "a")},
      {ConflictError("apps", "deployments", "web",
                     "the object has been modified; please apply your changes to the latest version and try again"),
       409, "Conflict",
       "Operation cannot be fulfilled on deployments.apps \"web\": the object has been modified; please apply your changes "
       "to the latest version and try again",
       About("apps", "deployments", "web")},
      {BadRequestError("no"), 400, "BadRequest", "no", {}, false},
      {InternalError("boom"), 500, "InternalError", "Internal error occurred: boom", {"", "", "", "", {{"", "boom", ""}}, 0}},
      {UnauthorizedError(), 401, "Unauthorized", "Unauthorized", {}, false},
      {ExpiredError("too old resource version: 1 (5)"), 410, "Expired", "too old resource version: 1 (5)", {}, false},
      {TimeoutError("request did not complete"), 504, "Timeout", "Timeout: request did not complete", {}},
      {TooManyRequestsError("later", 7), 429, "TooManyRequests", "later", {"", "", "", "", {}, 7}},
      {ServiceUnavailableError("starting"), 503, "ServiceUnavailable", "starting", {}, false},
      {RequestTooLargeError("limit is 3145728"), 413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728", {}, false},
      {MethodNotSupportedError("", "pods", "deletecollection"), 405, "MethodNotAllowed",
       "deletecollection is not supported on resources of kind \"pods\"", About("", "pods", "")},
      {MethodNotSupportedError("apps", "deployments", "watch"), 405, "MethodNotAllowed",
       "watch is not supported on resources of kind \"deployments.apps\"", About("apps", "deployments", "")},
      {NotAcceptableError("only these"), 406, "NotAcceptable", "only these", {}, false},
      {UnsupportedMediaTypeError("not that"), 415, "UnsupportedMediaType", "not that", {}, false},
      {ForbiddenError("", "pods", "web", "no"), 403, "Forbidden", "pods \"web\" is forbidden: no", About("", "pods", "web")},
      {ForbiddenError("apps", "deployments", "", "no"), 403, "Forbidden", "deployments.apps is forbidden: no",
       About("apps", "deployments", "")},
      {ForbiddenError("", "", "", "no"), 403, "Forbidden", "forbidden: no", {}},
      {SystemError("open /x", ENOENT), 500, "InternalError", "open /x: no such file or directory", {}, false},
      {SystemError("read", EIO), 500, "InternalError", "read: input/output error", {}, false},
  };
  for (const Case& expected : cases) {
    SCOPED_TRACE(expected.message);
    EXPECT_EQ(expected.status.code(), expected.code);
    EXPECT_EQ(expected.status.reason(), expected.reason);
    EXPECT_EQ(expected.status.message(), expected.message);
    EXPECT_EQ(expected.status.details(), expected.details);
    EXPECT_EQ(expected.status.has_details(), expected.has_details);
  }
}

TEST(Status, InvalidJoinsItsCauses) {
  StatusCause name{"FieldValueRequired", "Required value: name or generateName is required", "metadata.name"};
  StatusCause image{"FieldValueRequired", "Required value", "spec.containers[0].image"};
  struct {
    std::vector<StatusCause> causes;
    const char* message;
  } const cases[] = {
      {{}, "Pod \"web\" is invalid"},
      {{image}, "Pod \"web\" is invalid: spec.containers[0].image: Required value"},
      {{image, image}, "Pod \"web\" is invalid: spec.containers[0].image: Required value"},
      {{name, image, name},
       "Pod \"web\" is invalid: [metadata.name: Required value: name or generateName is required, "
       "spec.containers[0].image: Required value]"},
  };
  for (const auto& expected : cases) {
    Status status = InvalidError("", "Pod", "web", expected.causes);
    EXPECT_EQ(status.message(), expected.message);
    EXPECT_EQ(status.code(), 422);
    EXPECT_EQ(status.reason(), "Invalid");
    EXPECT_EQ(status.details().causes, expected.causes);
  }
  EXPECT_EQ(InvalidError("apps", "Deployment", "a\"b", {}).message(), "Deployment.apps \"a\\\"b\" is invalid");
}

TEST(Status, ChangedCopiesLeaveTheFirstAlone) {
  Status first = NotFoundError("", "pods", "web");
  Status second = first.WithContext("reading").WithDetails({});
  EXPECT_EQ(first.message(), "pods \"web\" not found");
  EXPECT_EQ(second.message(), "reading: pods \"web\" not found");
  EXPECT_EQ(first.details().name, "web");
  EXPECT_EQ(second.details().name, "");
  EXPECT_TRUE(first == NotFoundError("", "pods", "web"));
  EXPECT_FALSE(first == second);
}

Result<int> Half(int value) {
  if (value % 2 != 0) return Fail(BadRequestError("odd"));
  return value / 2;
}
Result<int> Quarter(int value) {
  TRY(Half(value));
  TRY_ASSIGN(int half, Half(value));
  return Half(half);
}

TEST(Result, TryPassesTheErrorUp) {
  EXPECT_EQ(Quarter(12).value(), 3);
  EXPECT_EQ(Quarter(6).error().message(), "odd");
  EXPECT_EQ(Quarter(3).error().code(), 400);
}

}  // namespace
}  // namespace homeostat
