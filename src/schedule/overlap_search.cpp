#include "schedule/overlap_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "hocket/schedule/timeline.h"
#include "schedule/deferral.h"
#include "schedule/exact_order.h"
#include "schedule/guide_memory.h"
#include "schedule/lean_order.h"
#include "schedule/polish.h"
#include "schedule/unit_events.h"
#include "schedule/urgency.h"

namespace hocket::overlap {

namespace {

// What an effort may cost, in the steps of GuideMemory::work(): so much for each unit, at least and at most so much.
struct Budget {
  std::uint64_t for_each_unit, least, most;
};
constexpr std::uint64_t no_end = std::numeric_limits<std::uint64_t>::max();
// With what scatter() and refine() take, half as much again, well below a minute on a core that others do not share.
constexpr std::uint64_t most_of_a_minute = 400'000'000;
constexpr std::array<Budget, 3> budgets = {
    {{14, 30'000, no_end}, {520, 2'200'000, no_end}, {40'000, 360'000'000, most_of_a_minute}}};
// A search that comes before the one with the best guide and all memory takes one part in so many of what that takes.
constexpr std::uint64_t parts_for_short = 3;
// A raised order has to hold so much less to be worth a search; one of those searches has so much more memory than it holds.
constexpr double clearly_less = 0.95, little_more = 1.05;
constexpr Size parts_of_room = 2;  // between the original order's peak and the limit, for search_within_less()
// Of the largest effort's budget, one part in so many for scatter() and for explore(); refine() has all of it once more.
constexpr std::uint64_t scattered_share = 3, explored_share = 6;
constexpr double units_in_cache = 25'000;
constexpr std::array<std::size_t, 3> patience = {20, 400, 3'000};  // orders without a better one before it gives up
constexpr std::array<std::size_t, 3> ways_looked_at = {2'000, 40'000, 400'000};  // by exact_order()
constexpr std::size_t most_polished = 300;  // units: in larger programs single places count for little
constexpr std::size_t polish_work = 60'000, most_polish_tries = 3'000;
// How the priorities of a refined order differ from when the plan ran its units: shares of pulled_starts(), or of deferred_starts().
struct Nudge {
  double pull, defer;
};
constexpr std::array<Nudge, 10> nudges = {
    {{0, 0}, {0, 0}, {0, 0}, {1, 0}, {0.5, 0}, {0.25, 0}, {0.1, 0}, {0, 0.5}, {0, 1}, {0, 2}}};
constexpr Time part_lost_at_first = 400;  // of the best step: one part in so many, by refine() at the largest effort
constexpr double most_left = 0.95;  // of the memory that is left at the peak, for early_order(): buckets get a little
constexpr std::uint64_t cost_of_units = 6;  // making other units of the steps, for each, beside an order of them

std::vector<Time> positions(const std::vector<UnitIndex>& order) {
  std::vector<Time> position(order.size());
  for (std::size_t p = 0; p < order.size(); ++p) position[order[p]] = static_cast<Time>(p);
  return position;
}

}  // namespace

OverlapSearch::OverlapSearch(const StepGraph& steps, const OverlapOptions& options)
    : steps_(steps),
      options_(options),
      grouping_(UnitGraph::grouping(steps, options)),
      units_(steps, grouping_, options, {}),
      classes_(options, units_),
      maker_(units_) {
  for (UnitIndex u = 0; u < units_.size(); ++u) all_compute_ += units_.unit(u).compute;
}

// Programs that do not fit into a processor's caches take more time for the same work: they get less of it, so that the time grows
// about as n log n. A square root is the same to the bit on every machine.
std::uint64_t OverlapSearch::budget() const {
  const Budget& budget = budgets[static_cast<std::size_t>(effort_)];
  const auto units = static_cast<double>(units_.size());
  const double share = std::min(1.0, std::sqrt(std::sqrt(units_in_cache / units)));
  const auto wanted = static_cast<std::uint64_t>(static_cast<double>(budget.for_each_unit) * units * share);
  const auto most =
      budget.most == no_end ? no_end : static_cast<std::uint64_t>(static_cast<double>(budget.most) * share);
  return std::clamp(wanted, std::min(budget.least, most), most) / part_;
}

bool OverlapSearch::hopeless() const {
  return perfect() || tried_ - improved_at_ > patience[static_cast<std::size_t>(effort_)];
}

Buckets OverlapSearch::buckets_of(const UnitGraph& units, const MadeOrder& made) const {
  Buckets buckets;
  for (const auto& bucket : made.buckets) {
    std::vector<StepIndex> members;
    for (const UnitIndex u : bucket) {
      for (const StepIndex step : units.steps_of(u)) {
        if (steps_.kind(step) == StepKind::collective) members.push_back(step);
      }
    }
    buckets.push_back(std::move(members));
  }
  return buckets;
}

void OverlapSearch::keep(const UnitGraph& units, const MadeOrder& made, Buckets buckets) {
  improved_at_ = tried_;
  plan_.time = made.time;
  plan_.peak = made.peak;
  plan_.order = units.steps_in(made.order);
  plan_.buckets = std::move(buckets);
  plan_.began.assign(steps_.size(), 0);
  for (const UnitIndex u : made.order) {
    for (const StepIndex step : units.steps_of(u)) plan_.began[step] = made.begin[u];
  }
  plan_.stalls = stalls_of(steps_, units, made);
}

void OverlapSearch::apply_model(const UnitGraph& units, MadeOrder& made) const {
  if (!options_.model) return;
  const auto events = events_of(steps_, units, made, options_.model->launch);
  made.time = run_lanes(events, units.lanes(), *options_.model).picoseconds;
}

bool OverlapSearch::try_buckets(const Buckets& buckets, double pull, double defer, Time below) {
  ++tried_;
  const UnitGraph units(steps_, grouping_, options_, buckets);
  const auto guide = units.order_of(plan_.order);
  if (guide.size() != units.size()) return false;  // buckets that wait for each other
  std::vector<Time> priority(units.size(), std::numeric_limits<Time>::max());
  for (UnitIndex u = 0; u < units.size(); ++u) {
    for (const StepIndex step : units.steps_of(u)) priority[u] = std::min(priority[u], plan_.began[step]);
  }
  if (pull > 0 || defer > 0) {
    MadeOrder parent;
    parent.order = guide;
    parent.begin = priority;
    parent.time = plan_.time;
    const auto comm = comm_times(units, {});
    priority = pull > 0 ? pulled_starts(units, parent, comm, pull) : deferred_starts(units, parent, comm, defer);
  }
  Recipe recipe;
  recipe.limit = limit_;
  recipe.window = plan_.window;
  recipe.ahead = plan_.ahead;
  recipe.fit = plan_.fit;
  recipe.idle = plan_.idle;
  recipe.clear = options_.early;
  if (!options_.model) recipe.give_up = below;
  recipe.priority = &priority;
  OrderMaker maker(units);
  MadeOrder made = maker.make(guide, recipe);
  refined_ += maker.work() + cost_of_units * units.size();
  if (!made.finished) return false;
  apply_model(units, made);
  if (made.peak > limit_ || made.time >= below) return false;
  keep(units, made, buckets);
  return true;
}

// The largest effort goes on from plans that are a little worse than the best, less and less so: buckets of which two have to change
// before either pays are not found otherwise.
void OverlapSearch::refine(std::uint64_t budget) {
  if (classes_.size() == 0 || plan_.began.empty()) return;
  BucketMoves moves(steps_, grouping_, classes_, plan_.order, plan_.buckets);
  if (!moves.any()) return;
  Plan best = plan_;
  const Time first_loss = effort_ == Effort::max ? best.time / part_lost_at_first : 0;
  improved_at_ = tried_;
  std::size_t improved_at = tried_;
  while (refined_ < budget && (effort_ == Effort::max ? !perfect() : !hopeless())) {
    const Nudge nudge = nudges[dice_.below(nudges.size())];
    const bool same = nudge.pull + nudge.defer > 0 && dice_.below(2) == 0;
    const auto loss = static_cast<Time>(static_cast<double>(first_loss) * static_cast<double>(budget - refined_) /
                                        static_cast<double>(budget));
    if (plan_.time > best.time + loss) {
      plan_ = best;
      moves = BucketMoves(steps_, grouping_, classes_, plan_.order, plan_.buckets);
    }
    if (!try_buckets(same ? plan_.buckets : moves.changed(plan_.stalls, dice_), nudge.pull, nudge.defer,
                     best.time + loss))
      continue;
    moves = BucketMoves(steps_, grouping_, classes_, plan_.order, plan_.buckets);
    if (plan_.time < best.time) {
      best = plan_;
      improved_at = tried_;
    }
    improved_at_ = improved_at;
  }
  plan_ = std::move(best);
}

// Single units, in programs that are small enough: from the plan, and from the original order.
void OverlapSearch::polish() {
  if (effort_ == Effort::fast || units_.size() > most_polished || perfect()) return;
  const std::size_t tries = std::min<std::size_t>(polish_work / (units_.size() + 1), most_polish_tries);
  const auto start = [&](const Buckets& buckets, const std::vector<StepIndex>& order) {
    const UnitGraph units(steps_, grouping_, options_, buckets);
    auto guide = units.order_of(order);
    if (guide.size() != units.size() || guide.empty()) return;
    const MadeOrder made = polished(
        units, std::move(guide), limit_, tries,
        [&](const MadeOrder& judged) {
          if (!options_.model) return judged.time;
          MadeOrder modelled = judged;
          apply_model(units, modelled);
          return modelled.time;
        },
        dice_);
    tried_ += tries;
    if (made.peak <= limit_ && made.time < plan_.time) keep(units, made, buckets);
  };
  const Buckets buckets = plan_.buckets;
  start(buckets, std::vector<StepIndex>(plan_.order));
  start(buckets, steps_.original_order());
  if (!buckets.empty()) start({}, steps_.original_order());
}

Size OverlapSearch::peak_of(const std::vector<UnitIndex>& order) {
  GuideMemory memory(units_);
  memory.reset(order);
  return memory.guide_peak();
}

// The guides keep the limit wherever an order is found that does. A raised order that holds clearly less takes the lean one's place.
void OverlapSearch::find_guides(const std::vector<StepIndex>& original) {
  const auto twice_lean = [&](const std::vector<UnitIndex>& order) {
    return lean_order(units_, lean_order(units_, order));
  };
  const std::vector<UnitIndex> given = units_.order_of(original);
  original_ = given;
  lean_.order = twice_lean(given);
  position_ = positions(given);
  lean_.position = positions(lean_.order);
  auto raised = twice_lean(raised_order(units_, given));
  Size least = peak_of(lean_.order);
  if (const Size peak = peak_of(original_); peak > limit_) original_ = lean_.order;
  else if (least > peak) lean_.order = original_, least = peak;
  const Size raised_peak = peak_of(raised);
  const bool clearly = static_cast<double>(raised_peak) < clearly_less * static_cast<double>(least);
  const auto try_lean = [&](const std::vector<UnitIndex>& start) {
    auto order = lean_order(units_, start);
    if (const Size peak = peak_of(order); peak < least) {
      least = peak;
      lean_.order = original_ = std::move(order);
    }
  };
  if (least > limit_) {
    for (const auto& start : {original_, frugal_order(units_, original_)}) try_lean(frugal_order(units_, start));
  }
  if (least > limit_) {
    const auto demanded = demanded_order(units_, given);
    for (const auto& start : {demanded, frugal_order(units_, demanded), frugal_order(units_, raised)}) try_lean(start);
  }
  if (!clearly || raised_peak > limit_) return;
  if (least <= limit_) other_lean_ = lean_;
  else original_ = raised;
  raised_ = true;
  lean_.order = std::move(raised);
  lean_.position = positions(lean_.order);
}

// For the limit as it is.
void OverlapSearch::find_early_guides() {
  constexpr double half = 0.5;
  const auto early = [&](double share, Prefer prefer) {
    return early_order(units_, lean_.order, limit_, share, prefer);
  };
  early_ = {early(most_left, Prefer::soon_ready), early(most_left, Prefer::soon_needed),
            early(half, Prefer::soon_needed)};
  if (std::any_of(early_.begin(), early_.end(), [](const EarlyOrder& one) { return one.moved.empty(); })) early_ = {};
}

// A search that may hold more, or has another guide, takes other turns, and at times worse ones: others, most of them short, come
// before the last one, which begins as if they had not been. The largest effort does all this too, so that it finds nothing worse.
void OverlapSearch::search_as_default() {
  const Plan begin = plan_;
  std::optional<Plan> best;
  // True: there is nothing better.
  const auto search_within = [&](Size limit, std::uint64_t part) {
    const Size whole = std::exchange(limit_, limit);
    part_ = part;
    search(Effort::standard);
    part_ = 1;
    limit_ = whole;
    if (perfect()) return true;
    if (!best || plan_.time < best->time) best = plan_;
    plan_ = begin;
    dice_ = {};
    return false;
  };
  if (original_peak_ < limit_ && search_within(original_peak_, parts_for_short)) return;
  if (!other_lean_.order.empty()) {
    std::swap(lean_, other_lean_);
    const bool found = search_within(limit_, original_peak_ <= limit_ ? parts_for_short : 1);
    std::swap(lean_, other_lean_);
    if (found) return;
  }
  if (raised_) {
    const auto less = static_cast<Size>(little_more * static_cast<double>(peak_of(lean_.order)));
    if (less < limit_ && search_within(less, parts_for_short)) return;
  }
  search(Effort::standard);
  if (best && best->time < plan_.time) plan_ = std::move(*best);
}

// One search after the other, each from the plan of the last, within less memory first: cheap beside what follows.
void OverlapSearch::search_within_less() {
  const Size limit = limit_;
  for (Size part = 0; part <= parts_of_room && original_peak_ < limit && !perfect(); ++part) {
    limit_ = original_peak_ + (limit - original_peak_) / parts_of_room * part;
    search(Effort::standard);
  }
  limit_ = limit;
}

void OverlapSearch::search(Effort effort) {
  effort_ = effort;
  begun_ = maker_.work();
  refined_ = 0;
  const bool longest = effort == Effort::max;
  explore(longest ? budget() / explored_share : budget());
  if (effort != Effort::fast) refine(longest ? budget() : budget() / 2);
  polish();
}

// An order that was found quickly spares it most ways.
bool OverlapSearch::solve() {
  if (options_.model || units_.size() > most_exact_units) return false;
  if (plan_.peak <= limit_) search(Effort::fast);
  const Time known = plan_.peak <= limit_ ? plan_.time : std::numeric_limits<Time>::max();
  const ExactOrder exact =
      exact_order(units_, limit_, known, ways_looked_at[static_cast<std::size_t>(options_.effort)]);
  if (exact.made) keep(units_, *exact.made, buckets_of(units_, *exact.made));
  return exact.complete;
}

void OverlapSearch::find_limits(const std::vector<StepIndex>& original) {
  original_peak_ = memory_curve(steps_, original).peak.count;
  limit_ = options_.memory_limit ? options_.memory_limit->count : original_peak_;
}

std::vector<StepIndex> OverlapSearch::early_steps() {
  const auto original = steps_.original_order();
  find_limits(original);
  find_guides(original);
  return units_.steps_in(early_order(units_, lean_.order, limit_, most_left, Prefer::soon_ready).moved);
}

OverlapPlan OverlapSearch::run() {
  const auto original = steps_.original_order();
  const auto time_of = [&](const std::vector<StepIndex>& order) {
    return (options_.model ? modelled_step_time(steps_, order, *options_.model) : timeline(steps_, order).step_time)
        .picoseconds;
  };
  find_limits(original);
  find_guides(original);
  const bool kept = original_peak_ <= limit_;
  plan_.order = kept ? original : units_.steps_in(lean_.order);
  plan_.time = time_of(plan_.order);
  plan_.peak = memory_curve(steps_, plan_.order).peak.count;
  if (options_.early && plan_.peak <= limit_) {
    effort_ = Effort::max;
    find_early_guides();
    search_early(budget());
  } else if (!solve() && plan_.peak <= limit_) {
    const Plan begin = plan_;
    if (options_.effort == Effort::fast) search(Effort::fast);
    else search_as_default();
    if (options_.effort == Effort::max && !perfect()) {
      search_within_less();
      effort_ = Effort::max;
      find_early_guides();
      scatter(begin, budget() / scattered_share);
      if (!perfect()) search(Effort::max);
    }
  }
  OverlapPlan plan;
  plan.within_limit = plan_.peak <= limit_;
  plan.improved = plan_.order != original || !plan_.buckets.empty();
  plan.order = std::move(plan_.order);
  plan.buckets = std::move(plan_.buckets);
  plan.step_time = Nanoseconds::from_picoseconds(plan_.time);
  plan.peak = Bytes(plan_.peak);
  plan.orders_tried = tried_;
  return plan;
}

}  // namespace hocket::overlap
