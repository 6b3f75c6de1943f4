#include "hocket/schedule/list_passes.h"

#include <algorithm>
#include <queue>

namespace hocket {

namespace {

struct Rules {
  bool raise = false;  // rank steps by the first collective that they lead to
  bool sink = false;   // waits after others
  bool cover = false;  // cover each collective with compute before going on
};

// The smaller, the earlier.
struct Urgency {
  std::uint32_t leads_to = 0;  // the number of a collective; beyond the last for steps that lead to none
  bool waits = false;
  std::uint32_t place = 0;  // in the given order
  StepIndex step = no_step;

  friend bool operator>(const Urgency& a, const Urgency& b) {
    if (a.leads_to != b.leads_to) return a.leads_to > b.leads_to;
    if (a.waits != b.waits) return a.waits;
    return a.place > b.place;
  }
};

class ListScheduler {
 public:
  ListScheduler(const StepGraph& steps, std::span<const StepIndex> given, Rules rules)
      : steps_(steps), given_(given), rules_(rules), urgency_(steps.size()), missing_(steps.size()) {
    for (std::size_t p = 0; p < given.size(); ++p) {
      const StepIndex step = given[p];
      urgency_[step] = {0, rules.sink && steps.kind(step) == StepKind::wait, static_cast<std::uint32_t>(p), step};
      missing_[step] = static_cast<std::uint32_t>(steps.before(step).size());
    }
    if (rules.raise) rank_by_collective();
  }

  std::vector<StepIndex> run() {
    order_.reserve(given_.size());
    // Inputs first; the output is held back until everything else is done.
    StepIndex output = no_step;
    for (const StepIndex step : given_) {
      if (steps_.kind(step) != StepKind::fixed) continue;
      if (step + 1 == steps_.size()) output = step;
      else take(step);
    }
    for (const StepIndex step : given_) {
      if (steps_.kind(step) != StepKind::fixed && missing_[step] == 0 && steps_.before(step).empty()) make_ready(step);
    }
    while (!compute_.empty() || !others_.empty()) {
      const StepIndex step = most_urgent();
      take(step);
      if (rules_.cover && steps_.kind(step) == StepKind::collective) cover(steps_.time(step));
    }
    if (output != no_step) order_.push_back(output);
    return std::move(order_);
  }

 private:
  // A step's rank is the least number of a collective among itself and all that comes after it.
  void rank_by_collective() {
    const auto none = static_cast<std::uint32_t>(steps_.size());
    std::uint32_t number = 0;
    for (const StepIndex step : given_) {
      urgency_[step].leads_to = steps_.kind(step) == StepKind::collective ? number++ : none;
    }
    for (auto step = given_.rbegin(); step != given_.rend(); ++step) {
      for (const StepIndex later : steps_.after(*step)) {
        urgency_[*step].leads_to = std::min(urgency_[*step].leads_to, urgency_[later].leads_to);
      }
    }
  }

  void make_ready(StepIndex step) {
    (steps_.kind(step) == StepKind::compute ? compute_ : others_).push(urgency_[step]);
  }

  StepIndex most_urgent() {
    auto& from = others_.empty() || (!compute_.empty() && others_.top() > compute_.top()) ? compute_ : others_;
    const StepIndex step = from.top().step;
    from.pop();
    return step;
  }

  void take(StepIndex step) {
    order_.push_back(step);
    for (const StepIndex later : steps_.after(step)) {
      if (--missing_[later] == 0 && steps_.kind(later) != StepKind::fixed) make_ready(later);
    }
  }

  void cover(Nanoseconds open) {
    while (open > Nanoseconds() && !compute_.empty()) {
      const StepIndex step = compute_.top().step;
      compute_.pop();
      take(step);
      open -= steps_.time(step);
    }
  }

  using Ready = std::priority_queue<Urgency, std::vector<Urgency>, std::greater<>>;

  const StepGraph& steps_;
  std::span<const StepIndex> given_;
  Rules rules_;
  std::vector<Urgency> urgency_;        // by step
  std::vector<std::uint32_t> missing_;  // by step: dependencies that have not run
  Ready compute_, others_;              // others: collectives and waits
  std::vector<StepIndex> order_;
};

}  // namespace

std::vector<StepIndex> sink_waits(const StepGraph& steps, std::span<const StepIndex> order) {
  return ListScheduler(steps, order, {.sink = true}).run();
}

std::vector<StepIndex> raise_comms(const StepGraph& steps, std::span<const StepIndex> order) {
  return ListScheduler(steps, order, {.raise = true}).run();
}

std::vector<StepIndex> reorder_compute_for_overlap(const StepGraph& steps, std::span<const StepIndex> order) {
  return ListScheduler(steps, order, {.raise = true, .sink = true, .cover = true}).run();
}

}  // namespace hocket
