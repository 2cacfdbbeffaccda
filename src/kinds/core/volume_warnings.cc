// Volumes whose files are in each other's way: the same path twice, or a file where another needs a directory.
#include "homeostat/base/text.h"
#include "kinds/core/pod_warnings.h"

namespace homeostat::kinds {
namespace {

struct File {
  std::string path, source;
  bool operator==(const File&) const = default;
  std::string Shown() const { return source.empty() ? GoQuote(path) : GoQuote(path) + " (" + source + ")"; }
};

bool Overlap(const File& a, const File& b) {
  if (a.path.empty() || b.path.empty()) return false;
  return a == b || (a.path + "/").starts_with(b.path + "/") || (b.path + "/").starts_with(a.path + "/");
}

class Files {
 public:
  Files(std::string_view volume, std::string kind, Warnings& warnings) : volume_(volume), kind_(std::move(kind)), warnings_(warnings) {}

  void Add(std::string_view path, std::string source) {
    while (path.ends_with('/')) path.remove_suffix(1);
    File file{std::string(path), std::move(source)};
    for (const File& other : files_) {
      if (!Overlap(other, file)) continue;
      warnings_.push_back("volume " + GoQuote(volume_) + " (" + kind_ + "): overlapping paths: " + file.Shown() + " with " + other.Shown());
    }
    files_.push_back(std::move(file));
  }

  void AddItems(const Value& items, const std::string& source) {
    for (const Value& item : items.items()) Add(item.Get("path").AsString(), source);
  }

 private:
  std::string_view volume_;
  std::string kind_;
  Warnings& warnings_;
  std::vector<File> files_;
};

std::string Named(std::string_view kind, const Value& name) { return std::string(kind) + " " + GoQuote(name.AsString()); }

void Projected(std::string_view volume, const Value& projected, Warnings& warnings) {
  Files files(volume, "Projected", warnings);
  for (const Value& source : projected.Get("sources").items()) {
    if (source.empty()) {
      warnings.push_back("volume " + GoQuote(volume) + " (Projected) has no sources provided");
    } else if (Value items = source.Path({"configMap", "items"})) {
      files.AddItems(items, Named("ConfigMap", source.Get("configMap").Get("name")));
    } else if (Value keys = source.Path({"secret", "items"})) {
      files.AddItems(keys, Named("Secret", source.Get("secret").Get("name")));
    } else if (Value fields = source.Path({"downwardAPI", "items"})) {
      files.AddItems(fields, "DownwardAPI");
    } else if (Value token = source.Get("serviceAccountToken")) {
      files.Add(token.Get("path").AsString(), "ServiceAccountToken");
    }
  }
}

}  // namespace

void WarnOfOverlappingPaths(const Value& volumes, Warnings& warnings) {
  for (const Value& volume : volumes.items()) {
    std::string_view name = volume.Get("name").AsString();
    if (Value map = volume.Get("configMap")) Files(name, Named("ConfigMap", map.Get("name")), warnings).AddItems(map.Get("items"), "");
    if (Value secret = volume.Get("secret")) Files(name, Named("Secret", secret.Get("secretName")), warnings).AddItems(secret.Get("items"), "");
    if (Value fields = volume.Get("downwardAPI")) Files(name, "DownwardAPI", warnings).AddItems(fields.Get("items"), "");
    if (Value projected = volume.Get("projected")) Projected(name, projected, warnings);
  }
}

}  // namespace homeostat::kinds
