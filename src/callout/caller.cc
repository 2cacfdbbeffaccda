#include "callout/caller.h"

#include <algorithm>
#include <utility>

#include "homeostat/base/text.h"
#include "homeostat/object/json.h"

namespace homeostat::callout {
namespace {

constexpr size_t kShownBytes = 2048;           // of an answer that is no success
constexpr size_t kHeaderBytes = 64 * 1024;
constexpr std::string_view kDeadline = "context deadline exceeded";
constexpr size_t kOwnCalls = 100;  // of this server to itself, which may make it call itself again

struct CodeText {
  int code;
  std::string_view reason, message;
};
// Source: NewGenericServerResponse of apimachinery's api/errors, for POST.
constexpr CodeText kCodeTexts[] = {
    {400, "BadRequest", "the server rejected our request for an unknown reason"},
    {401, "Unauthorized", "the server has asked for the client to provide credentials"},
    {404, "NotFound", "the server could not find the requested resource"},
    {405, "MethodNotAllowed", "the server does not allow this method on the requested resource"},
    {409, "AlreadyExists", "the server reported a conflict"},
    {422, "Invalid", "the server rejected our request due to an error in our request"},
    {429, "TooManyRequests", "the server has received too many requests and has asked us to try again later"},
    {503, "ServiceUnavailable", "the server is currently unable to handle the request"},
    {504, "Timeout", "the server was unable to return a response in the time allotted, but may still be processing the request"},
};

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  size_t first = text.find_first_not_of(kSpace);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// What came of a call.
struct Exchange {
  bool answered = false;  // the head came
  int code = 0;
  std::string content_type;
  Result<Bytes> body = Bytes();
};

Task<void> ReadInto(Exchange* exchange, http::Response response, size_t limit) {
  exchange->answered = true;
  exchange->code = response.code;
  exchange->content_type = response.headers.Get("Content-Type");
  auto read = http::ReadAll(std::move(response), limit);
  exchange->body = co_await std::move(read);
}

// The exchange outlives the task.
Task<void> Converse(std::shared_ptr<http::Client> client, http::Request request, size_t limit, Exchange* exchange) {
  auto call = client->Do(std::move(request));
  Result<http::Response> response = co_await std::move(call);
  if (!response) {
    exchange->body = Fail(response.error());
    co_return;
  }
  auto read = ReadInto(exchange, *std::move(response), limit);
  co_await std::move(read);
}

// The same with this server, from a turn of its own: its answer may ask for more of the kind.
Task<void> ConverseWithOwn(Runtime& runtime, std::shared_ptr<http::Handler> own, std::shared_ptr<size_t> under_way, http::Request request,
                           size_t limit, Exchange* exchange) {
  struct Counted {
    std::shared_ptr<size_t> under_way;
    ~Counted() { --*under_way; }
  };
  if (*under_way >= kOwnCalls) {
    exchange->body = Fail(SystemError("too many calls of this server to itself"));
    co_return;
  }
  ++*under_way;
  Counted counted{std::move(under_way)};
  auto yield = Yield(runtime);
  co_await std::move(yield);
  auto handle = own->Handle(std::move(request));
  http::Response response = co_await std::move(handle);
  auto read = ReadInto(exchange, std::move(response), limit);
  co_await std::move(read);
}

// Why there is no answer.
Status NoAnswer(std::string_view message) { return Status(503, "ServiceUnavailable", message); }

// In Go's words.
std::string TransportFault(const Status& error) {
  if (error.message().ends_with("without an answer")) return "EOF";
  return error.message();
}

// At least one: without any there would be nobody to tell.
int64_t WholeSeconds(Duration time) { return (std::max(time, Duration(1)) + std::chrono::seconds(1) - Duration(1)) / std::chrono::seconds(1); }

}  // namespace

Status AnswerError(int code, std::string_view content_type, std::string_view body) {
  object::Arena arena;
  auto parsed = object::ParseJson(arena, body);
  if (parsed && parsed->Get("kind").AsString() == "Status" && parsed->Get("status").AsString() != "Success") {
    int64_t own = parsed->Get("code").AsInt();
    return Status(own >= 400 && own < 600 ? static_cast<int>(own) : 500, parsed->Get("reason").AsString(), parsed->Get("message").AsString());
  }
  bool text = content_type.empty() || content_type.starts_with("text/");
  std::string said = text ? std::string(Trimmed(body.substr(0, kShownBytes))) : "unknown";
  int shown = code >= 400 && code < 600 ? code : 500;
  for (const CodeText& known : kCodeTexts) {
    if (known.code == code) return Status(shown, known.reason, known.message);
  }
  if (code == 403) return Status(shown, "Forbidden", said);
  if (code == 415) return Status(shown, "UnsupportedMediaType", said);
  if (code == 406) {
    bool silent = said.empty() || said == "unknown";
    return Status(shown, "NotAcceptable", silent ? "the server was unable to respond with a content type that the client supports" : said);
  }
  if (code >= 500) {
    return Status(shown, "InternalError", "an error on the server (" + GoQuote(said) + ") has prevented the request from succeeding");
  }
  return Status(shown, "", "the server responded with the status code " + std::to_string(code) + " but did not return more information");
}

bool IsThisServer(const ServiceReference& service) { return service == ServiceReference{"default", "kubernetes", 443}; }

bool IsThisServer(const Target& target) {
  if (target.service) return IsThisServer(*target.service);
  return target.authority == "kubernetes.default.svc" || target.authority == "kubernetes.default.svc:443";
}

Caller::Caller(Runtime& runtime, const kinds::ObjectReader& objects, CallerOptions options)
    : runtime_(runtime), objects_(objects), options_(std::move(options)) {}

Result<std::shared_ptr<http::Client>> Caller::ClientFor(const Target& target) {
  TRY_ASSIGN(std::string address, AddressOf(runtime_, objects_, target));
  std::string key;
  for (std::string_view part : {std::string_view(address), std::string_view(target.authority), std::string_view(target.server_name),
                                std::string_view(target.ca), std::string_view(target.certificate), std::string_view(target.private_key)}) {
    key.append(std::to_string(part.size())).append(":").append(part);
  }
  key += target.insecure_skip_verify ? "-" : "+";
  if (auto found = by_key_.find(key); found != by_key_.end()) {
    kept_.splice(kept_.begin(), kept_, found->second);
    return kept_.front().client;
  }
  http::ClientOptions options;
  options.address = std::move(address);
  options.host = target.authority;
  options.http2 = false;
  options.header_bytes = kHeaderBytes;
  TlsClientOptions tls;
  tls.ca = target.ca;
  tls.certificate = target.certificate;
  tls.private_key = target.private_key;
  tls.server_name = target.server_name;
  tls.insecure_skip_verify = target.insecure_skip_verify;
  tls.clock = &runtime_;
  options.tls = std::move(tls);
  kept_.push_front({key, std::make_shared<http::Client>(runtime_, std::move(options))});
  by_key_[std::move(key)] = kept_.begin();
  if (kept_.size() > options_.targets) {
    by_key_.erase(kept_.back().key);
    kept_.pop_back();
  }
  return kept_.front().client;
}

Task<Result<Bytes>> Caller::Post(Target target, Bytes json, PostOptions options) {
  http::Request request;
  request.method = "POST";
  request.path = target.path;
  if (options.tells_timeout) request.query = "timeout=" + std::to_string(WholeSeconds(std::min(options.timeout, options.left))) + "s";
  request.headers.Set("Content-Type", "application/json");
  request.headers.Set("Accept", "application/json, */*");
  request.headers.Set("User-Agent", options_.user_agent);
  request.body = std::move(json);
  std::string what = "Post " + GoQuote(target.Url() + (request.query.empty() ? "" : "?" + request.query)) + ": ";
  Exchange exchange;
  Task<void> conversation;
  if (own_ != nullptr && IsThisServer(target)) {
    conversation = ConverseWithOwn(runtime_, own_, own_calls_, std::move(request), options.answer_bytes, &exchange);
  } else {
    auto client = ClientFor(target);
    if (!client) co_return Fail(NoAnswer(what + client.error().message()));
    conversation = Converse(*client, std::move(request), options.answer_bytes, &exchange);
  }
  auto within = Within(runtime_, options.timeout, std::move(conversation));
  bool in_time = co_await std::move(within);
  if (!exchange.answered) {
    co_return Fail(NoAnswer(what + (in_time ? TransportFault(exchange.body.error()) : std::string(kDeadline))));
  }
  if (!in_time || !exchange.body) {
    co_return Fail(NoAnswer("unexpected error when reading response body. Please retry. Original error: " +
                               (in_time ? exchange.body.error().message() : std::string(kDeadline))));
  }
  if (exchange.code < 200 || exchange.code > 206) co_return Fail(AnswerError(exchange.code, exchange.content_type, *exchange.body));
  co_return *std::move(exchange.body);
}

}  // namespace homeostat::callout
