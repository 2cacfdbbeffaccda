#include "kinds/core/mounts.h"

#include <algorithm>
#include <set>

namespace homeostat::kinds {
namespace {

bool AnyHas(const Value& list, std::string_view field, std::string_view text) {
  return std::ranges::any_of(list.items(), [&](const Value& item) { return item.Get(field).AsString() == text; });
}

// The path that the last entry of a name gives: of several with one name only that one counts.
bool IsTakenPath(const Value& list, std::string_view field, std::string_view file) {
  std::map<std::string_view, std::string_view> by_name;
  for (const Value& item : list.items()) by_name[item.Get("name").AsString()] = item.Get(field).AsString();
  return std::ranges::any_of(by_name, [&](const auto& entry) { return entry.second == file; });
}

void CheckPropagation(const Value& mount, const Value& container, const FieldPath& path, FieldErrors& errors) {
  Value propagation = mount.Get("mountPropagation");
  if (!propagation) return;
  CheckOneOf(propagation.AsString(), {"Bidirectional", "HostToContainer", "None"}, path, errors);
  if (propagation.AsString() == "Bidirectional" && !container.Path({"securityContext", "privileged"}).AsBool()) {
    errors.Forbidden(path, "Bidirectional mount propagation is available only to privileged containers");
  }
}

void CheckRecursiveReadOnly(const Value& mount, const FieldPath& path, FieldErrors& errors) {
  Value mode = mount.Get("recursiveReadOnly");
  if (!mode || mode.AsString() == "Disabled") return;
  if (!IsOneOf(mode.AsString(), {"Enabled", "IfPossible"})) {
    return errors.NotSupported(path, mode, {"Disabled", "Enabled", "IfPossible"});
  }
  if (!mount.Get("readOnly").AsBool()) errors.Forbidden(path, "may only be specified when readOnly is true");
  Value propagation = mount.Get("mountPropagation");
  if (propagation && propagation.AsString() != "None") {
    errors.Forbidden(path, "may only be specified when mountPropagation is None or not specified");
  }
}

}  // namespace

void CheckVolumeMounts(const Value& container, const Volumes& volumes, const FieldPath& path, FieldErrors& errors) {
  Value mounts = container.Get("volumeMounts"), devices = container.Get("volumeDevices");
  std::set<std::string_view> places;
  for (size_t i = 0; i < mounts.size(); ++i) {
    Value mount = mounts.At(i);
    FieldPath at = path.Index(i);
    std::string_view name = mount.Get("name").AsString(), place = mount.Get("mountPath").AsString();
    if (name.empty()) errors.Required(at.Child("name"));
    if (!volumes.contains(name)) errors.NotFound(at.Child("name"), name);
    if (place.empty()) errors.Required(at.Child("mountPath"));
    if (!places.insert(place).second) errors.Invalid(at.Child("mountPath"), place, "must be unique");
    if (AnyHas(devices, "name", name)) errors.Invalid(at.Child("name"), name, "must not already exist in volumeDevices");
    if (IsTakenPath(devices, "devicePath", place)) {
      errors.Invalid(at.Child("mountPath"), place, "must not already exist as a path in volumeDevices");
    }
    // Faults of what follows are reported at the list: so clients know them.
    std::string_view sub_path = mount.Get("subPath").AsString(), expression = mount.Get("subPathExpr").AsString();
    if (!sub_path.empty()) CheckDescendingPath(sub_path, path.Child("subPath"), errors);
    if (!expression.empty()) {
      if (!sub_path.empty()) errors.Invalid(at.Child("subPathExpr"), expression, "subPathExpr and subPath are mutually exclusive");
      CheckDescendingPath(expression, path.Child("subPathExpr"), errors);
    }
    CheckPropagation(mount, container, path.Child("mountPropagation"), errors);
    CheckRecursiveReadOnly(mount, path.Child("recursiveReadOnly"), errors);
  }
}

void CheckVolumeDevices(const Value& container, const Volumes& volumes, const FieldPath& path, FieldErrors& errors) {
  Value devices = container.Get("volumeDevices"), mounts = container.Get("volumeMounts");
  std::set<std::string_view> names, places;
  for (size_t i = 0; i < devices.size(); ++i) {
    FieldPath at = path.Index(i);
    std::string_view name = devices.At(i).Get("name").AsString(), place = devices.At(i).Get("devicePath").AsString();
    auto volume = volumes.find(name);
    bool found = volume != volumes.end();
    if (name.empty()) errors.Required(at.Child("name"));
    if (names.contains(name)) errors.Invalid(at.Child("name"), name, "must be unique");
    if (found && !volume->second.Get("persistentVolumeClaim") && !volume->second.Get("ephemeral")) {
      errors.Invalid(at.Child("name"), name, "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode");
    }
    if (!found) errors.NotFound(at.Child("name"), name);
    if (place.empty()) errors.Required(at.Child("devicePath"));
    if (places.contains(place)) errors.Invalid(at.Child("devicePath"), place, "must be unique");
    if (HasBacksteps(place)) {
      errors.Invalid(at.Child("devicePath"), place, "can not contain backsteps ('..')");
    } else {
      places.insert(place);
    }
    if (AnyHas(mounts, "name", name)) errors.Invalid(at.Child("name"), name, "must not already exist in volumeMounts");
    if (IsTakenPath(mounts, "mountPath", place)) {
      errors.Invalid(at.Child("devicePath"), place, "must not already exist as a path in volumeMounts");
    }
    if (!name.empty()) names.insert(name);
  }
}

}  // namespace homeostat::kinds
