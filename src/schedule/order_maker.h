// Makes one order of units from the front: what is most urgent of what is ready and fits into memory.
//
// Collectives are issued just in time, when their lane would run dry during the next compute, and as many of one class at once as the
// recipe says. A wait stands where its collective has ended anyway, or where nothing else can run.
#pragma once

#include <limits>
#include <vector>

#include "schedule/guide_memory.h"
#include "schedule/guide_progress.h"
#include "schedule/unit_graph.h"

namespace hocket::overlap {

struct Recipe {
  const std::vector<Time>* priority = nullptr;  // by unit; the smaller, the earlier
  Size limit = 0;
  Time give_up = std::numeric_limits<Time>::max();  // an order that takes longer is not finished
  // By class; empty: nothing is merged.
  std::vector<Size> bucket;  // a bucket takes no more than this, its first member apart
  std::vector<Size> hold;    // fewer bytes than this are held back while there is something to compute
  std::vector<Size> ramp;    // the first bucket's size, doubled for each that follows; 0: no ramp
  std::vector<bool> taper;   // buckets shrink as little is left, so that the last ones end soon
  std::vector<Size> parts;   // no more than one part in so many of what is left is held back
  bool is_patient(std::uint32_t merge_class) const { return parts[merge_class] == 1; }  // holds back to the last member
  // Collectives that take memory are issued no earlier than this many times their own time before they are needed, by GuideProgress; 0: as
  // early as their lane is free.
  double window = 0;
  // Compute that takes memory runs no earlier than this share of all compute ahead, by GuideProgress; 0: whenever there is time.
  double ahead = 0;
  // What runs while the compute lane waits for something more urgent fits into that time if anything that is ready does.
  bool fit = false;
  // Longer than this many times that time it does not run at all there: it may cover more elsewhere. 0: whatever there is runs.
  double idle = 0;
  // A collective is not issued where its lane would still be busy with it when a more urgent one is likely to be ready.
  bool clear = false;
};

struct MadeOrder {
  bool finished = true;
  Time time = 0;
  Size peak = 0;
  std::vector<UnitIndex> order;
  std::vector<std::vector<UnitIndex>> buckets;  // of two members or more
  std::vector<Time> begin;                      // by unit: when the compute lane reached it
  std::vector<Time> end;                        // by unit, of collectives
};

class OrderMaker {
 public:
  explicit OrderMaker(const UnitGraph& units);
  MadeOrder make(const std::vector<UnitIndex>& guide, const Recipe& recipe);
  std::uint64_t work() const { return memory_.work(); }

 private:
  struct Entry {
    Time key;
    UnitIndex unit;
    friend bool operator>(const Entry& a, const Entry& b) { return a.key != b.key ? a.key > b.key : a.unit > b.unit; }
  };
  struct Queue {
    std::vector<Entry> heap;
    std::uint32_t lane = 0;
    std::uint32_t merge_class = no_class;
    Size pending = 0;    // bytes that could be issued now
    Size remaining = 0;  // bytes that are not issued yet
    std::uint32_t issued = 0;
    bool refused = false;   // did not fit into memory just now
    std::size_t retry = 0;  // not tried again before so many units have run
  };

  void start(const std::vector<UnitIndex>& guide, const Recipe& recipe);
  Queue& queue_of(const Unit& unit);
  void list_to_come();
  void make_ready(UnitIndex u);
  void finish(UnitIndex u);  // it has run: what it leads to may be ready now
  void run_arrived();
  void release_parked();
  bool issue_all(Time until);     // keeps lanes busy until then; has anything been issued?
  bool issue_from(Queue& queue);  // if memory allows
  bool issue_best(std::uint32_t lane);
  Entry take_first(std::vector<Entry>& heap) const;
  void drop_done(std::vector<Entry>& heap) const;
  void compute(UnitIndex u);  // it fits
  bool compute_one();
  Time time_to_urgent(Time than) const;
  enum class Filled : std::uint8_t { nothing, ran, idled };
  Filled fill();  // the time until something more urgent than all that is ready arrives
  void force();
  bool held_back(const Queue& queue) const;
  bool waits_for_more(const Queue& queue) const;
  bool too_early(const Queue& queue) const;
  bool before(const Queue& a, const Queue& b) const;
  bool in_the_way(const Queue& queue);
  Time next_time(const Queue& queue) const;
  Size cap_of(const Queue& queue) const;

  const UnitGraph& units_;
  GuideMemory memory_;
  const Recipe* recipe_ = nullptr;
  MadeOrder made_;
  Time now_ = 0;
  Time left_ = 0;  // compute that has not run
  std::vector<std::uint32_t> missing_;
  std::vector<Entry> compute_, waits_;  // heaps; the front has not run
  std::vector<Entry> parked_;           // a heap of compute that is ready and takes memory too early
  std::vector<Queue> queues_;
  std::vector<std::vector<std::uint32_t>> queues_of_;  // by lane
  std::vector<Time> lane_free_;
  std::vector<Time> end_;  // by unit, of collectives
  // By lane: its collectives, the most urgent last; those that were issued until they are the last. Empty unless it is kept clear.
  std::vector<std::vector<Entry>> to_come_;
  GuideProgress progress_;
  bool far_sighted_ = false;       // the recipe asks for progress_
  Time ahead_ = 0;                 // how far ahead of it compute that takes memory may run
  std::vector<Time> bucket_time_;  // by class: of a full bucket
};

}  // namespace hocket::overlap
