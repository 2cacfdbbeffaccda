#include "node/environment.h"

#include "homeostat/base/host_port.h"
#include "homeostat/base/text.h"
#include "node/errors.h"

namespace homeostat::node {

std::string Expand(std::string_view text, const std::function<const std::string*(std::string_view)>& lookup) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (text[i] != '$' || i + 1 == text.size()) {
      out += text[i++];
      continue;
    }
    if (text[i + 1] == '$') {
      out += '$';
      i += 2;
      continue;
    }
    size_t end = text[i + 1] == '(' ? text.find(')', i + 2) : std::string_view::npos;
    if (end == std::string_view::npos) {
      out += text[i++];
      continue;
    }
    std::string_view name = text.substr(i + 2, end - i - 2);
    const std::string* value = lookup(name);
    out += value != nullptr ? *value : std::string(text.substr(i, end + 1 - i));
    i = end + 1;
  }
  return out;
}

namespace {

const std::string* FindVariable(const Environment& variables, std::string_view name) {
  for (auto it = variables.rbegin(); it != variables.rend(); ++it) {
    if (it->first == name) return &it->second;
  }
  return nullptr;
}

void SetVariable(Environment& variables, std::string_view name, std::string value) {
  for (auto& [known, old] : variables) {
    if (known == name) {
      old = std::move(value);
      return;
    }
  }
  variables.emplace_back(name, std::move(value));
}

std::string UpperWithUnderscores(std::string_view name) {
  std::string out(name);
  for (char& c : out) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

void AddService(core::Service service, Environment& out) {
  std::string_view ip = service.spec().cluster_ip();
  if (ip.empty() || ip == "None" || service.spec().ports().empty()) return;
  std::string name = UpperWithUnderscores(service.metadata().name());
  out.emplace_back(name + "_SERVICE_HOST", ip);
  out.emplace_back(name + "_SERVICE_PORT", std::to_string(service.spec().ports()[0].port()));
  for (core::ServicePort port : service.spec().ports()) {
    if (port.name().empty()) continue;
    out.emplace_back(name + "_SERVICE_PORT_" + UpperWithUnderscores(port.name()), std::to_string(port.port()));
  }
  bool first = true;
  for (core::ServicePort port : service.spec().ports()) {
    std::string protocol(port.protocol().empty() ? "TCP" : port.protocol());
    std::string lower = LowerCase(protocol), url = lower + "://" + JoinHostPort(ip, port.port());
    if (std::exchange(first, false)) out.emplace_back(name + "_PORT", url);
    std::string prefix = name + "_PORT_" + std::to_string(port.port()) + "_" + protocol;
    out.emplace_back(prefix, url);
    out.emplace_back(prefix + "_PROTO", lower);
    out.emplace_back(prefix + "_PORT", std::to_string(port.port()));
    out.emplace_back(prefix + "_ADDR", ip);
  }
}

class Maker {
 public:
  Maker(core::Pod pod, core::Container container, const PodReferences& references, const PodSurroundings& around,
        Environment services)
      : pod_(pod), container_(container), references_(references), around_(around), services_(std::move(services)) {}

  Result<Environment> Make() {
    for (core::EnvFromSource source : container_.env_from()) {
      if (source.has_config_map_ref()) TRY(AddConfigMap(source));
      if (source.has_secret_ref()) TRY(AddSecret(source));
    }
    for (core::EnvVar variable : container_.env()) {
      TRY_ASSIGN(std::optional<std::string> value, ValueOf(variable));
      if (value) SetVariable(result_, variable.name(), std::move(*value));
    }
    for (auto& [name, value] : services_) {
      if (FindVariable(result_, name) == nullptr) result_.emplace_back(name, value);
    }
    return std::move(result_);
  }

 private:
  // Null where a missing one is fine.
  Result<object::DocumentPtr> Find(const std::map<std::string, object::DocumentPtr, std::less<>>& objects, std::string_view kind,
                                   std::string_view name, bool optional) const {
    auto found = objects.find(name);
    if (found != objects.end() && found->second) return found->second;
    if (optional) return object::DocumentPtr();
    return Fail(MissingReference(kind, name));
  }

  Result<void> AddConfigMap(core::EnvFromSource source) {
    core::ConfigMapEnvSource ref = source.config_map_ref();
    TRY_ASSIGN(object::DocumentPtr document, Find(references_.config_maps, "configmap", ref.name(), ref.optional()));
    if (!document) return {};
    for (auto [key, value] : core::ConfigMap(document->root()).data()) AddFrom(source.prefix(), key, value);
    return {};
  }

  Result<void> AddSecret(core::EnvFromSource source) {
    core::SecretEnvSource ref = source.secret_ref();
    TRY_ASSIGN(object::DocumentPtr document, Find(references_.secrets, "secret", ref.name(), ref.optional()));
    if (!document) return {};
    for (auto [key, value] : core::Secret(document->root()).data()) AddFrom(source.prefix(), key, value);
    return {};
  }

  void AddFrom(std::string_view prefix, std::string_view key, std::string_view value) {
    // A name with = or NUL in it can't be in an environment.
    std::string name = std::string(prefix) + std::string(key);
    if (name.find('=') == std::string::npos) SetVariable(result_, name, std::string(value));
  }

  // nullopt: the variable is left out.
  Result<std::optional<std::string>> ValueOf(core::EnvVar variable) const {
    core::EnvVarSource from = variable.value_from();
    if (!from) {
      return Expand(variable.value(), [this](std::string_view name) {
        const std::string* value = FindVariable(result_, name);
        return value != nullptr ? value : FindVariable(services_, name);
      });
    }
    if (from.has_field_ref()) return FieldValue(pod_, from.field_ref().field_path(), around_, false);
    if (from.has_resource_field_ref()) {
      core::ResourceFieldSelector ref = from.resource_field_ref();
      core::Container container = container_;
      if (!ref.container_name().empty()) container = FindContainer(pod_.spec(), ref.container_name()).container;
      return ResourceValue(container, ref, around_);
    }
    if (from.has_config_map_key_ref()) return ConfigMapKey(from.config_map_key_ref());
    if (from.has_secret_key_ref()) return SecretKey(from.secret_key_ref());
    return Fail(NodeError("the source of environment variable " + std::string(variable.name()) + " is not supported"));
  }

  Result<std::optional<std::string>> ConfigMapKey(core::ConfigMapKeySelector ref) const {
    TRY_ASSIGN(object::DocumentPtr document, Find(references_.config_maps, "configmap", ref.name(), ref.optional()));
    if (document) {
      auto data = core::ConfigMap(document->root()).data();
      if (data.contains(ref.key())) return std::string(data.Get(ref.key()));
    }
    return Absent("ConfigMap", ref.name(), ref.key(), ref.optional());
  }

  Result<std::optional<std::string>> SecretKey(core::SecretKeySelector ref) const {
    TRY_ASSIGN(object::DocumentPtr document, Find(references_.secrets, "secret", ref.name(), ref.optional()));
    if (document) {
      auto data = core::Secret(document->root()).data();
      if (data.contains(ref.key())) return std::string(data.Get(ref.key()));
    }
    return Absent("Secret", ref.name(), ref.key(), ref.optional());
  }

  Result<std::optional<std::string>> Absent(std::string_view kind, std::string_view name, std::string_view key,
                                            bool optional) const {
    if (optional) return std::optional<std::string>();
    return Fail(NodeError("couldn't find key " + std::string(key) + " in " + std::string(kind) + " " +
                              std::string(pod_.metadata().namespace_()) + "/" + std::string(name)));
  }

  core::Pod pod_;
  core::Container container_;
  const PodReferences& references_;
  const PodSurroundings& around_;
  Environment services_, result_;
};

}  // namespace

std::string Expand(std::string_view text, const Environment& variables) {
  return Expand(text, [&](std::string_view name) { return FindVariable(variables, name); });
}

Environment ServiceVariables(const std::vector<core::Service>& services) {
  Environment out;
  for (core::Service service : services) AddService(service, out);
  return out;
}

bool ServiceIsVisible(core::Service service, core::Pod pod) {
  if (service.metadata().name() == "kubernetes" && service.metadata().namespace_() == "default") return true;
  bool links = !pod.spec().has_enable_service_links() || pod.spec().enable_service_links();
  return links && service.metadata().namespace_() == pod.metadata().namespace_();
}

Result<Environment> MakeEnvironment(core::Pod pod, core::Container container, const PodReferences& references,
                                    const PodSurroundings& around, const std::vector<core::Service>& services) {
  return Maker(pod, container, references, around, ServiceVariables(services)).Make();
}

}  // namespace homeostat::node
