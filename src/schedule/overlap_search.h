// The search of `overlap`: orders made by many recipes, the best kept and varied.
#pragma once

#include <array>
#include <vector>

#include "schedule/bucket_moves.h"
#include "schedule/early_order.h"
#include "schedule/order_maker.h"
#include "schedule/setting.h"
#include "schedule/unit_graph.h"

namespace hocket::overlap {

class OverlapSearch {
 public:
  OverlapSearch(const StepGraph& steps, const OverlapOptions& options);
  OverlapPlan run();
  // What of a step could run in front of its peak, within the limit.
  std::vector<StepIndex> early_steps();

 private:
  // An order with what it takes to make others from it.
  struct Candidate {
    Setting setting;
    MadeOrder made;
    bool alike(const Setting& other) const;  // the same buckets and window
  };

  struct Lean {
    std::vector<UnitIndex> order;
    std::vector<Time> position;  // of each unit in it
  };

  // The best order so far, and what it takes to make others close to it.
  struct Plan {
    Time time = 0;
    Size peak = 0;
    std::vector<StepIndex> order;
    Buckets buckets;
    double window = 0, ahead = 0, idle = 0;  // of the setting that it comes from
    bool fit = false;
    std::vector<Time> began;  // by step
    std::vector<Stall> stalls;
  };

  void find_limits(const std::vector<StepIndex>& original);
  void find_guides(const std::vector<StepIndex>& original);
  void find_early_guides();
  int guides() const { return plain_guides + (early_[0].order.empty() ? 0 : early_guides); }
  Size peak_of(const std::vector<UnitIndex>& order);
  std::uint64_t budget() const;
  bool perfect() const { return !options_.model && plan_.time <= all_compute_; }  // nothing can be better
  bool hopeless() const;                                                          // nothing better for long, or at all
  void search(Effort effort);
  void search_as_default();
  void search_within_less();
  bool solve();  // looks at all orders, where they are few; is the plan the best there is?
  std::uint64_t explored() const { return maker_.work() - begun_; }  // work of explore()
  MadeOrder make(const Setting& setting, const Candidate* parent);
  const EarlyOrder* early_of(const Setting& setting) const;  // absent: the guide is none of those
  const std::vector<UnitIndex>& guide_of(const Setting& setting, const Candidate* parent) const;
  std::vector<Time> priorities_of(const Setting& setting, const Recipe& recipe, const Candidate* parent) const;
  Time try_setting(const Setting& setting, const Candidate* parent);  // its time; the largest if memory does not do
  void keep(const UnitGraph& units, const MadeOrder& made, Buckets buckets);  // as the plan
  Buckets buckets_of(const UnitGraph& units, const MadeOrder& made) const;
  void start_anywhere(std::uint64_t budget);
  void search_anywhere(const Plan& from, std::uint64_t budget);  // from settings by chance
  void scatter(const Plan& from, std::uint64_t budget);
  void search_early(std::uint64_t budget);
  void explore(std::uint64_t budget);  // by these four, one after the other
  void start(std::uint64_t budget);
  void climb(std::uint64_t budget);
  void intensify(std::uint64_t budget);
  void wander(std::uint64_t budget);
  void refine(std::uint64_t budget);
  // An order with these buckets, close to the plan's, with this share of pulled_starts() or of deferred_starts().
  // Kept as the plan if it takes less than `below`.
  bool try_buckets(const Buckets& buckets, double pull, double defer, Time below);
  void polish();
  // The time by the options' model, where there is one, in place of the two-lane model's.
  void apply_model(const UnitGraph& units, MadeOrder& made) const;

  const StepGraph& steps_;
  const OverlapOptions& options_;
  UnitGraph::Grouping grouping_;
  UnitGraph units_;
  ClassSizes classes_;
  OrderMaker maker_;
  Dice dice_;
  Size limit_ = 0, original_peak_ = 0;
  Time all_compute_ = 0;  // of the steps as they are, without copies for buckets
  std::vector<UnitIndex> original_;
  Lean lean_;
  bool raised_ = false;  // the lean one is
  Lean other_lean_;      // where a raised order has taken the place of one that keeps the limit, too
  std::array<EarlyOrder, early_guides> early_;  // all empty if nothing can go in front of the peak
  std::vector<Time> position_;
  std::vector<Candidate> best_;  // by time, few, no two alike
  std::size_t tried_ = 0, improved_at_ = 0;
  // Of the search that is going on.
  Effort effort_ = Effort::standard;
  std::uint64_t part_ = 1;     // one of so many of the effort's budget
  std::uint64_t begun_ = 0;    // where it began in the maker's work
  std::uint64_t refined_ = 0;  // work of refine()
  Plan plan_;                  // so far
};

}  // namespace hocket::overlap
