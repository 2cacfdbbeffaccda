// Between the structures of cri.h and the messages of cri.proto. Only the gRPC client includes this.
#pragma once

#include "node/cri.h"
#include "node/cri.pb.h"
#include "node/cri_types.pb.h"

namespace homeostat::node::cri {

namespace pb = ::runtime::v1;

void ToMessage(const LinuxResources& from, pb::LinuxContainerResources& to);
void ToMessage(const SandboxConfig& from, pb::PodSandboxConfig& to);
void ToMessage(const ContainerConfig& from, pb::ContainerConfig& to);
void ToMessage(const ImageSpec& from, pb::ImageSpec& to);
void ToMessage(const RegistryAuth& from, pb::AuthConfig& to);

Sandbox FromMessage(const pb::PodSandbox& from);
SandboxStatus FromMessage(const pb::PodSandboxStatus& from);
Container FromMessage(const pb::Container& from);
ContainerStatus FromMessage(const pb::ContainerStatus& from);
Image FromMessage(const pb::Image& from);
ContainerUsage FromMessage(const pb::ContainerStats& from);

}  // namespace homeostat::node::cri
