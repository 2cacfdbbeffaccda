// Volumes that are put together from several sources.
#include <set>

#include "kinds/core/volumes.h"

namespace homeostat::kinds {
namespace {

class ProjectedCheck {
 public:
  ProjectedCheck(const FieldPath& path, const PodRules& rules, FieldErrors& errors) : path_(path), rules_(rules), errors_(errors) {}

  void Source(const Value& source, const FieldPath& at) {
    int kinds = 0;
    for (std::string_view field : {"secret", "configMap"}) {
      if (Value named = source.Get(field)) ++kinds, Named(named, at.Child(field));
    }
    if (Value files = source.Get("downwardAPI")) ++kinds, Downward(files, at.Child("downwardAPI"));
    if (Value token = source.Get("serviceAccountToken")) ++kinds, Token(token, at.Child("serviceAccountToken"));
    if (kinds > 1) errors_.Forbidden(at, "may not specify more than 1 volume type per source");
  }

 private:
  void Take(std::string_view file, std::string_view shown) {
    if (!file.empty() && !taken_.insert(file).second) errors_.Invalid(path_, shown, "conflicting duplicate paths");
  }

  void Named(const Value& named, const FieldPath& at) {
    RequireText(named, "name", at, errors_);
    Value items = named.Get("items");
    for (size_t i = 0; i < items.size(); ++i) {
      CheckKeyToPath(items.At(i), at.Child("items").Index(i), errors_);
      Take(items.At(i).Get("path").AsString(), named.Get("name").AsString());
    }
  }

  void Downward(const Value& files, const FieldPath& at) {
    for (const Value& file : files.Get("items").items()) {
      CheckDownwardFile(file, at, errors_);
      Take(file.Get("path").AsString(), file.Get("path").AsString());
    }
  }

  void Token(const Value& token, const FieldPath& at) {
    int64_t seconds = token.Get("expirationSeconds").AsInt();
    if (seconds < 10 * 60) errors_.Invalid(at.Child("expirationSeconds"), seconds, "may not specify a duration less than 10 minutes");
    if (seconds > int64_t{1} << 32) {
      errors_.Invalid(at.Child("expirationSeconds"), seconds, "may not specify a duration larger than 2^32 seconds");
    }
    std::string_view file = token.Get("path").AsString();
    if (file.empty()) {
      errors_.Required(path_.Child("path"));
    } else if (!rules_.allow_non_local_token_path) {
      CheckLocalPath(file, path_.Child("path"), errors_);
    }
  }

  const FieldPath& path_;
  const PodRules& rules_;
  FieldErrors& errors_;
  std::set<std::string_view> taken_;
};

}  // namespace

void CheckProjectedSource(const Value& projected, const FieldPath& path, const PodRules& rules, FieldErrors& errors) {
  CheckMode(projected.Get("defaultMode"), path.Child("defaultMode"), errors);
  ProjectedCheck check(path, rules, errors);
  Value sources = projected.Get("sources");
  for (size_t i = 0; i < sources.size(); ++i) check.Source(sources.At(i), path.Child("sources").Index(i));
}

}  // namespace homeostat::kinds
