// up: the composition root. Builds the parts of a cluster, wires them, starts them in one order and stops them in reverse.
#pragma once

#include <string>
#include <vector>

#include "cli/flag_values.h"
#include "homeostat/base/result.h"

namespace homeostat::cli {

// Values are checked when the cluster starts. Every field can be given as a flag, in the environment (HOMEOSTAT_…) or in a
// YAML file.
struct UpOptions {
  std::string config;                    // the file that the defaults were taken from
  std::string data_dir;                  // empty: /var/lib/homeostat for root, else under XDG_DATA_HOME
  std::string listen = "127.0.0.1:6443";
  std::string advertise_address;         // empty: the one listened on
  std::string store = "rocksdb";         // rocksdb, memory
  std::string node = "auto";             // auto, containerd, none
  int sim_nodes = 0;
  std::vector<std::string> sim_images;   // beginnings of the full names of images that they can pull; empty: all
  std::string containerd_socket;         // an existing containerd to use
  std::string kubeconfig;                // where the admin's is written; empty: DATA_DIR/admin.kubeconfig
  std::string service_cidr = "10.96.0.0/16";
  // As kube-apiserver's flags; a cluster made by kubeadm restricts its nodes, too.
  std::vector<std::string> enable_admission_plugins = {"NodeRestriction"}, disable_admission_plugins;
  std::string admission_configuration;   // a file, as kube-apiserver's --admission-control-config-file
  std::vector<std::string> authorization_mode = {"Node", "RBAC"};
  std::string token_auth_file;           // bearer tokens and who they are, as kube-apiserver's
  std::string compaction_interval = "5m0s";  // how long superseded revisions are kept at least; 0: for ever
  AuditFlags audit;
  bool controllers = true;
  bool scheduler = true;
  int verbosity = 0;
  std::string log_format;                // text, json; empty: text on a terminal
};

// Runs until SIGTERM or SIGINT; the exit code.
int RunUp(const UpOptions& options);

}  // namespace homeostat::cli
