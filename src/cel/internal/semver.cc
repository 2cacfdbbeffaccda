// semver(): semantic versions.
//
// Source of the rules: Kubernetes' cel/library/semverlib.go on blang/semver; messages are theirs.
#include <charconv>

#include "cel/internal/functions.h"
#include "homeostat/base/text.h"

namespace homeostat::cel::internal {

namespace {

struct Prerelease {
  std::string text;
  uint64_t number = 0;
  bool is_number = false;
};

struct Version {
  uint64_t major = 0, minor = 0, patch = 0;
  std::vector<Prerelease> prerelease;
};

using Unread = std::unexpected<std::string>;

int Order(uint64_t a, uint64_t b) { return a < b ? -1 : a > b ? 1 : 0; }

int Compare(const Version& a, const Version& b) {
  if (int order = Order(a.major, b.major)) return order;
  if (int order = Order(a.minor, b.minor)) return order;
  if (int order = Order(a.patch, b.patch)) return order;
  if (a.prerelease.empty() || b.prerelease.empty()) return Order(a.prerelease.empty(), b.prerelease.empty());
  for (size_t i = 0; i < a.prerelease.size() && i < b.prerelease.size(); ++i) {
    const Prerelease& x = a.prerelease[i];
    const Prerelease& y = b.prerelease[i];
    if (x.is_number != y.is_number) return x.is_number ? -1 : 1;
    int text = x.text.compare(y.text);
    int order = x.is_number ? Order(x.number, y.number) : text < 0 ? -1 : text > 0 ? 1 : 0;
    if (order != 0) return order;
  }
  return Order(a.prerelease.size(), b.prerelease.size());
}

bool IsDigits(std::string_view text) { return text.find_first_not_of("0123456789") == std::string_view::npos; }
bool IsAlphanumeric(std::string_view text) {
  for (char c : text) {
    bool good = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
    if (!good) return false;
  }
  return true;
}

std::expected<uint64_t, std::string> ReadUint(std::string_view text) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (!text.empty() && error == std::errc()) return value;
  return Unread("strconv.ParseUint: parsing " + GoQuote(text) + ": " +
                (text.empty() ? "invalid syntax" : "value out of range"));
}

// upper and lower: the part's name as messages have it.
std::expected<uint64_t, std::string> ReadPart(std::string_view text, std::string_view upper, std::string_view lower) {
  if (!IsDigits(text)) return Unread("Invalid character(s) found in " + std::string(lower) + " number " + GoQuote(text));
  if (text.size() > 1 && text[0] == '0') {
    return Unread(std::string(upper) + " number must not contain leading zeroes " + GoQuote(text));
  }
  return ReadUint(text);
}

std::vector<std::string_view> SplitParts(std::string_view text, char separator, size_t limit) {
  std::vector<std::string_view> parts;
  while (parts.size() + 1 < limit) {
    size_t at = text.find(separator);
    if (at == std::string_view::npos) break;
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + 1);
  }
  parts.push_back(text);
  return parts;
}

std::expected<Prerelease, std::string> ReadPrerelease(std::string_view text) {
  if (text.empty()) return Unread("Prerelease is empty");
  Prerelease part;
  part.text = std::string(text);
  if (!IsDigits(text)) {
    if (IsAlphanumeric(text)) return part;
    return Unread("Invalid character(s) found in prerelease " + GoQuote(text));
  }
  if (text.size() > 1 && text[0] == '0') {
    return Unread("Numeric PreRelease version must not contain leading zeroes " + GoQuote(text));
  }
  auto number = ReadUint(text);
  if (!number) return Unread(number.error());
  part.number = *number;
  part.is_number = true;
  part.text.clear();
  return part;
}

std::expected<Version, std::string> Read(std::string_view text) {
  if (text.empty()) return Unread("Version string empty");
  auto parts = SplitParts(text, '.', 3);
  if (parts.size() != 3) return Unread("No Major.Minor.Patch elements found");
  auto major = ReadPart(parts[0], "Major", "major");
  if (!major) return Unread(major.error());
  auto minor = ReadPart(parts[1], "Minor", "minor");
  if (!minor) return Unread(minor.error());
  std::string_view patch_text = parts[2], build, prerelease;
  bool has_build = patch_text.find('+') != std::string_view::npos;
  if (has_build) {
    build = patch_text.substr(patch_text.find('+') + 1);
    patch_text = patch_text.substr(0, patch_text.find('+'));
  }
  bool has_prerelease = patch_text.find('-') != std::string_view::npos;
  if (has_prerelease) {
    prerelease = patch_text.substr(patch_text.find('-') + 1);
    patch_text = patch_text.substr(0, patch_text.find('-'));
  }
  auto patch = ReadPart(patch_text, "Patch", "patch");
  if (!patch) return Unread(patch.error());
  Version version{*major, *minor, *patch, {}};
  for (std::string_view part : has_prerelease ? SplitParts(prerelease, '.', SIZE_MAX) : std::vector<std::string_view>()) {
    auto read = ReadPrerelease(part);
    if (!read) return Unread(read.error());
    version.prerelease.push_back(std::move(*read));
  }
  for (std::string_view part : has_build ? SplitParts(build, '.', SIZE_MAX) : std::vector<std::string_view>()) {
    if (part.empty()) return Unread("Build meta data is empty");
    if (!IsAlphanumeric(part)) return Unread("Invalid character(s) found in build meta data " + GoQuote(part));
  }
  return version;
}

// v1.02 is 1.2.0.
std::expected<Version, std::string> ReadLoosely(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  auto parts = SplitParts(text, '.', 3);
  if (parts.size() < 3 && parts.back().find_first_of("+-") != std::string_view::npos) {
    return Unread("short version cannot contain PreRelease/Build meta data");
  }
  std::string joined;
  for (std::string_view part : parts) {
    if (!joined.empty() || part.data() != parts[0].data()) joined += '.';
    std::string zero;
    if (part.size() > 1) {
      part.remove_prefix(std::min(part.find_first_not_of('0'), part.size()));
      if (part.empty() || part[0] < '0' || part[0] > '9') zero = "0";
    }
    joined += zero + std::string(part);
  }
  for (size_t i = parts.size(); i < 3; ++i) joined += ".0";
  return Read(joined);
}

class SemverValue final : public Opaque {
 public:
  explicit SemverValue(Version value) : version(std::move(value)) {}
  std::string_view TypeName() const override { return "kubernetes.Semver"; }
  std::optional<bool> Equal(const Opaque& other) const override {
    return Compare(version, static_cast<const SemverValue&>(other).version) == 0;
  }
  const Version version;
};

const Version& Of(const Value& value) { return static_cast<const SemverValue&>(value.opaque()).version; }

std::expected<Version, std::string> ReadArgs(std::span<const Value> args) {
  return args.size() > 1 && args[1].AsBool() ? ReadLoosely(args[0].text()) : Read(args[0].text());
}

Value Parse(CallContext& context, std::span<const Value> args) {
  auto version = ReadArgs(args);
  return version ? MakeOpaque(context.arena, SemverValue(std::move(*version))) : MakeError(context.arena, version.error());
}
Value IsSemver(CallContext&, std::span<const Value> args) { return Value::Bool(ReadArgs(args).has_value()); }
Value Major(CallContext&, std::span<const Value> args) { return Value::Int(static_cast<int64_t>(Of(args[0]).major)); }
Value Minor(CallContext&, std::span<const Value> args) { return Value::Int(static_cast<int64_t>(Of(args[0]).minor)); }
Value Patch(CallContext&, std::span<const Value> args) { return Value::Int(static_cast<int64_t>(Of(args[0]).patch)); }
Value CompareTo(CallContext&, std::span<const Value> args) { return Value::Int(Compare(Of(args[0]), Of(args[1]))); }
Value IsGreater(CallContext&, std::span<const Value> args) { return Value::Bool(Compare(Of(args[0]), Of(args[1])) > 0); }
Value IsLess(CallContext&, std::span<const Value> args) { return Value::Bool(Compare(Of(args[0]), Of(args[1])) < 0); }

}  // namespace

std::span<const Binding> SemverBindings() {
  static constexpr Binding kBindings[] = {
      {"string_to_semver", Parse}, {"string_bool_to_semver", Parse}, {"is_semver_string", IsSemver},
      {"is_semver_string_bool", IsSemver}, {"semver_major", Major}, {"semver_minor", Minor}, {"semver_patch", Patch},
      {"semver_compare_to", CompareTo}, {"semver_is_greater_than", IsGreater}, {"semver_is_less_than", IsLess},
  };
  return kBindings;
}

}  // namespace homeostat::cel::internal
