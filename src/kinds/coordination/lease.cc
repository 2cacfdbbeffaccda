// Lease and LeaseCandidate. Source of the rules: pkg/apis/coordination/validation.
#include <algorithm>
#include <array>
#include <charconv>

#include "homeostat/api/coordination/v1.h"
#include "homeostat/api/coordination/v1beta1.h"
#include "kinds/coordination/coordination.h"
#include "kinds/edit.h"
#include "kinds/group_checks.h"

namespace homeostat::kinds {
namespace {

// major.minor.patch with what may follow (semver.org), compared by the numbers and, a pre-release being less, by that.
struct SemanticVersion {
  std::array<uint64_t, 3> numbers{};
  std::string_view pre_release;

  static std::optional<SemanticVersion> Parse(std::string_view text) {
    SemanticVersion version;
    size_t plus = text.find('+');
    std::string_view core = text.substr(0, plus);
    if (size_t hyphen = core.find('-'); hyphen != core.npos) {
      version.pre_release = core.substr(hyphen + 1);
      if (version.pre_release.empty()) return std::nullopt;
      core = core.substr(0, hyphen);
    }
    for (size_t i = 0; i < 3; ++i) {
      size_t dot = core.find('.');
      if ((i < 2) != (dot != core.npos)) return std::nullopt;
      std::string_view part = core.substr(0, dot);
      if (part.size() > 1 && part.front() == '0') return std::nullopt;
      auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), version.numbers[i]);
      if (part.empty() || error != std::errc() || end != part.data() + part.size()) return std::nullopt;
      if (dot != core.npos) core.remove_prefix(dot + 1);
    }
    return version;
  }

  bool IsZero() const { return numbers == std::array<uint64_t, 3>{} && pre_release.empty(); }
  bool operator<(const SemanticVersion& other) const {
    if (numbers != other.numbers) return numbers < other.numbers;
    if (pre_release.empty() || other.pre_release.empty()) return !pre_release.empty() && other.pre_release.empty();
    return pre_release < other.pre_release;
  }
};

void CheckStrategy(std::string_view strategy, const FieldPath& path, FieldErrors& errors) {
  if (strategy.find('/') == strategy.npos) {
    CheckOneOf(strategy, {"OldestEmulationVersion"}, path.Child("strategy"), errors);
  } else {
    CheckQualifiedName(strategy, path.Child("strategy"), errors);
  }
}

void CheckLease(const Value& spec, FieldErrors& errors) {
  FieldPath path("spec");
  Value duration = spec.Get("leaseDurationSeconds"), transitions = spec.Get("leaseTransitions");
  if (duration && duration.AsInt() <= 0) errors.Invalid(path.Child("leaseDurationSeconds"), duration, "must be greater than 0");
  if (transitions.AsInt() < 0) errors.Invalid(path.Child("leaseTransitions"), transitions, kIsNegative);
  Value strategy = spec.Get("strategy");
  if (strategy) CheckStrategy(strategy.AsString(), path.Child("strategy"), errors);
  if (!spec.Get("preferredHolder").AsString().empty() && strategy.AsString().empty()) {
    errors.Forbidden(path.Child("preferredHolder"), "may only be specified if `strategy` is defined");
  }
}

// Coordinated elections are behind a gate that is off: what they need is dropped unless it is in use already.
Value WithoutCoordination(RuleContext& context, const Value& lease) {
  return Edited(context.arena, api::coordination::v1::Lease::SchemaType(), lease, [](Edit& edit) {
    if (!edit.Get("spec")) return;
    edit.In("spec", [](Edit& spec) {
      spec.Erase("strategy");
      spec.Erase("preferredHolder");
    });
  });
}

Value PrepareNewLease(RuleContext& context, Value lease) { return WithoutCoordination(context, lease); }
Value PrepareLeaseUpdate(RuleContext& context, Value lease, Value old) {
  bool used = old.Path({"spec", "strategy"}) || old.Path({"spec", "preferredHolder"});
  return used ? lease : WithoutCoordination(context, lease);
}

void CheckNewLease(RuleContext&, Value lease, FieldErrors& errors) { CheckLease(lease.Get("spec"), errors); }
void CheckLeaseUpdate(RuleContext&, Value lease, Value, FieldErrors& errors) { CheckLease(lease.Get("spec"), errors); }

void CheckCandidate(const Value& spec, FieldErrors& errors) {
  FieldPath path("spec");
  constexpr std::string_view kNotSemantic = "must be a valid semantic version";
  RequireText(spec, "leaseName", path, errors);
  std::string_view emulation = spec.Get("emulationVersion").AsString(), binary = spec.Get("binaryVersion").AsString();
  std::string_view strategy = spec.Get("strategy").AsString();
  auto emulated = SemanticVersion::Parse(emulation), built = SemanticVersion::Parse(binary);
  if (!emulation.empty() && !emulated) errors.Invalid(path.Child("emulationVersion"), emulation, kNotSemantic);
  if (binary.empty()) {
    errors.Required(path.Child("binaryVersion"));
  } else if (!built) {
    errors.Invalid(path.Child("binaryVersion"), binary, kNotSemantic);
  }
  if (!binary.empty() && !emulation.empty() && built.value_or(SemanticVersion()) < emulated.value_or(SemanticVersion())) {
    errors.Invalid(path.Child("binaryVersion"), binary, "must be greater than or equal to `emulationVersion`");
  }
  if (strategy.empty()) return errors.Required(path.Child("strategy"));
  if (strategy == "OldestEmulationVersion" && emulated.value_or(SemanticVersion()).IsZero()) {
    errors.Required(path.Child("emulationVersion"), "must be specified when `strategy` is 'OldestEmulationVersion'");
  }
  CheckStrategy(strategy, path.Child("strategy"), errors);
}

void CheckNewCandidate(RuleContext&, Value candidate, FieldErrors& errors) { CheckCandidate(candidate.Get("spec"), errors); }

void CheckCandidateUpdate(RuleContext&, Value candidate, Value old, FieldErrors& errors) {
  CheckCandidate(candidate.Get("spec"), errors);
  CheckImmutableField(api::coordination::v1beta1::LeaseCandidateSpec::SchemaType(), "leaseName", candidate.Get("spec"), old.Get("spec"),
                      FieldPath("spec"), errors);
}

std::vector<std::string> CandidateName(std::string_view name, bool) { return object::IsConfigMapKey(name); }

}  // namespace

const Behaviour kLease{.group = "coordination.k8s.io", .kind = "Lease", .prepare_create = PrepareNewLease,
                       .prepare_update = PrepareLeaseUpdate, .validate_create = CheckNewLease,
                       .validate_update = CheckLeaseUpdate};
const Behaviour kLeaseCandidate{.group = "coordination.k8s.io", .kind = "LeaseCandidate", .validate_name = CandidateName,
                                .validate_create = CheckNewCandidate, .validate_update = CheckCandidateUpdate};

}  // namespace homeostat::kinds
