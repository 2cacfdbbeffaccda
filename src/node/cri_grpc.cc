// The gRPC client of the container runtime. gRPC's own threads only fill in answers; what waits for them continues on
// the loop.
#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <coroutine>
#include <mutex>

#include "node/cri.grpc.pb.h"
#include "node/cri.h"
#include "node/internal/cri_convert.h"

namespace homeostat::node::cri {

namespace {

// Longest answer of a runtime that is read: a node with very many images answers in megabytes.
constexpr int kLongestMessage = 16 * 1024 * 1024;
// Calls that only ask or mark; upstream's default for all runtime requests.
constexpr auto kShort = std::chrono::minutes(2);
// A pull that makes no progress is ended by the runtime itself; this only bounds what it forgot.
constexpr auto kPullLimit = std::chrono::hours(12);

std::string_view CodeName(grpc::StatusCode code) {
  static constexpr std::string_view kNames[] = {
      "OK", "Canceled", "Unknown", "InvalidArgument", "DeadlineExceeded", "NotFound", "AlreadyExists",
      "PermissionDenied", "ResourceExhausted", "FailedPrecondition", "Aborted", "OutOfRange", "Unimplemented",
      "Internal", "Unavailable", "DataLoss", "Unauthenticated"};
  size_t index = static_cast<size_t>(code);
  return index < std::size(kNames) ? kNames[index] : "Unknown";
}

homeostat::Status ToError(const grpc::Status& status) {
  int code = 500;
  if (status.error_code() == grpc::StatusCode::NOT_FOUND) code = 404;
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) code = 504;
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) code = 503;
  std::string name(CodeName(status.error_code()));
  return homeostat::Status(code, name, "rpc error: code = " + name + " desc = " + status.error_message());
}

// Counts calls whose answer is still to come, so that the client's end can wait for gRPC's threads to let go of it.
class InFlight {
 public:
  void Begin(grpc::ClientContext* context) {
    std::lock_guard lock(mutex_);
    contexts_.insert(context);
  }
  void End(grpc::ClientContext* context) {
    std::lock_guard lock(mutex_);
    contexts_.erase(context);
    if (contexts_.empty()) none_.notify_all();
  }
  void CancelAndWait() {
    std::unique_lock lock(mutex_);
    for (grpc::ClientContext* context : contexts_) context->TryCancel();
    none_.wait(lock, [this] { return contexts_.empty(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  std::set<grpc::ClientContext*> contexts_;
};

template <class Request, class Response>
struct Call {
  grpc::ClientContext context;
  Request request;
  Response response;
  grpc::Status status;
  std::coroutine_handle<> waiting;  // loop only; null once the awaiting frame is gone
};

// Awaits one call. Method is a member of a stub's asynchronous interface that takes a function to call at the end.
template <class Async, class Request, class Response>
class CallAwaiter {
 public:
  using Method = void (Async::*)(grpc::ClientContext*, const Request*, Response*, std::function<void(grpc::Status)>);
  CallAwaiter(Runtime& runtime, InFlight& in_flight, Async& async, Method method, Request request, Duration limit)
      : runtime_(runtime), in_flight_(in_flight), async_(async), method_(method),
        call_(std::make_shared<Call<Request, Response>>()) {
    call_->request = std::move(request);
    call_->context.set_deadline(
        gpr_time_add(gpr_now(GPR_CLOCK_REALTIME), gpr_time_from_nanos(limit.count(), GPR_TIMESPAN)));
  }
  CallAwaiter(const CallAwaiter&) = delete;
  ~CallAwaiter() {
    if (std::exchange(call_->waiting, {})) call_->context.TryCancel();
  }
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    call_->waiting = handle;
    in_flight_.Begin(&call_->context);
    (async_.*method_)(&call_->context, &call_->request, &call_->response,
                      [call = call_, &runtime = runtime_, &in_flight = in_flight_](grpc::Status status) {
                        call->status = std::move(status);
                        runtime.Post([call] {
                          if (auto waiting = std::exchange(call->waiting, {})) waiting.resume();
                        });
                        in_flight.End(&call->context);
                      });
  }
  Result<Response> await_resume() {
    if (!call_->status.ok()) return Fail(ToError(call_->status));
    return std::move(call_->response);
  }

 private:
  Runtime& runtime_;
  InFlight& in_flight_;
  Async& async_;
  Method method_;
  std::shared_ptr<Call<Request, Response>> call_;
};

using RuntimeAsync = pb::RuntimeService::StubInterface::async_interface;
using ImageAsync = pb::ImageService::StubInterface::async_interface;

// The threads that gRPC (1.51) shares among channels for answers may fail an assertion when the last of the channels ends.
// The first one therefore stays until the process ends. (Nobody reads the pointer: but for volatile it would not be stored, and a
// search for leaks would not find what it points to.)
void KeepFirst(const std::shared_ptr<grpc::Channel>& channel) {
  static const std::shared_ptr<grpc::Channel>* volatile first = new std::shared_ptr<grpc::Channel>(channel);
  (void)first;
}

class GrpcCri : public Cri {
 public:
  GrpcCri(Runtime& runtime, const std::string& socket_path) : runtime_(runtime) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(kLongestMessage);
    // A socket on this machine: try again soon after the runtime went away.
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    // The default would be the percent-encoded path, which containerd's HTTP/2 server refuses.
    arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
    channel_ = grpc::CreateCustomChannel("unix:" + socket_path, grpc::InsecureChannelCredentials(), arguments);
    KeepFirst(channel_);
    runtime_stub_ = pb::RuntimeService::NewStub(channel_);
    image_stub_ = pb::ImageService::NewStub(channel_);
    run_ = runtime_stub_->async();
    img_ = image_stub_->async();
  }
  ~GrpcCri() override { in_flight_.CancelAndWait(); }

  Task<Result<RuntimeVersion>> Version() override {
    pb::VersionRequest request;
    auto call = Invoke<pb::VersionResponse>(*run_, &RuntimeAsync::Version, std::move(request), kShort);
    CO_TRY_ASSIGN(pb::VersionResponse answer, co_await std::move(call));
    co_return RuntimeVersion{answer.runtime_name(), answer.runtime_version(), answer.runtime_api_version()};
  }

  Task<Result<std::vector<RuntimeCondition>>> Status() override {
    pb::StatusRequest request;
    auto call = Invoke<pb::StatusResponse>(*run_, &RuntimeAsync::Status, std::move(request), kShort);
    CO_TRY_ASSIGN(pb::StatusResponse answer, co_await std::move(call));
    std::vector<RuntimeCondition> conditions;
    for (const pb::RuntimeCondition& item : answer.status().conditions()) {
      conditions.push_back({item.type(), item.reason(), item.message(), item.status()});
    }
    co_return conditions;
  }

  Task<Result<std::string>> RunPodSandbox(SandboxConfig config) override {
    pb::RunPodSandboxRequest request;
    ToMessage(config, *request.mutable_config());
    request.set_runtime_handler(config.runtime_handler);
    auto call = Invoke<pb::RunPodSandboxResponse>(*run_, &RuntimeAsync::RunPodSandbox, std::move(request), 2 * kShort);
    CO_TRY_ASSIGN(pb::RunPodSandboxResponse answer, co_await std::move(call));
    co_return answer.pod_sandbox_id();
  }

  Task<Result<void>> StopPodSandbox(std::string id) override {
    pb::StopPodSandboxRequest request;
    request.set_pod_sandbox_id(id);
    auto call = Invoke<pb::StopPodSandboxResponse>(*run_, &RuntimeAsync::StopPodSandbox, std::move(request), kShort);
    CO_TRY(co_await std::move(call));
    co_return Done();
  }

  Task<Result<void>> RemovePodSandbox(std::string id) override {
    pb::RemovePodSandboxRequest request;
    request.set_pod_sandbox_id(id);
    auto call = Invoke<pb::RemovePodSandboxResponse>(*run_, &RuntimeAsync::RemovePodSandbox, std::move(request), kShort);
    CO_TRY(co_await std::move(call));
    co_return Done();
  }

  Task<Result<std::vector<Sandbox>>> ListPodSandbox(Filter filter) override {
    pb::ListPodSandboxRequest request;
    request.mutable_filter()->set_id(filter.id);
    for (auto& [key, value] : filter.labels) (*request.mutable_filter()->mutable_label_selector())[key] = value;
    auto call = Invoke<pb::ListPodSandboxResponse>(*run_, &RuntimeAsync::ListPodSandbox, std::move(request), kShort);
    CO_TRY_ASSIGN(pb::ListPodSandboxResponse answer, co_await std::move(call));
    std::vector<Sandbox> items;
    for (const pb::PodSandbox& item : answer.items()) items.push_back(FromMessage(item));
    co_return items;
  }

  Task<Result<cri::SandboxStatus>> PodSandboxStatus(std::string id) override {
    pb::PodSandboxStatusRequest request;
    request.set_pod_sandbox_id(id);
    auto call = Invoke<pb::PodSandboxStatusResponse>(*run_, &RuntimeAsync::PodSandboxStatus, std::move(request), kShort);
    CO_TRY_ASSIGN(pb::PodSandboxStatusResponse answer, co_await std::move(call));
    co_return FromMessage(answer.status());
  }

  Task<Result<std::string>> CreateContainer(std::string sandbox_id, ContainerConfig config, SandboxConfig sandbox) override {
    pb::CreateContainerRequest request;
    request.set_pod_sandbox_id(sandbox_id);
    ToMessage(config, *request.mutable_config());
    ToMessage(sandbox, *request.mutable_sandbox_config());
    auto call = Invoke<pb::CreateContainerResponse>(*run_, &RuntimeAsync::CreateContainer, std::move(request), kShort);
    CO_TRY_ASSIGN(pb::CreateContainerResponse answer, co_await std::move(call));
    co_return answer.container_id();
  }

  Task<Result<void>> StartContainer(std::string id) override {
    pb::StartContainerRequest request;
    request.set_container_id(id);
    auto call = Invoke<pb::StartContainerResponse>(*run_, &RuntimeAsync::StartContainer, std::move(request), kShort);
    CO_TRY(co_await std::move(call));
    co_return Done();
  }

  Task<Result<void>> StopContainer(std::string id, int64_t timeout_seconds) override {
    pb::StopContainerRequest request;
    request.set_container_id(id);
    request.set_timeout(timeout_seconds);
    Duration limit = kShort + std::chrono::seconds(timeout_seconds);
    auto call = Invoke<pb::StopContainerResponse>(*run_, &RuntimeAsync::StopContainer, std::move(request), limit);
    CO_TRY(co_await std::move(call));
    co_return Done();
  }

  Task<Result<void>> RemoveContainer(std::string id) override {
    pb::RemoveContainerRequest request;
    request.set_container_id(id);
    auto call = Invoke<pb::RemoveContainerResponse>(*run_, &RuntimeAsync::RemoveContainer, std::move(request), kShort);
    CO_TRY(co_await std::move(call));
    co_return Done();
  }

  Task<Result<std::vector<Container>>> ListContainers(Filter filter) override {
    pb::ListContainersRequest request;
    request.mutable_filter()->set_id(filter.id);
    request.mutable_filter()->set_pod_sandbox_id(filter.sandbox_id);
    for (auto& [key, value] : filter.labels) (*request.mutable_filter()->mutable_label_selector())[key] = value;
    auto call = Invoke<pb::ListContainersResponse>(*run_, &RuntimeAsync::ListContainers, std::move(request), kShort);
    CO_TRY_ASSIGN(pb::ListContainersResponse answer, co_await std::move(call));
    std::vector<Container> items;
    for (const pb::Container& item : answer.containers()) items.push_back(FromMessage(item));
    co_return items;
  }

  Task<Result<cri::ContainerStatus>> GetContainerStatus(std::string id) override {
    pb::ContainerStatusRequest request;
    request.set_container_id(id);
    auto call = Invoke<pb::ContainerStatusResponse>(*run_, &RuntimeAsync::ContainerStatus, std::move(request), kShort);
    CO_TRY_ASSIGN(pb::ContainerStatusResponse answer, co_await std::move(call));
    co_return FromMessage(answer.status());
  }

  Task<Result<void>> UpdateContainerResources(std::string id, LinuxResources resources) override {
    pb::UpdateContainerResourcesRequest request;
    request.set_container_id(id);
    ToMessage(resources, *request.mutable_linux());
    auto call = Invoke<pb::UpdateContainerResourcesResponse>(*run_, &RuntimeAsync::UpdateContainerResources,
                                                             std::move(request), kShort);
    CO_TRY(co_await std::move(call));
    co_return Done();
  }

  Task<Result<void>> ReopenContainerLog(std::string id) override {
    pb::ReopenContainerLogRequest request;
    request.set_container_id(id);
    auto call = Invoke<pb::ReopenContainerLogResponse>(*run_, &RuntimeAsync::ReopenContainerLog, std::move(request), kShort);
    CO_TRY(co_await std::move(call));
    co_return Done();
  }

  Task<Result<std::vector<ContainerUsage>>> ListContainerStats(Filter filter) override {
    pb::ListContainerStatsRequest request;
    request.mutable_filter()->set_id(filter.id);
    request.mutable_filter()->set_pod_sandbox_id(filter.sandbox_id);
    for (auto& [key, value] : filter.labels) (*request.mutable_filter()->mutable_label_selector())[key] = value;
    auto call = Invoke<pb::ListContainerStatsResponse>(*run_, &RuntimeAsync::ListContainerStats, std::move(request), kShort);
    CO_TRY_ASSIGN(pb::ListContainerStatsResponse answer, co_await std::move(call));
    std::vector<ContainerUsage> items;
    for (const pb::ContainerStats& item : answer.stats()) items.push_back(FromMessage(item));
    co_return items;
  }

  Task<Result<ExecResult>> ExecSync(std::string id, std::vector<std::string> command, int64_t timeout_seconds) override {
    pb::ExecSyncRequest request;
    request.set_container_id(id);
    request.mutable_cmd()->Add(command.begin(), command.end());
    request.set_timeout(timeout_seconds);
    // The runtime enforces the timeout; ours is later, for a runtime that doesn't.
    Duration limit = timeout_seconds > 0 ? kShort + std::chrono::seconds(timeout_seconds) : Duration(kPullLimit);
    auto call = Invoke<pb::ExecSyncResponse>(*run_, &RuntimeAsync::ExecSync, std::move(request), limit);
    CO_TRY_ASSIGN(pb::ExecSyncResponse answer, co_await std::move(call));
    co_return ExecResult{answer.stdout(), answer.stderr(), answer.exit_code()};
  }

  Task<Result<std::string>> Exec(StreamRequest stream) override {
    pb::ExecRequest request;
    request.mutable_cmd()->Add(stream.command.begin(), stream.command.end());
    SetStreams(stream, request);
    auto call = Invoke<pb::ExecResponse>(*run_, &RuntimeAsync::Exec, std::move(request), kShort);
    CO_TRY_ASSIGN(pb::ExecResponse answer, co_await std::move(call));
    co_return answer.url();
  }

  Task<Result<std::string>> Attach(StreamRequest stream) override {
    pb::AttachRequest request;
    SetStreams(stream, request);
    auto call = Invoke<pb::AttachResponse>(*run_, &RuntimeAsync::Attach, std::move(request), kShort);
    CO_TRY_ASSIGN(pb::AttachResponse answer, co_await std::move(call));
    co_return answer.url();
  }

  Task<Result<std::string>> PortForward(std::string sandbox_id, std::vector<int32_t> ports) override {
    pb::PortForwardRequest request;
    request.set_pod_sandbox_id(sandbox_id);
    request.mutable_port()->Add(ports.begin(), ports.end());
    auto call = Invoke<pb::PortForwardResponse>(*run_, &RuntimeAsync::PortForward, std::move(request), kShort);
    CO_TRY_ASSIGN(pb::PortForwardResponse answer, co_await std::move(call));
    co_return answer.url();
  }

  Task<Result<std::vector<Image>>> ListImages() override {
    pb::ListImagesRequest request;
    auto call = Invoke<pb::ListImagesResponse>(*img_, &ImageAsync::ListImages, std::move(request), kShort);
    CO_TRY_ASSIGN(pb::ListImagesResponse answer, co_await std::move(call));
    std::vector<Image> items;
    for (const pb::Image& item : answer.images()) items.push_back(FromMessage(item));
    co_return items;
  }

  Task<Result<std::optional<Image>>> ImageStatus(ImageSpec image) override {
    pb::ImageStatusRequest request;
    ToMessage(image, *request.mutable_image());
    auto call = Invoke<pb::ImageStatusResponse>(*img_, &ImageAsync::ImageStatus, std::move(request), kShort);
    CO_TRY_ASSIGN(pb::ImageStatusResponse answer, co_await std::move(call));
    std::optional<Image> found;
    if (answer.has_image()) found = FromMessage(answer.image());
    co_return found;
  }

  Task<Result<std::string>> PullImage(ImageSpec image, std::optional<RegistryAuth> auth, SandboxConfig sandbox) override {
    pb::PullImageRequest request;
    ToMessage(image, *request.mutable_image());
    if (auth) ToMessage(*auth, *request.mutable_auth());
    ToMessage(sandbox, *request.mutable_sandbox_config());
    auto call = Invoke<pb::PullImageResponse>(*img_, &ImageAsync::PullImage, std::move(request), kPullLimit);
    CO_TRY_ASSIGN(pb::PullImageResponse answer, co_await std::move(call));
    co_return answer.image_ref();
  }

  Task<Result<void>> RemoveImage(ImageSpec image) override {
    pb::RemoveImageRequest request;
    ToMessage(image, *request.mutable_image());
    auto call = Invoke<pb::RemoveImageResponse>(*img_, &ImageAsync::RemoveImage, std::move(request), kShort);
    CO_TRY(co_await std::move(call));
    co_return Done();
  }

  Task<Result<std::vector<FilesystemUsage>>> ImageFsInfo() override {
    pb::ImageFsInfoRequest request;
    auto call = Invoke<pb::ImageFsInfoResponse>(*img_, &ImageAsync::ImageFsInfo, std::move(request), kShort);
    CO_TRY_ASSIGN(pb::ImageFsInfoResponse answer, co_await std::move(call));
    std::vector<FilesystemUsage> items;
    for (const pb::FilesystemUsage& item : answer.image_filesystems()) {
      items.push_back({item.fs_id().mountpoint(), item.used_bytes().value(), item.inodes_used().value()});
    }
    co_return items;
  }

 private:
  template <class Response, class Async, class Request>
  Task<Result<Response>> Invoke(Async& async,
                                void (Async::*method)(grpc::ClientContext*, const Request*, Response*,
                                                      std::function<void(grpc::Status)>),
                                std::type_identity_t<Request> request, Duration limit) {
    CallAwaiter<Async, Request, Response> call(runtime_, in_flight_, async, method, std::move(request), limit);
    co_return co_await call;
  }

  template <class Request>
  static void SetStreams(const StreamRequest& stream, Request& request) {
    request.set_container_id(stream.container_id);
    request.set_tty(stream.tty);
    request.set_stdin(stream.in);
    request.set_stdout(stream.out);
    request.set_stderr(stream.err);
  }

  Runtime& runtime_;
  InFlight in_flight_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<pb::RuntimeService::StubInterface> runtime_stub_;
  std::unique_ptr<pb::ImageService::StubInterface> image_stub_;
  RuntimeAsync* run_ = nullptr;
  ImageAsync* img_ = nullptr;
};

}  // namespace

std::unique_ptr<Cri> MakeGrpcCri(Runtime& runtime, std::string socket_path) {
  return std::make_unique<GrpcCri>(runtime, socket_path);
}

}  // namespace homeostat::node::cri
