#include "homeostat/base/status.h"

#include <cctype>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "homeostat/base/text.h"

namespace homeostat {
namespace {

std::string Concat(std::initializer_list<std::string_view> parts) {
  size_t size = 0;
  for (std::string_view part : parts) size += part.size();
  std::string out;
  out.reserve(size);
  for (std::string_view part : parts) out += part;
  return out;
}

// What the makers below share: details that name one object.
Status About(int code, std::string_view reason, std::string_view message, std::string_view group, std::string_view kind,
             std::string_view name) {
  StatusDetails details;
  details.name = name;
  details.group = group;
  details.kind = kind;
  return Status(code, reason, message).WithDetails(std::move(details));
}

Status RetryAfter(Status status, int seconds) {
  StatusDetails details;
  details.retry_after_seconds = seconds;
  return status.WithDetails(std::move(details));
}

// The system's text as Go prints it: without the capital letter ("address already in use").
std::string ErrnoText(int error_number) {
  if (error_number == EIO) return "input/output error";
  char buffer[128];
  std::string text = strerror_r(error_number, buffer, sizeof buffer);
  bool word = text.size() > 1 && std::islower(static_cast<unsigned char>(text[1]));
  if (word) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

}  // namespace

Status::Status(int code, std::string_view reason, std::string_view message)
    : Status(Rep{code, std::string(reason), std::string(message), {}, false}) {}

Status Status::WithDetails(StatusDetails details) const {
  return Status(Rep{rep_->code, rep_->reason, rep_->message, std::move(details), true});
}

Status Status::WithMessage(std::string_view message) const {
  return Status(Rep{rep_->code, rep_->reason, std::string(message), rep_->details, rep_->has_details});
}

Status Status::WithContext(std::string_view context) const { return WithMessage(Concat({context, ": ", message()})); }

bool Status::operator==(const Status& other) const { return rep_ == other.rep_ || *rep_ == *other.rep_; }

std::string QualifiedResource(std::string_view group, std::string_view resource) {
  return group.empty() ? std::string(resource) : Concat({resource, ".", group});
}

Status NotFoundError(std::string_view group, std::string_view resource, std::string_view name) {
  std::string message = Concat({QualifiedResource(group, resource), " ", GoQuote(name), " not found"});
  return About(404, "NotFound", message, group, resource, name);
}

Status AlreadyExistsError(std::string_view group, std::string_view resource, std::string_view name) {
  std::string message = Concat({QualifiedResource(group, resource), " ", GoQuote(name), " already exists"});
  return About(409, "AlreadyExists", message, group, resource, name);
}

Status ConflictError(std::string_view group, std::string_view resource, std::string_view name, std::string_view detail) {
  std::string message = Concat(
      {"Operation cannot be fulfilled on ", QualifiedResource(group, resource), " ", GoQuote(name), ": ", detail});
  return About(409, "Conflict", message, group, resource, name);
}

Status BadRequestError(std::string_view message) { return Status(400, "BadRequest", message); }

Status InternalError(std::string_view message) {
  StatusDetails details;
  details.causes.push_back({"", std::string(message), ""});
  return Status(500, "InternalError", Concat({"Internal error occurred: ", message})).WithDetails(std::move(details));
}

Status SystemError(std::string_view message) { return Status(500, "InternalError", message); }

Status SystemError(std::string_view context, int error_number) {
  return SystemError(Concat({context, ": ", ErrnoText(error_number)}));
}

Status UnauthorizedError(std::string_view message) { return Status(401, "Unauthorized", message); }
Status ExpiredError(std::string_view message) { return Status(410, "Expired", message); }

Status TimeoutError(std::string_view message, int retry_after_seconds) {
  return RetryAfter(Status(504, "Timeout", Concat({"Timeout: ", message})), retry_after_seconds);
}

Status TooManyRequestsError(std::string_view message, int retry_after_seconds) {
  return RetryAfter(Status(429, "TooManyRequests", message), retry_after_seconds);
}

Status ServiceUnavailableError(std::string_view message) { return Status(503, "ServiceUnavailable", message); }

Status RequestTooLargeError(std::string_view detail) {
  return Status(413, "RequestEntityTooLarge", Concat({"Request entity too large: ", detail}));
}

Status MethodNotSupportedError(std::string_view group, std::string_view resource, std::string_view verb) {
  std::string message = Concat({verb, " is not supported on resources of kind ", GoQuote(QualifiedResource(group, resource))});
  return About(405, "MethodNotAllowed", message, group, resource, "");
}

Status NotAcceptableError(std::string_view message) { return Status(406, "NotAcceptable", message); }
Status UnsupportedMediaTypeError(std::string_view message) { return Status(415, "UnsupportedMediaType", message); }

Status InvalidError(std::string_view group, std::string_view kind, std::string_view name, std::vector<StatusCause> causes) {
  // Equal texts are said once; only several different ones stand in brackets.
  std::unordered_set<std::string> seen;
  std::string faults;
  for (const StatusCause& cause : causes) {
    std::string text = Concat({cause.field, ": ", cause.message});
    if (seen.contains(text)) continue;
    if (!seen.empty()) faults += ", ";
    faults += text;
    seen.insert(std::move(text));
  }
  std::string message = Concat({QualifiedResource(group, kind), " ", GoQuote(name), " is invalid"});
  if (seen.size() == 1) message += ": " + faults;
  if (seen.size() > 1) message += ": [" + faults + "]";
  StatusDetails details;
  details.name = name;
  details.group = group;
  details.kind = kind;
  details.causes = std::move(causes);
  return Status(422, "Invalid", message).WithDetails(std::move(details));
}

Status ForbiddenError(std::string_view group, std::string_view resource, std::string_view name, std::string_view detail) {
  std::string message;
  if (!group.empty() || !resource.empty()) {
    message = QualifiedResource(group, resource);
    if (!name.empty()) message += " " + GoQuote(name);
    message += " is ";
  }
  message += Concat({"forbidden: ", detail});
  return About(403, "Forbidden", message, group, resource, name);
}

}  // namespace homeostat
