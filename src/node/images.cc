#include "node/images.h"

#include "homeostat/base/text.h"
#include "homeostat/object/json.h"
#include "node/image_name.h"
#include "node/values.h"

namespace homeostat::node {

namespace {

// "https://index.docker.io/v1/" and "docker.io" are the same registry.
std::string NormalServer(std::string_view server) {
  if (size_t scheme = server.find("://"); scheme != std::string_view::npos) server.remove_prefix(scheme + 3);
  while (server.ends_with('/')) server.remove_suffix(1);
  for (std::string_view version : {"/v1", "/v2"}) {
    if (server.ends_with(version)) server.remove_suffix(version.size());
  }
  if (server == "index.docker.io" || server == "registry-1.docker.io") return "docker.io";
  return std::string(server);
}

}  // namespace

std::optional<cri::RegistryAuth> AuthFromDockerConfig(std::string_view json, const std::string& repository) {
  auto parsed = object::ParseJsonDocument(json);
  if (!parsed) return std::nullopt;
  std::optional<cri::RegistryAuth> best;
  size_t best_length = 0;
  for (const object::Member& member : (*parsed)->root().Get("auths").members()) {
    std::string server = NormalServer(member.name());
    bool matches = repository == server || repository.starts_with(server + "/");
    if (!matches || server.size() < best_length) continue;
    cri::RegistryAuth auth;
    auth.username = member.value.Get("username").AsString();
    auth.password = member.value.Get("password").AsString();
    if (std::optional<std::string> both = Base64Decode(member.value.Get("auth").AsString()); auth.username.empty() && both) {
      size_t colon = both->find(':');
      auth.username = both->substr(0, colon);
      if (colon != std::string::npos) auth.password = both->substr(colon + 1);
    }
    auth.identity_token = member.value.Get("identitytoken").AsString();
    auth.registry_token = member.value.Get("registrytoken").AsString();
    best = std::move(auth);
    best_length = server.size();
  }
  return best;
}

Task<std::optional<cri::RegistryAuth>> Images::FindAuth(object::DocumentPtr pod, std::string image) {
  core::Pod view(pod->root());
  std::string repository = RepositoryOf(image);
  for (core::LocalObjectReference reference : view.spec().image_pull_secrets()) {
    auto get = client_.Get<core::Secret>(std::string(view.metadata().namespace_()), std::string(reference.name()));
    Result<sdk::Object<core::Secret>> secret = co_await std::move(get);
    if (!secret) {
      events_(pod, {true, "FailedToRetrieveImagePullSecret",
                    "Unable to retrieve some image pull secrets (" + std::string(reference.name()) +
                        "); attempting to pull the image may not succeed.", ""});
      continue;
    }
    std::string_view config = (*secret)->data().Get(".dockerconfigjson");
    if (std::optional<cri::RegistryAuth> auth = AuthFromDockerConfig(config, repository)) co_return auth;
  }
  co_return std::nullopt;
}

Task<std::expected<ReadyImage, StartFailure>> Images::Ensure(object::DocumentPtr pod, std::string container,
                                                             cri::SandboxConfig sandbox) {
  core::Container spec = FindContainer(core::Pod(pod->root()).spec(), container).container;
  std::string requested(spec.image());
  Result<std::string> image = WithDefaultTag(requested);
  if (!image) {
    std::string message = "Failed to apply default image tag " + GoQuote(requested) + ": " + image.error().message();
    events_(pod, {true, "InspectFailed", message, container});
    co_return std::unexpected(StartFailure{"InvalidImageName", message});
  }
  if (spec.image_pull_policy() == core::kPullPolicyAlways) {
    auto pull = Pull(pod, container, *image, std::move(sandbox));
    co_return co_await std::move(pull);
  }
  cri::ImageSpec ask{.image = *image};
  auto status = cri_.ImageStatus(std::move(ask));
  Result<std::optional<cri::Image>> found = co_await std::move(status);
  if (!found) {
    std::string message = "Failed to inspect image " + GoQuote(requested) + ": " + found.error().message();
    events_(pod, {true, "InspectFailed", message, container});
    co_return std::unexpected(StartFailure{"ImageInspectError", message});
  }
  if (*found) {
    events_(pod, {false, "Pulled", "Container image " + GoQuote(requested) + " already present on machine and can be accessed by the pod",
                  container});
    co_return ReadyImage{(*found)->id, std::move(*found)};
  }
  if (spec.image_pull_policy() == core::kPullPolicyNever) {
    std::string message = "Container image " + GoQuote(requested) + " is not present with pull policy of Never";
    events_(pod, {true, "ErrImageNeverPull", message, container});
    co_return std::unexpected(StartFailure{"ErrImageNeverPull", message});
  }
  auto pull = Pull(pod, container, *image, std::move(sandbox));
  co_return co_await std::move(pull);
}

Task<std::expected<ReadyImage, StartFailure>> Images::Pull(object::DocumentPtr pod, std::string container, std::string image,
                                                           cri::SandboxConfig sandbox) {
  std::string shown = GoQuote(FindContainer(core::Pod(pod->root()).spec(), container).container.image());
  events_(pod, {false, "Pulling", "Pulling image " + shown, container});
  MonotonicTime began = runtime_.Now();
  auto find = FindAuth(pod, image);
  std::optional<cri::RegistryAuth> auth = co_await std::move(find);
  cri::ImageSpec spec{.image = image};
  auto pull = cri_.PullImage(spec, std::move(auth), std::move(sandbox));
  Result<std::string> ref = co_await std::move(pull);
  if (!ref) {
    events_(pod, {true, "Failed", "Failed to pull image " + shown + ": " + ref.error().message(), container});
    co_return std::unexpected(StartFailure{"ErrImagePull", ref.error().message()});
  }
  cri::ImageSpec by_ref{.image = *ref};
  auto status = cri_.ImageStatus(std::move(by_ref));
  Result<std::optional<cri::Image>> found = co_await std::move(status);
  ReadyImage ready{*ref, found ? std::move(*found) : std::nullopt};
  std::string took = object::FormatDuration(std::chrono::floor<std::chrono::milliseconds>(runtime_.Now() - began));
  events_(pod, {false, "Pulled", "Successfully pulled image " + shown + " in " + took + " (" + took + " including waiting). Image size: " +
                std::to_string(ready.image ? ready.image->size : 0) + " bytes.", container});
  co_return ready;
}

}  // namespace homeostat::node
