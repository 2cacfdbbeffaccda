#include "controllers/stateful_plan.h"

#include <algorithm>
#include <charconv>

#include "controllers/pod_template.h"

namespace homeostat::controllers {

using api::apps::v1::StatefulSet;
using api::apps::v1::StatefulSetBuilder;
using api::core::v1::Pod;
using api::core::v1::PodBuilder;
using api::core::v1::PodTemplateSpec;
using Kind = StatefulStep::Kind;
using Pods = std::vector<object::DocumentPtr>;

namespace {

constexpr std::string_view kPodNameLabel = "statefulset.kubernetes.io/pod-name";
constexpr std::string_view kPodIndexLabel = "apps.kubernetes.io/pod-index";

int32_t FirstOrdinal(const StatefulSet& set) { return set.spec().ordinals().start(); }
bool IsInRange(const StatefulSet& set, int32_t ordinal) {
  return ordinal >= FirstOrdinal(set) && ordinal < FirstOrdinal(set) + StatefulReplicas(set);
}
std::string PodName(const StatefulSet& set, int32_t ordinal) { return std::string(set.metadata().name()) + "-" + std::to_string(ordinal); }
int32_t OrdinalOf(const object::DocumentPtr& pod) { return ParseStatefulName(sdk::meta::Name(pod->root())).ordinal; }
std::string_view RevisionOfPod(const Pod& pod) { return pod.metadata().labels().Get(kRevisionHashLabel); }

// A pod of the plan: one that is there, or one that has to be made.
struct Replica {
  object::DocumentPtr document;
  bool made = false;      // it is there

  Pod View() const { return Pod(document->root()); }
  bool IsTerminating() const { return sdk::meta::IsDeleting(document->root()); }
  bool IsReady() const { return View().status().phase() == "Running" && IsPodReady(View()); }
  bool IsAvailable(const StatefulView& view) const { return IsPodAvailable(View(), view.Set().spec().min_ready_seconds(), view.now); }
  bool IsUnavailable(const StatefulView& view) const { return !IsAvailable(view) || IsTerminating(); }
};

class Planner {
 public:
  explicit Planner(const StatefulView& view) : view_(view), set_(view.Set()), ordered_(set_.spec().pod_management_policy() != "Parallel") {
    Arrange();
  }

  StatefulPlan Plan() {
    plan_.counts = CountStateful(view_);
    if (sdk::meta::IsDeleting(set_.Raw())) return plan_;
    if (Establish()) Roll();
    return plan_;
  }

 private:
  void Arrange() {
    replicas_.resize(static_cast<size_t>(std::max(0, StatefulReplicas(set_))));
    for (const object::DocumentPtr& pod : view_.pods) {
      int32_t ordinal = OrdinalOf(pod);
      if (IsInRange(set_, ordinal)) {
        replicas_[static_cast<size_t>(ordinal - FirstOrdinal(set_))] = {pod, true};
      } else if (ordinal >= 0) {
        condemned_.push_back({pod, true});
      }
    }
    for (size_t i = 0; i < replicas_.size(); ++i) {
      if (!replicas_[i].document) replicas_[i].document = StatefulPod(view_, FirstOrdinal(set_) + static_cast<int32_t>(i));
    }
    std::ranges::sort(condemned_, std::greater<>(), [](const Replica& one) { return OrdinalOf(one.document); });
    for (const Replica& one : replicas_) NoteUnavailable(one);
    for (size_t i = condemned_.size(); i-- > 0;) NoteUnavailable(condemned_[i]);
  }
  void NoteUnavailable(const Replica& one) {
    if (first_unavailable_ == nullptr && one.IsUnavailable(view_)) first_unavailable_ = one.document.get();
  }
  void Add(Kind kind, const Replica& one) { plan_.steps.push_back({kind, one.document}); }

  // Puts the right pods in the right places. False: the look ends here, and no update rolls.
  bool Establish() {
    for (const Replica& one : replicas_) {
      if (!Keep(one) && ordered_) return false;
    }
    for (const Replica& one : condemned_) Add(Kind::kAlignClaims, one);
    for (const Replica& one : condemned_) {
      if (!Remove(one) && ordered_) return false;
    }
    return true;
  }

  bool Keep(const Replica& one) {
    if (one.made && IsPodTerminal(one.View())) {
      if (!one.IsTerminating()) Add(Kind::kDelete, one);
      return false;
    }
    if (!one.made) {
      Add(Kind::kCreate, one);
      return false;
    }
    if (one.View().status().phase() == "Pending") Add(Kind::kMakeClaims, one);
    bool waits = one.IsTerminating() || !one.IsReady() || !one.IsAvailable(view_);
    if (ordered_ && waits) return false;
    Add(Kind::kAlign, one);
    return true;
  }

  bool Remove(const Replica& one) {
    if (one.IsTerminating()) return false;
    // A healthy pod waits for one that is not, unless it is that one.
    bool healthy = one.IsReady() && one.IsAvailable(view_);
    if (ordered_ && !healthy && one.document.get() != first_unavailable_) return false;
    Add(Kind::kDelete, one);
    return false;
  }

  void Roll() {
    if (set_.spec().update_strategy().type() == "OnDelete") return;
    auto partition = static_cast<size_t>(std::max(0, set_.spec().update_strategy().rolling_update().partition()));
    for (size_t i = replicas_.size(); i-- > partition;) {
      const Replica& one = replicas_[i];
      if (RevisionOfPod(one.View()) != view_.update.name && !one.IsTerminating()) {
        Add(Kind::kDelete, one);
        --plan_.counts.current;
        return;
      }
      if (one.IsUnavailable(view_)) return;
    }
  }

  const StatefulView& view_;
  StatefulSet set_;
  bool ordered_;
  std::vector<Replica> replicas_, condemned_;       // by ordinal; from the highest down
  const object::Document* first_unavailable_ = nullptr;
  StatefulPlan plan_;
};

void SetIdentity(PodBuilder& pod, const StatefulSet& set, int32_t ordinal) {
  auto metadata = pod.mutable_metadata();
  std::string name = PodName(set, ordinal);
  metadata.set_name(name).set_namespace(set.metadata().namespace_());
  metadata.set_labels(kPodNameLabel, name).set_labels(kPodIndexLabel, std::to_string(ordinal));
}

// The volumes of claim templates come first; they take the place of volumes of the same name.
void SetStorage(PodBuilder& pod, const StatefulSet& set, int32_t ordinal) {
  if (set.spec().volume_claim_templates().empty()) return;
  auto before = pod.View().spec().volumes();
  auto spec = pod.mutable_spec();
  spec.clear_volumes();
  for (auto claim : set.spec().volume_claim_templates()) {
    auto volume = spec.add_volumes();
    volume.set_name(claim.metadata().name());
    volume.mutable_persistent_volume_claim().set_claim_name(ClaimName(claim.metadata().name(), set.metadata().name(), ordinal));
  }
  for (auto volume : before) {
    bool replaced = std::ranges::any_of(set.spec().volume_claim_templates(), [&](auto claim) { return claim.metadata().name() == volume.name(); });
    if (!replaced) spec.add_volumes(schema::Subtree(volume));
  }
}

bool HasStorage(const Pod& pod, const StatefulSet& set, int32_t ordinal) {
  for (auto claim : set.spec().volume_claim_templates()) {
    std::string wanted = ClaimName(claim.metadata().name(), set.metadata().name(), ordinal);
    bool found = std::ranges::any_of(pod.spec().volumes(), [&](auto volume) {
      return volume.name() == claim.metadata().name() && volume.persistent_volume_claim().claim_name() == wanted;
    });
    if (!found) return false;
  }
  return true;
}

// Of an ordinal that the update has not come to: it is made as it was.
bool IsBeforeUpdate(const StatefulSet& set, int32_t ordinal) {
  auto rolling = set.spec().update_strategy().rolling_update();
  if (rolling) return ordinal < FirstOrdinal(set) + rolling.partition();
  return set.spec().update_strategy().type() == "RollingUpdate" && ordinal < FirstOrdinal(set) + set.status().current_replicas();
}

}  // namespace

StatefulName ParseStatefulName(std::string_view pod) {
  size_t dash = pod.rfind('-');
  if (dash == pod.npos) return {};
  std::string_view digits = pod.substr(dash + 1);
  int32_t ordinal = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
  bool number = !digits.empty() && error == std::errc() && end == digits.data() + digits.size() && digits.front() != '-';
  if (!number) return {};
  return {pod.substr(0, dash), ordinal};
}

int32_t StatefulReplicas(const StatefulSet& set) { return set.spec().has_replicas() ? set.spec().replicas() : 1; }

std::string ClaimName(std::string_view claim_template, std::string_view set, int32_t ordinal) {
  return std::string(claim_template) + "-" + std::string(set) + "-" + std::to_string(ordinal);
}

StatefulPlan PlanStatefulSet(const StatefulView& view) { return Planner(view).Plan(); }

StatefulCounts CountStateful(const StatefulView& view) {
  StatefulCounts counts;
  for (const object::DocumentPtr& document : view.pods) {
    Replica one{document, true};
    ++counts.replicas;
    if (one.IsReady()) ++counts.ready;
    if (one.IsReady() && one.IsAvailable(view)) ++counts.available;
    if (one.IsTerminating()) continue;
    if (RevisionOfPod(one.View()) == view.current.name) ++counts.current;
    if (RevisionOfPod(one.View()) == view.update.name) ++counts.updated;
  }
  return counts;
}

object::DocumentPtr StatefulPod(const StatefulView& view, int32_t ordinal) {
  StatefulSet set = view.Set();
  const StatefulRevision& revision = IsBeforeUpdate(set, ordinal) ? view.current : view.update;
  PodBuilder pod = PodFromTemplate(PodTemplateSpec(revision.tmpl.value), StatefulSet::SchemaKind(), set.Raw());
  SetIdentity(pod, set, ordinal);
  pod.mutable_metadata().set_labels(kRevisionHashLabel, revision.name);
  pod.mutable_spec().set_hostname(PodName(set, ordinal)).set_subdomain(set.spec().service_name());
  SetStorage(pod, set, ordinal);
  return pod.Freeze();
}

object::DocumentPtr AlignedPod(const StatefulSet& set, const object::DocumentPtr& document) {
  Pod pod(document->root());
  int32_t ordinal = OrdinalOf(document);
  bool identity = pod.metadata().labels().Get(kPodNameLabel) == pod.metadata().name();
  bool storage = HasStorage(pod, set, ordinal);
  if (identity && storage) return document;
  PodBuilder next{schema::Subtree(document)};
  if (!identity) SetIdentity(next, set, ordinal);
  if (!storage) SetStorage(next, set, ordinal);
  return next.Freeze();
}

std::vector<object::DocumentPtr> StatefulClaims(const StatefulSet& set, int32_t ordinal) {
  std::vector<object::DocumentPtr> claims;
  for (auto tmpl : set.spec().volume_claim_templates()) {
    api::core::v1::PersistentVolumeClaimBuilder claim;
    claim.set_spec(schema::Subtree(tmpl.spec()));
    auto metadata = claim.mutable_metadata();
    metadata.set_labels(schema::Subtree(tmpl.metadata().labels()));
    metadata.set_annotations(schema::Subtree(tmpl.metadata().annotations()));
    metadata.set_finalizers(schema::Subtree(tmpl.metadata().finalizers()));
    metadata.set_owner_references(schema::Subtree(tmpl.metadata().owner_references()));
    metadata.set_name(ClaimName(tmpl.metadata().name(), set.metadata().name(), ordinal));
    metadata.set_namespace(set.metadata().namespace_());
    for (auto [key, value] : set.spec().selector().match_labels()) metadata.set_labels(key, value);
    claims.push_back(claim.Freeze());
  }
  return claims;
}

object::DocumentPtr WithStatefulStatus(const StatefulView& view, StatefulCounts counts, int32_t collisions) {
  StatefulSet set = view.Set();
  auto status = set.status();
  int32_t wanted = StatefulReplicas(set);
  std::string_view current = view.current.name;
  // The update is through: what it led to is what is current.
  bool complete = set.spec().update_strategy().type() == "RollingUpdate" && counts.updated == wanted && counts.ready == wanted && counts.replicas == wanted;
  if (complete) {
    counts.current = counts.updated;
    current = view.update.name;
  }
  StatefulCounts before{status.replicas(), status.ready_replicas(), status.available_replicas(), status.current_replicas(), status.updated_replicas()};
  bool same = before == counts && status.observed_generation() >= set.metadata().generation() && status.current_revision() == current &&
              status.update_revision() == view.update.name && status.collision_count() == collisions;
  if (same) return view.set;
  StatefulSetBuilder next{schema::Subtree(view.set)};
  auto to = next.mutable_status();
  to.set_observed_generation(set.metadata().generation()).set_replicas(counts.replicas).set_ready_replicas(counts.ready);
  to.set_available_replicas(counts.available).set_current_replicas(counts.current).set_updated_replicas(counts.updated);
  to.set_current_revision(current).set_update_revision(view.update.name).set_collision_count(collisions);
  return next.Freeze();
}

}  // namespace homeostat::controllers
