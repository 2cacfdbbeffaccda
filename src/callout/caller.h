// Caller: keeps connections to targets, and posts to webhooks.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "callout/target.h"
#include "homeostat/base/bytes.h"
#include "http/client.h"

namespace homeostat::callout {

struct CallerOptions {
  std::string user_agent = "kube-apiserver";
  size_t targets = 200;  // whose connections are kept; the one used longest ago goes first
};

struct PostOptions {
  Duration timeout = std::chrono::seconds(30);  // of the whole call, connecting and the answer's last octet included
  Duration left = Duration::max();              // of whoever asks: he gives the call up then
  bool tells_timeout = true;                    // to the webhook the shorter time, as the parameter `timeout` in whole seconds
  size_t answer_bytes = 16 << 20;               // of the answer's body
};

// Whether a service or a target is the API server itself, under the name it has in its own cluster.
bool IsThisServer(const ServiceReference& service);
bool IsThisServer(const Target& target);

// Loop only. The runtime and the reader must outlive it, and it the tasks it returned; what ClientFor gave may outlive it.
class Caller {
 public:
  Caller(Runtime& runtime, const kinds::ObjectReader& objects, CallerOptions options = {});

  // A client for requests to the target, over connections that calls to equal targets share; its Host is set. It speaks
  // HTTP/1.1, so that calls spread over the endpoints of a Service. Follows no redirects, adds no fields. Errors are AddressOf's.
  Result<std::shared_ptr<http::Client>> ClientFor(const Target& target);

  // Posts JSON to a webhook; gives the body of its answer if the code is one of success. The error's message is Kubernetes'
  // client's: `Post "https://…?timeout=10s": context deadline exceeded`, or what the answer's Status or code says. Its code is that of
  // the answer, 503 where there was none.
  Task<Result<Bytes>> Post(Target target, Bytes json, PostOptions options);

  // Webhooks of this server itself (an extension server behind it answers them) are posted to this handler, under its user, and not
  // to an address. Null: as any other.
  void AnswerOwn(std::shared_ptr<http::Handler> handler) { own_ = std::move(handler); }

 private:
  struct Kept {
    std::string key;
    std::shared_ptr<http::Client> client;
  };

  Runtime& runtime_;
  const kinds::ObjectReader& objects_;
  const CallerOptions options_;
  std::shared_ptr<http::Handler> own_;
  std::shared_ptr<size_t> own_calls_ = std::make_shared<size_t>(0);  // under way; shared with them, as they may outlive this
  std::list<Kept> kept_;  // the one used last first
  std::unordered_map<std::string, std::list<Kept>::iterator> by_key_;
};

// What Kubernetes' client makes of an answer that is no success: the Status in its body, or words for its code.
Status AnswerError(int code, std::string_view content_type, std::string_view body);

}  // namespace homeostat::callout
