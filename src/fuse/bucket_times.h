// Whether merging pays off, by the two-lane model of the graph in two orders: as it is, and as a scheduler would have it, with
// collectives as early and waits as late as they can be.
#pragma once

#include <map>
#include <vector>

#include "fuse/bucket_candidates.h"
#include "fuse/two_lanes.h"
#include "hocket/cost/cost_model.h"
#include "hocket/fuse/form.h"

namespace hocket::fuse {

class BucketTimes {
 public:
  BucketTimes(const Graph& graph, const Windows& windows, const CostModel& cost, FusedForm form);

  // A bucket as far as it is filled, and the states of both orders right before it.
  struct Open {
    std::vector<const Candidate*> members;
    std::uint32_t position = 0;  // behind which the fused collective stands
    TwoLanes::State as_is;
    TwoLanes::State overlapped;
    Bytes in, out;            // of all members
    Nanoseconds light;        // of all members in the overlapped order
    Nanoseconds light_as_is;  // of the raised members in the order as it is
    Slot start = 0;           // in the overlapped order
  };
  Open open(const Candidate& first, const Open* before);  // `before`: the bucket of the same key before it
  // Adds it to the bucket if that makes nothing later, where the fused collective stands behind `position`.
  bool add(Open& bucket, const Candidate& candidate, std::uint32_t position);

  // Of the whole, with the merges so far, where collectives start as early and waits come as late as they can.
  Nanoseconds overlapped_step_time() const { return overlapped_.step_time(); }

 private:
  struct Timed {
    std::size_t number = 0;  // in both models
    Slot raised = 0;         // where it starts in the overlapped order
    Slot sunk = 0;           // where its wait stands there
    Nanoseconds light;       // what the light nodes take that lead to it there
  };
  void add_collectives();
  Nanoseconds light_time(NodeId collective, std::uint32_t position) const;
  TwoLanes::Merge merge_of(const Open& bucket, const Candidate& candidate) const;
  TwoLanes::Merge merge_as_is(const Open& bucket, const Candidate& candidate, std::uint32_t position,
                              Nanoseconds& light) const;
  TwoLanes::Merge merge_overlapped(const Open& bucket, const Candidate& candidate) const;
  const Timed& timed(const Candidate& candidate) const { return timed_.at(candidate.block.collective); }

  const Graph& graph_;
  const Windows& windows_;
  const CostModel& cost_;
  FusedForm form_ = FusedForm::coalesced;
  std::vector<Nanoseconds> times_;
  TwoLanes as_is_;
  TwoLanes overlapped_;
  std::map<NodeId, Timed> timed_;
};

}  // namespace hocket::fuse
