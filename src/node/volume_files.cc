#include "node/volume_files.h"

#include "node/errors.h"

namespace homeostat::node {

namespace {

constexpr uint32_t kDefaultMode = 0644;
constexpr size_t kLongestPath = 4096;

uint32_t ModeOr(bool has, int32_t mode, uint32_t fallback) { return has ? static_cast<uint32_t>(mode) & 0777 : fallback; }

template <class Source>
uint32_t DefaultMode(Source source) {
  return ModeOr(source.has_default_mode(), source.default_mode(), kDefaultMode);
}

// Keys of a ConfigMap or Secret: all of them, or those that `items` names with their paths.
Result<void> AddKeys(const std::map<std::string, std::string_view>& data, schema::ListView<core::KeyToPath> items, uint32_t mode,
                     bool optional, std::string_view missing, VolumeFiles& files) {
  if (items.empty()) {
    for (const auto& [key, value] : data) files[key] = {std::string(value), mode};
    return {};
  }
  for (core::KeyToPath item : items) {
    auto found = data.find(std::string(item.key()));
    if (found == data.end()) {
      if (optional) continue;
      return Fail(NodeError(std::string(missing) + std::string(item.key())));
    }
    files[std::string(item.path())] = {std::string(found->second), ModeOr(item.has_mode(), item.mode(), mode)};
  }
  return {};
}

class Maker {
 public:
  Maker(core::Pod pod, const PodReferences& references, const PodSurroundings& around,
        const std::map<std::string, std::string>& tokens)
      : pod_(pod), references_(references), around_(around), tokens_(tokens) {}

  Result<VolumeFiles> Make(core::Volume volume) {
    if (volume.has_config_map()) {
      core::ConfigMapVolumeSource source = volume.config_map();
      TRY(AddConfigMap(source.name(), source.items(), source.optional(), DefaultMode(source)));
    } else if (volume.has_secret()) {
      core::SecretVolumeSource source = volume.secret();
      TRY(AddSecret(source.secret_name(), source.items(), source.optional(), DefaultMode(source)));
    } else if (volume.has_downward_api()) {
      TRY(AddDownward(volume.downward_api().items(), DefaultMode(volume.downward_api())));
    } else {
      uint32_t mode = DefaultMode(volume.projected());
      for (core::VolumeProjection source : volume.projected().sources()) TRY(AddProjection(source, mode));
    }
    for (const auto& [path, file] : files_) TRY(CheckVolumePath(path));
    return std::move(files_);
  }

 private:
  Result<void> AddProjection(core::VolumeProjection source, uint32_t mode) {
    if (source.has_config_map()) {
      return AddConfigMap(source.config_map().name(), source.config_map().items(), source.config_map().optional(), mode);
    }
    if (source.has_secret()) return AddSecret(source.secret().name(), source.secret().items(), source.secret().optional(), mode);
    if (source.has_downward_api()) return AddDownward(source.downward_api().items(), mode);
    if (source.has_service_account_token()) {
      std::string path(source.service_account_token().path());
      auto token = tokens_.find(path);
      if (token == tokens_.end()) return Fail(NodeError("there is no service account token for " + path));
      files_[path] = {token->second, mode};
      return {};
    }
    return Fail(NodeError("projected volumes from this source are not supported on this node"));
  }

  Result<void> AddConfigMap(std::string_view name, schema::ListView<core::KeyToPath> items, bool optional, uint32_t mode) {
    auto found = references_.config_maps.find(name);
    std::map<std::string, std::string_view> data;
    if (found != references_.config_maps.end() && found->second) {
      core::ConfigMap map(found->second->root());
      for (auto [key, value] : map.data()) data.emplace(key, value);
      for (auto [key, value] : map.binary_data()) data.emplace(key, value);
    } else if (!optional) {
      return Fail(MissingReference("configmap", name));
    }
    return AddKeys(data, items, mode, optional, "configmap references non-existent config key: ", files_);
  }

  Result<void> AddSecret(std::string_view name, schema::ListView<core::KeyToPath> items, bool optional, uint32_t mode) {
    auto found = references_.secrets.find(name);
    std::map<std::string, std::string_view> data;
    if (found != references_.secrets.end() && found->second) {
      for (auto [key, value] : core::Secret(found->second->root()).data()) data.emplace(key, value);
    } else if (!optional) {
      return Fail(MissingReference("secret", name));
    }
    return AddKeys(data, items, mode, optional, "references non-existent secret key: ", files_);
  }

  Result<void> AddDownward(schema::ListView<core::DownwardAPIVolumeFile> items, uint32_t mode) {
    for (core::DownwardAPIVolumeFile item : items) {
      VolumeFile& file = files_[std::string(item.path())];
      file.mode = ModeOr(item.has_mode(), item.mode(), mode);
      if (item.has_field_ref()) {
        TRY_ASSIGN(file.content, FieldValue(pod_, item.field_ref().field_path(), around_, true));
      } else if (item.has_resource_field_ref()) {
        core::ResourceFieldSelector selector = item.resource_field_ref();
        core::Container container = FindContainer(pod_.spec(), selector.container_name()).container;
        TRY_ASSIGN(file.content, ResourceValue(container, selector, around_));
      }
    }
    return {};
  }

  core::Pod pod_;
  const PodReferences& references_;
  const PodSurroundings& around_;
  const std::map<std::string, std::string>& tokens_;
  VolumeFiles files_;
};

}  // namespace

std::vector<TokenWish> TokensOf(core::Volume volume) {
  std::vector<TokenWish> wishes;
  for (core::VolumeProjection source : volume.projected().sources()) {
    if (!source.has_service_account_token()) continue;
    core::ServiceAccountTokenProjection token = source.service_account_token();
    TokenWish wish{std::string(token.path()), std::string(token.audience())};
    if (token.has_expiration_seconds()) wish.expiration_seconds = token.expiration_seconds();
    wishes.push_back(std::move(wish));
  }
  return wishes;
}

bool IsFilesVolume(core::Volume volume) {
  return volume.has_config_map() || volume.has_secret() || volume.has_downward_api() || volume.has_projected();
}

Result<void> CheckVolumePath(std::string_view path) {
  auto bad = [&](std::string_view why) {
    return Fail(NodeError("invalid path '" + std::string(path) + "': " + std::string(why)));
  };
  if (path.empty()) return bad("must not be empty");
  if (path.size() > kLongestPath) return bad("must be less than or equal to 4096 characters");
  if (path.starts_with('/')) return bad("must be relative path");
  if (path.starts_with("..")) return bad("must not start with '..'");
  for (std::string_view rest = path; !rest.empty();) {
    size_t slash = rest.find('/');
    std::string_view part = rest.substr(0, slash);
    if (part == "..") return bad("must not contain '..'");
    if (part.size() > 255) return bad("parts must be less than or equal to 255 characters");
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
  }
  return {};
}

Result<VolumeFiles> MakeVolumeFiles(core::Pod pod, core::Volume volume, const PodReferences& references,
                                    const PodSurroundings& around, const std::map<std::string, std::string>& tokens) {
  return Maker(pod, references, around, tokens).Make(volume);
}

}  // namespace homeostat::node
