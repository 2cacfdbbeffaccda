// Images: sees to it that a container's image is on the node, by its pull policy. Loop only.
#pragma once

#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "homeostat/sdk/client.h"
#include "node/prober.h"

namespace homeostat::node {

struct ReadyImage {
  std::string ref;                  // what a container is created from
  std::optional<cri::Image> image;
};

class Images {
 public:
  Images(Runtime& runtime, cri::Cri& cri, sdk::Client client, EventSink events)
      : runtime_(runtime), cri_(cri), client_(std::move(client)), events_(std::move(events)) {}

  // Destroying the task gives up a pull. The failure is what the container's
  // status says: ErrImagePull, ErrImageNeverPull, InvalidImageName, ImageInspectError.
  Task<std::expected<ReadyImage, StartFailure>> Ensure(object::DocumentPtr pod, std::string container, cri::SandboxConfig sandbox);

 private:
  Task<std::expected<ReadyImage, StartFailure>> Pull(object::DocumentPtr pod, std::string container, std::string image,
                                                     cri::SandboxConfig sandbox);
  Task<std::optional<cri::RegistryAuth>> FindAuth(object::DocumentPtr pod, std::string image);

  Runtime& runtime_;
  cri::Cri& cri_;
  sdk::Client client_;
  EventSink events_;
};

// Pure: the credentials for a repository in the text of a .dockerconfigjson, if it has any.
std::optional<cri::RegistryAuth> AuthFromDockerConfig(std::string_view json, const std::string& repository);

}  // namespace homeostat::node
