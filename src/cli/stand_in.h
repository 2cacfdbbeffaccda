// homeostat in the place of kube-apiserver and etcd, as test harnesses start them (controller-runtime's envtest, fabric8's
// kube-api-test): found by the name it was called by.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace homeostat::cli {

// The exit code, if the program was called by the name of one of them; `words` are what follows the name.
std::optional<int> RunStandIn(std::string_view called, std::span<const std::string_view> words);

// Serves the API from memory. Uses the certificates and the key for tokens that the flags name; runs no controllers but those
// that HOMEOSTAT_CONTROLLERS names (namespace, gc), as a kube-apiserver alone has none. Ends with its parent.
int RunKubeApiserver(std::span<const std::string_view> words);
// Answers /health and /version, which is all that a harness asks: the API's objects are in the other process.
int RunEtcd(std::span<const std::string_view> words);

// Makes the folder for KUBEBUILDER_ASSETS: links named kube-apiserver and etcd to this program, and kubectl to the one on PATH.
int RunEnvtestInstall(const std::string& directory);

}  // namespace homeostat::cli
