// Status: the one error type, shaped as the API answers it.
//
// What a client sees is built where the fault is found and passed up unchanged: code, reason, message, and the
// causes with their field paths. Errors that never reach a client (I/O, configuration) use the same type with
// reason InternalError, so that no layer translates one error into another.
//
// Source of the shape: meta/v1 Status and the API conventions, "Response Status Kind".
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace homeostat {

// One reason an object was refused: which field, what kind of fault, and the text for people.
struct StatusCause {
  std::string reason;   // FieldValueInvalid, FieldValueRequired …; the field.ErrorType of upstream
  std::string message;
  std::string field;    // JSON path from the object's root, e.g. spec.containers[0].image
  bool operator==(const StatusCause&) const = default;
};

// What the failed request was about.
struct StatusDetails {
  std::string name;
  std::string group;
  std::string kind;     // the kind, or the plural resource name where upstream answers with that
  std::string uid;
  std::vector<StatusCause> causes;
  int32_t retry_after_seconds = 0;
  std::string continue_token;  // goes to metadata.continue: where an expired list may be taken up again
  bool shown = false;   // written as {} even when nothing is in it, as upstream does for some errors
  bool empty() const {
    return name.empty() && group.empty() && kind.empty() && uid.empty() && causes.empty() && retry_after_seconds == 0;
  }
  bool operator==(const StatusDetails&) const = default;
};

// An error. Never "success": success is a Result's value. Copying shares the text; a Status is one pointer wide.
// Values are immutable; the With… functions return a changed copy. Safe to pass between threads.
class Status {
 public:
  // code is an HTTP status (400…599); reason one of meta/v1's StatusReason values ("" where upstream gives none).
  Status(int code, std::string_view reason, std::string_view message);

  int code() const { return rep_->code; }
  const std::string& reason() const { return rep_->reason; }
  const std::string& message() const { return rep_->message; }
  const StatusDetails& details() const { return rep_->details; }
  // Upstream answers "details":{} for some errors and leaves details out for others: true once details were given.
  bool has_details() const { return rep_->has_details; }

  Status WithDetails(StatusDetails details) const;
  Status WithMessage(std::string_view message) const;
  // Puts "context: " in front of the message, for errors people read in logs.
  Status WithContext(std::string_view context) const;

  bool IsNotFound() const { return code() == 404; }
  bool IsConflict() const { return reason() == "Conflict"; }
  bool IsAlreadyExists() const { return reason() == "AlreadyExists"; }
  // The watch or list position is gone from history: list again.
  bool IsExpired() const { return code() == 410; }

  bool operator==(const Status& other) const;

 private:
  struct Rep {
    int code;
    std::string reason;
    std::string message;
    StatusDetails details;
    bool has_details = false;
    bool operator==(const Rep&) const = default;
  };
  explicit Status(Rep rep) : rep_(std::make_shared<const Rep>(std::move(rep))) {}
  std::shared_ptr<const Rep> rep_;
};

// What a resource is called in messages: `deployments.apps "web" not found`. The core group has no suffix.
std::string QualifiedResource(std::string_view group, std::string_view resource);

// Makers of the errors that every layer needs; texts are those that clients know from upstream.
Status NotFoundError(std::string_view group, std::string_view resource, std::string_view name);
Status AlreadyExistsError(std::string_view group, std::string_view resource, std::string_view name);
// detail: why, e.g. "the object has been modified; please apply your changes to the latest version and try again".
Status ConflictError(std::string_view group, std::string_view resource, std::string_view name, std::string_view detail);
Status BadRequestError(std::string_view message);
// "Internal error occurred: …", for clients.
Status InternalError(std::string_view message);
// An error of the system that people read in logs or on the terminal: the message as it is, code 500, InternalError.
Status SystemError(std::string_view message);
// "open /etc/x: permission denied": what was tried, and the text of an errno.
Status SystemError(std::string_view context, int error_number);
Status UnauthorizedError(std::string_view message = "Unauthorized");
Status ExpiredError(std::string_view message);
// "Timeout: " and the message.
Status TimeoutError(std::string_view message, int retry_after_seconds = 0);
Status TooManyRequestsError(std::string_view message, int retry_after_seconds);
Status ServiceUnavailableError(std::string_view message);
// detail: e.g. "limit is 3145728"; the message names the fault in front of it.
Status RequestTooLargeError(std::string_view detail);
Status MethodNotSupportedError(std::string_view group, std::string_view resource, std::string_view verb);
Status NotAcceptableError(std::string_view message);
Status UnsupportedMediaTypeError(std::string_view message);
// 422 with the causes; the message is upstream's aggregate: `Pod "x" is invalid: [a, b]`.
Status InvalidError(std::string_view group, std::string_view kind, std::string_view name, std::vector<StatusCause> causes);
// 403 as authorization and admission give it; resource may be empty.
Status ForbiddenError(std::string_view group, std::string_view resource, std::string_view name, std::string_view detail);

}  // namespace homeostat
