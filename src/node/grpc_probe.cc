// The gRPC health check, without generated code: request {1: service}, answer {1: status}.
//
// Source: grpc.health.v1, Health.Check.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <coroutine>

#include "homeostat/base/host_port.h"
#include "homeostat/object/time.h"
#include "homeostat/object/wire.h"
#include "node/probe.h"

namespace homeostat::node::internal {

namespace {

struct HealthCall {
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<grpc::GenericStub> stub;
  grpc::ClientContext context;
  grpc::ByteBuffer request, response;
  grpc::Status status;
  std::coroutine_handle<> waiting;   // loop only; null once the awaiting frame is gone
};

class HealthAwaiter {
 public:
  HealthAwaiter(Runtime& runtime, std::shared_ptr<HealthCall> call) : runtime_(runtime), call_(std::move(call)) {}
  HealthAwaiter(const HealthAwaiter&) = delete;
  ~HealthAwaiter() {
    if (std::exchange(call_->waiting, {})) call_->context.TryCancel();
  }
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    call_->waiting = handle;
    call_->stub->UnaryCall(&call_->context, "/grpc.health.v1.Health/Check", grpc::StubOptions(), &call_->request,
                           &call_->response, [call = call_, &runtime = runtime_](grpc::Status status) {
                             call->status = std::move(status);
                             runtime.Post([call] {
                               if (auto waiting = std::exchange(call->waiting, {})) waiting.resume();
                             });
                           });
  }
  void await_resume() const noexcept {}

 private:
  Runtime& runtime_;
  std::shared_ptr<HealthCall> call_;
};

std::string BytesOf(grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  buffer.Dump(&slices);
  std::string bytes;
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

CheckResult Failed(std::string output) { return {CheckResult::Kind::kFailure, std::move(output)}; }

CheckResult Judge(HealthCall& call, Duration timeout) {
  if (call.status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    return Failed("error: this server does not implement the grpc health protocol (grpc.health.v1.Health): " +
                  call.status.error_message());
  }
  if (call.status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    return Failed("timeout: health rpc did not complete within " + object::FormatDuration(timeout));
  }
  if (!call.status.ok()) return Failed("error: health rpc probe failed: " + call.status.error_message());
  static constexpr const char* kNames[] = {"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"};
  constexpr uint64_t kServing = 1;
  uint64_t status = 0;
  std::string bytes = BytesOf(call.response);
  object::WireReader reader(bytes, "HealthCheckResponse");
  while (reader.Next()) {
    if (reader.field() == 1 && reader.Expect(object::WireType::kVarint, "Status")) {
      status = reader.Varint();
    } else {
      reader.Skip();
    }
  }
  if (status == kServing) return {CheckResult::Kind::kSuccess, "service healthy"};
  return Failed("service unhealthy (responded with \"" + std::string(status < 4 ? kNames[status] : "UNKNOWN") + "\")");
}

}  // namespace

Task<CheckResult> RunGrpcCheck(Runtime& runtime, GrpcCheck check, Duration timeout) {
  auto call = std::make_shared<HealthCall>();
  std::string address = JoinHostPort(check.host, check.port);
  grpc::ChannelArguments arguments;
  arguments.SetUserAgentPrefix("kube-probe/1.36");
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // Each probe is a connection of its own, as with the other kinds.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  call->channel = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  call->stub = std::make_unique<grpc::GenericStub>(call->channel);
  call->context.set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_REALTIME), gpr_time_from_nanos(timeout.count(), GPR_TIMESPAN)));
  std::string request;
  if (!check.service.empty()) {
    object::AppendTag(request, 1, object::WireType::kLength);
    object::AppendVarint(request, check.service.size());
    request += check.service;
  }
  grpc::Slice slice(request);
  call->request = grpc::ByteBuffer(&slice, 1);
  HealthAwaiter awaiter(runtime, call);
  co_await awaiter;
  co_return Judge(*call, timeout);
}

}  // namespace homeostat::node::internal
