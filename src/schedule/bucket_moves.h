// Small changes of buckets: two that follow each other become one, one becomes two, a member goes over to its neighbour.
#pragma once

#include "schedule/setting.h"
#include "schedule/stalls.h"
#include "schedule/unit_graph.h"

namespace hocket::overlap {

class BucketMoves {
 public:
  // `order` and `buckets` are those of a plan; collectives that are in no bucket count as buckets of one. Classes whose collectives depend
  // on each other have next to nothing to merge: they are left as they are if there are others.
  BucketMoves(const StepGraph& steps, const UnitGraph::Grouping& grouping, const ClassSizes& classes,
              const std::vector<StepIndex>& order, const Buckets& buckets);

  bool any() const { return !rows_.empty(); }
  // The buckets after a random move, mostly next to where the compute lane stands still: the longer it does, the more often.
  Buckets changed(const std::vector<Stall>& stalls, Dice& dice) const;

 private:
  struct Place {
    std::size_t row, bucket;
  };
  Place any_place(const std::vector<Stall>& stalls, Dice& dice) const;

  std::vector<std::vector<std::vector<StepIndex>>> rows_;  // by class, in the order of issue
  Buckets others_;                                         // of classes that are left as they are
  std::vector<Place> place_;                               // by step, of candidates
  std::vector<bool> known_;                                // by step
};

}  // namespace hocket::overlap
