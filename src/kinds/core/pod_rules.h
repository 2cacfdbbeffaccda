// PodRules: what is checked less strictly because the object that is being changed was stored before the check came.
// Source: GetValidationOptionsFromPodSpecAndMeta of pkg/api/pod.
#pragma once

#include "homeostat/object/value.h"

namespace homeostat::kinds {

struct PodRules {
  bool is_pod = false;  // not a template of pods
  bool allow_invalid_deletion_cost = false;
  bool allow_invalid_selector_values = false;
  bool allow_invalid_node_affinity_values = false;
  bool allow_invalid_spread_selector = false;
  bool old_match_label_keys_invalid = false;
  bool allow_indivisible_huge_pages = false;
  bool allow_non_local_token_path = false;
  bool allow_namespaced_sysctls = false;  // although the pod uses the host's namespace
  bool allow_comparing_tolerations = false;
  bool allow_any_selinux_change_policy = false;
  bool allow_host_network_with_user_namespace = false;
  bool allow_volume_devices_with_user_namespace = false;
  bool allow_restart_container_resize = false;  // of ordinary init containers

  // Of a new pod, or one whose old version is given: its spec and metadata (absent: new).
  static PodRules ForPod(const object::Value& old_spec, const object::Value& old_metadata);
  // Of a template of pods; the old template, or absent.
  static PodRules ForTemplate(const object::Value& old_template);
};

}  // namespace homeostat::kinds
