// The node's own HTTP API, as a Handler: the API server of the same process calls it directly, that of another machine
// over a socket that someone else guards (it asks nobody whether the caller may).
//
//   GET       /healthz
//   GET       /pods                                             the pods of this node, as a PodList
//   GET       /containerLogs/NS/POD/CONTAINER                   follow, previous, timestamps, tailLines, sinceSeconds, sinceTime, limitBytes, stream
//   GET|POST  /exec/NS/POD/CONTAINER, /attach/NS/POD/CONTAINER  command…, and stdin, stdout, stderr, tty (or input, output, error)
//   GET|POST  /portForward/NS/POD                               port…
//   GET       /stats/summary                                    use of CPU and memory
//
// exec, attach and portForward answer to an upgrade: to SPDY/3.1, whose bytes are passed through to the container runtime,
// or to a WebSocket with v5.channel.k8s.io, v4.channel.k8s.io and their base64 forms (exec, attach) or
// SPDY/3.1+portforward.k8s.io (portForward). Paths, parameters and answers are upstream's.
#pragma once

#include <memory>

#include "homeostat/base/http.h"
#include "node/node_context.h"
#include "node/pod_manager.h"

namespace homeostat::node {

class NodeApi : public http::Handler {
 public:
  explicit NodeApi(Runtime& runtime);
  ~NodeApi() override;

  // Until attached, and after Detach, everything but /healthz answers 503. Both must outlive the attachment.
  void Attach(NodeContext& context, PodManager& pods);
  void Detach();

  Task<http::Response> Handle(http::Request request) override;

 private:
  struct Target;
  Task<http::Response> Route(http::Request request);
  http::Response Pods() const;
  Task<http::Response> Logs(http::Request request, Target target);
  Task<http::Response> ExecOrAttach(http::Request request, Target target, bool exec);
  Task<http::Response> PortForward(http::Request request, Target target);
  Task<http::Response> Stats();

  // Shared with answers that are still being read when the node has ended.
  struct Attachment {
    NodeContext* context = nullptr;
    PodManager* pods = nullptr;
  };
  Runtime& runtime_;
  std::shared_ptr<Attachment> node_ = std::make_shared<Attachment>();
};

}  // namespace homeostat::node
