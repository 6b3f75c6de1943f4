#include <algorithm>
#include <array>
#include <limits>

#include "schedule/deferral.h"
#include "schedule/overlap_search.h"
#include "schedule/urgency.h"

namespace hocket::overlap {

namespace {

constexpr std::size_t most_kept = 6;
// Of four parts of the budget: what the starts may take, and what the first steps from the best of them.
constexpr std::uint64_t starts_share = 2, climb_share = 3;
// An urgency that is slower than the best by more than one part in so many is not varied.
constexpr Time near_best = 10;
// An improvement by less than one part in so many does not start the same shares again.
constexpr Time worth_repeating = 1000;
constexpr std::array<std::uint64_t, 3> number_of_walks = {1, 1, 2};  // by effort, if each goes on to its end
constexpr std::uint64_t most_walks = 3;                              // times as many if they end early
constexpr std::uint64_t scattered_searches = 8;  // if each goes on to its end; three times as many if they end early
constexpr std::uint64_t early_searches = 20;     // the same
// Settings that a scattered search begins with.
constexpr int least_anywhere = 12, most_anywhere = 40;
// What intensify() tries: an urgency that follows from the best order, and its share, of pull_of().
struct Follow {
  Priority priority;
  int share;
};
constexpr std::array<Follow, 7> follows = {{{Priority::pulled, 6},
                                            {Priority::pulled, 3},
                                            {Priority::deferred, 5},
                                            {Priority::pulled, 1},
                                            {Priority::pulled, 5},
                                            {Priority::deferred, 3},
                                            {Priority::deferred, 6}}};

}  // namespace

std::vector<Time> OverlapSearch::priorities_of(const Setting& setting, const Recipe& recipe,
                                               const Candidate* parent) const {
  const auto comm = [&] { return comm_times(units_, recipe.bucket); };
  std::vector<Time> priority;
  switch (setting.priority) {
    case Priority::position: priority = position_; break;
    case Priority::lean_position: priority = lean_.position; break;
    case Priority::latest: priority = latest_starts(units_, original_, comm(), true); break;
    case Priority::lean_latest: priority = latest_starts(units_, lean_.order, comm(), true); break;
    case Priority::tail: priority = latest_starts(units_, original_, comm(), false); break;
    case Priority::backward:
      priority = parent == nullptr ? position_ : backward_starts(units_, parent->made.begin, comm());
      break;
    case Priority::pulled:
      priority = parent == nullptr ? position_ : pulled_starts(units_, parent->made, comm(), pull_of(setting));
      break;
    case Priority::deferred:
      priority = parent == nullptr ? position_ : deferred_starts(units_, parent->made, comm(), pull_of(setting));
      break;
    case Priority::target: {
      priority = latest_starts(units_, original_, comm(), false);
      if (parent == nullptr) break;
      const auto target = static_cast<Time>(static_cast<double>(parent->made.time) * (1 - share_of(setting)));
      for (UnitIndex u = 0; u < units_.size(); ++u) priority[u] = std::min(parent->made.begin[u], priority[u] + target);
      break;
    }
  }
  if (setting.comm_by_tail && setting.priority != Priority::tail) {
    const auto tail = latest_starts(units_, original_, comm(), false);
    for (UnitIndex u = 0; u < units_.size(); ++u) {
      if (units_.unit(u).kind == StepKind::collective) priority[u] = tail[u];
    }
  }
  if (const EarlyOrder* early = early_of(setting); early != nullptr && options_.early) early->make_urgent(priority);
  return priority;
}

MadeOrder OverlapSearch::make(const Setting& setting, const Candidate* parent) {
  Recipe recipe = recipe_of(setting, classes_, limit_);
  const std::vector<Time> priority = priorities_of(setting, recipe, parent);
  recipe.priority = &priority;
  recipe.clear = options_.early;
  return maker_.make(guide_of(setting, parent), recipe);
}

const std::vector<UnitIndex>& OverlapSearch::guide_of(const Setting& setting, const Candidate* parent) const {
  switch (setting.guide) {
    case Guide::original: return original_;
    case Guide::parent: return parent != nullptr ? parent->made.order : lean_.order;
    case Guide::early_ready:
    case Guide::early_needed:
    case Guide::early_half: return early_of(setting)->order;
    case Guide::lean: break;
  }
  return lean_.order;
}

const EarlyOrder* OverlapSearch::early_of(const Setting& setting) const {
  const int index = static_cast<int>(setting.guide) - plain_guides;
  return index < 0 ? nullptr : &early_[static_cast<std::size_t>(index)];
}

bool OverlapSearch::Candidate::alike(const Setting& other) const {
  return setting.size == other.size && setting.hold == other.hold && setting.window == other.window &&
         setting.ahead == other.ahead && setting.fit == other.fit;
}

Time OverlapSearch::try_setting(const Setting& setting, const Candidate* parent) {
  ++tried_;
  Candidate candidate{setting, make(setting, parent)};
  apply_model(units_, candidate.made);
  const Time time = candidate.made.time;
  if (candidate.made.peak > limit_) return std::numeric_limits<Time>::max();
  if (time < plan_.time) {
    keep(units_, candidate.made, buckets_of(units_, candidate.made));
    plan_.window = window_of(setting);
    plan_.ahead = ahead_of(setting);
    plan_.fit = setting.fit > 0;
    plan_.idle = idle_of(setting);
  }
  // One for each choice of buckets and window: a search from several that are alike would find the same again.
  const auto same =
      std::find_if(best_.begin(), best_.end(), [&](const Candidate& other) { return other.alike(setting); });
  if (same != best_.end()) {
    if (time >= same->made.time) return time;
    best_.erase(same);
  }
  const auto at =
      std::find_if(best_.begin(), best_.end(), [&](const Candidate& other) { return time <= other.made.time; });
  best_.insert(at, std::move(candidate));
  if (best_.size() > most_kept) best_.pop_back();
  return time;
}

// First which urgency suits, then which buckets and windows.
void OverlapSearch::start(std::uint64_t budget) {
  const auto enough = [&] { return perfect() || (!best_.empty() && explored() * 4 > budget * starts_share); };
  constexpr Time never = std::numeric_limits<Time>::max();
  std::array<Time, priorities> best;
  best.fill(never);
  for (const Setting& setting : plain_starts(classes_)) {
    if (enough()) return;
    Time& of_urgency = best[static_cast<std::size_t>(setting.priority)];
    of_urgency = std::min(of_urgency, try_setting(setting, nullptr));
  }
  if (!early_[0].order.empty()) {
    for (const Setting& setting : early_starts(classes_)) {
      if (enough()) return;
      try_setting(setting, nullptr);
    }
  }
  const Time fastest = *std::min_element(best.begin(), best.end());
  if (fastest == never) return;  // no order keeps the limit, whatever is urgent
  for (int p = 0; p < priorities; ++p) {
    if (best[static_cast<std::size_t>(p)] - fastest > fastest / near_best) continue;
    for (const Setting& setting : variants_of(static_cast<Priority>(p), classes_)) {
      if (enough()) return;
      try_setting(setting, nullptr);
    }
  }
}

// Settings by chance.
void OverlapSearch::start_anywhere(std::uint64_t budget) {
  for (int i = 0; i < most_anywhere && (i < least_anywhere || explored() < budget); ++i)
    try_setting(any_setting(classes_, guides(), dice_), nullptr);
}

void OverlapSearch::search_anywhere(const Plan& from, std::uint64_t budget) {
  plan_ = from;
  begun_ = maker_.work();
  refined_ = 0;
  best_.clear();
  start_anywhere(budget / 4);
  climb(budget / 2);
  improved_at_ = tried_;
  intensify(budget * 2 / 3);
  wander(budget * 2 / 3);
}

// Short searches that have nothing in common: those of small programs end soon, and not all at the same place.
void OverlapSearch::scatter(const Plan& from, std::uint64_t budget) {
  Plan best = plan_;
  const std::uint64_t each = budget / scattered_searches;
  std::uint64_t spent = 0;
  effort_ = Effort::standard;
  for (std::uint64_t i = 0; i < scattered_searches * most_walks && spent < budget; ++i) {
    search_anywhere(from, each);
    refine(each / 3);
    spent += explored() + refined_;
    if (plan_.time < best.time) best = plan_;
  }
  plan_ = std::move(best);
}

// Which steps run early, and when, matters more here than buckets do: no time is spent on those but at the end.
void OverlapSearch::search_early(std::uint64_t budget) {
  const Plan from = plan_;
  Plan best = from;
  std::vector<Candidate> candidates;
  std::uint64_t spent = 0;
  effort_ = Effort::standard;
  for (std::uint64_t i = 0; i < early_searches * most_walks && spent < budget && !perfect(); ++i) {
    search_anywhere(from, budget / early_searches);
    spent += explored();
    if (plan_.time >= best.time) continue;
    best = plan_;
    candidates = best_;
  }
  plan_ = std::move(best);
  best_ = std::move(candidates);
  begun_ = maker_.work();
  improved_at_ = tried_;
  wander(budget / 4);
  refine(budget / 4);
}

void OverlapSearch::climb(std::uint64_t budget) {
  for (const auto& change : single_changes(classes_)) {
    if (perfect() || best_.empty() || explored() * 4 > budget * climb_share) return;
    const Candidate parent = best_[0];
    Setting next = parent.setting;
    change(next);
    normalise(next);
    if (next != parent.setting) try_setting(next, &parent);
  }
}

// Pulls forward what the best order stands still for, as long as that helps.
void OverlapSearch::intensify(std::uint64_t budget) {
  std::size_t tried = 0;
  while (tried < follows.size() && !best_.empty() && explored() < budget && !perfect()) {
    const Candidate parent = best_[0];
    Setting next = parent.setting;
    next.priority = follows[tried].priority;
    next.share = follows[tried++].share;
    next.guide = Guide::parent;
    const Time before = parent.made.time;
    try_setting(next, &parent);
    if (best_[0].made.time < before - before / worth_repeating) tried = 0;
  }
}

void OverlapSearch::wander(std::uint64_t budget) {
  while (explored() < budget && !hopeless() && !best_.empty()) {
    // Mostly from the best.
    const std::size_t which = std::min<std::size_t>(dice_.below(2) == 0 ? 0 : dice_.below(most_kept), best_.size() - 1);
    const Candidate parent = best_[which];
    Setting next = changed(parent.setting, classes_, guides(), dice_);
    if (dice_.below(3) == 0) {
      next = parent.setting;
      const std::uint64_t kind = dice_.below(5);
      next.priority = kind == 0   ? Priority::backward
                      : kind == 1 ? Priority::target
                      : kind == 2 ? Priority::deferred
                                  : Priority::pulled;
      next.share = static_cast<int>(dice_.below(shares));
      next.guide = dice_.below(3) == 0 ? Guide::lean : Guide::parent;
    }
    normalise(next);
    const Time before = best_[0].made.time;
    try_setting(next, &parent);
    if (best_[0].made.time < before) intensify(budget);
  }
}

// Walks from the same starts lead to different places: several short ones find more than a long one.
void OverlapSearch::explore(std::uint64_t budget) {
  const std::uint64_t walks = number_of_walks[static_cast<std::size_t>(effort_)];
  best_.clear();
  start(budget / walks);
  const std::vector<Candidate> starts = best_;
  // One that ends early leaves more to the others.
  for (std::uint64_t walk = 1; explored() < budget && walk <= walks * most_walks && !perfect(); ++walk) {
    const std::uint64_t until = std::min(budget, explored() + budget / walks);
    best_ = starts;
    improved_at_ = tried_;
    if (walk == 1) climb(until);
    intensify(until);
    wander(until);
  }
}

}  // namespace hocket::overlap
