#include "schedule/last_bound.h"

#include <algorithm>
#include <vector>

namespace hocket {

namespace {

constexpr std::size_t most_tried = 4;  // of each lane: those with the most before them
constexpr std::uint32_t no_class = 0xffffffff;

class LastBound {
 public:
  LastBound(const StepGraph& steps, const OverlapOptions& options, const Paths& paths)
      : steps_(steps),
        options_(options),
        paths_(paths),
        order_(steps.original_order()),
        class_of_(steps.size(), no_class),
        moved_(steps.size(), 0),
        slack_(options.classes.size(), 1) {
    for (const MergeCandidate& candidate : options.candidates) {
      class_of_[candidate.collective] = candidate.merge_class;
      moved_[candidate.collective] = candidate.moved.count;
      // Alone it may take less than its class says.
      const auto by_class = static_cast<double>(time_of(candidate.merge_class, candidate.moved.count));
      double& slack = slack_[candidate.merge_class];
      if (by_class > 0) slack = std::min(slack, static_cast<double>(paths.time(candidate.collective)) / by_class);
    }
    for (StepIndex step = 0; step < steps.size(); ++step) compute_ += steps.time_on_compute(step).picoseconds;
  }

  std::int64_t best() const {
    std::int64_t best = 0;
    for (std::uint32_t lane = 0; lane < steps_.lanes(); ++lane) {
      std::vector<StepIndex> late;
      for (const StepIndex collective : steps_.collectives()) {
        if (steps_.lane(collective) == lane) late.push_back(collective);
      }
      const std::size_t count = std::min(most_tried, late.size());
      std::partial_sort(late.begin(), late.begin() + static_cast<std::ptrdiff_t>(count), late.end(),
                        [&](StepIndex a, StepIndex b) {
                          const std::int64_t before = paths_.head[a] + paths_.time(a);
                          const std::int64_t other = paths_.head[b] + paths_.time(b);
                          return before != other ? before > other : a < b;
                        });
      for (std::size_t i = 0; i < count; ++i) best = std::max(best, with_last(late[i]));
    }
    return best;
  }

 private:
  // What could run behind the last collective and is counted for another one.
  struct Behind {
    std::int64_t compute = 0;
    std::int64_t moved = 0;
  };

  std::int64_t time_of(std::uint32_t merge_class, std::int64_t moved) const {
    return options_.classes[merge_class].time(Bytes(moved)).picoseconds;
  }

  std::int64_t with_last(StepIndex last) const {
    std::vector<bool> needed(steps_.size(), false);
    std::vector<StepIndex> leads_to(steps_.size(), no_step);
    std::vector<std::int64_t> compute(steps_.size(), 0);  // by collective: counted for it
    needed[last] = true;
    std::int64_t gain = 0;
    for (std::size_t p = order_.size(); p-- > 0;) {
      const StepIndex step = order_[p];
      if (needed[step]) {
        for (const StepIndex earlier : steps_.before(step)) needed[earlier] = true;
        continue;
      }
      const bool on_lane = steps_.kind(step) == StepKind::collective && steps_.lane(step) == steps_.lane(last);
      if (on_lane) leads_to[step] = step;
      for (const StepIndex later : steps_.after(step)) {
        if (leads_to[step] == no_step) leads_to[step] = leads_to[later];
      }
      const std::int64_t time = steps_.time_on_compute(step).picoseconds;
      if (leads_to[step] == no_step) gain += time;
      else compute[leads_to[step]] += time;
    }
    return compute_ + paths_.time(last) - gain - most_gained(compute);
  }

  std::int64_t most_gained(const std::vector<std::int64_t>& compute) const {
    std::int64_t gain = 0;
    std::vector<std::vector<Behind>> by_class(options_.classes.size());
    for (const StepIndex collective : steps_.collectives()) {
      if (compute[collective] == 0) continue;
      if (class_of_[collective] == no_class)
        gain += std::max<std::int64_t>(0, compute[collective] - paths_.time(collective));
      else by_class[class_of_[collective]].push_back({compute[collective], moved_[collective]});
    }
    for (std::uint32_t c = 0; c < by_class.size(); ++c) gain += most_gained(c, by_class[c]);
    return gain;
  }

  std::int64_t most_gained(std::uint32_t merge_class, std::vector<Behind>& list) const {
    std::stable_sort(list.begin(), list.end(), [](const Behind& a, const Behind& b) {
      return static_cast<double>(a.compute) * static_cast<double>(b.moved) >
             static_cast<double>(b.compute) * static_cast<double>(a.moved);
    });
    Behind all;
    std::int64_t best = 0;
    for (const Behind& each : list) {
      all.compute += each.compute;
      all.moved += each.moved;
      const double comm = slack_[merge_class] * static_cast<double>(time_of(merge_class, all.moved));
      best = std::max(best, all.compute - static_cast<std::int64_t>(comm));
    }
    return best;
  }

  const StepGraph& steps_;
  const OverlapOptions& options_;
  const Paths& paths_;
  const std::vector<StepIndex> order_;
  std::vector<std::uint32_t> class_of_;  // by step
  std::vector<std::int64_t> moved_;      // by step
  std::vector<double> slack_;            // by class: the least that one takes alone, of what its class says
  std::int64_t compute_ = 0;
};

}  // namespace

std::int64_t last_bound(const StepGraph& steps, const OverlapOptions& options, const Paths& paths) {
  return LastBound(steps, options, paths).best();
}

}  // namespace hocket
