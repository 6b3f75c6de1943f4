// The two-lane model, for small changes: what happens to the time at which work is done when two collectives become one.
//
// One compute lane in program order; one communication lane for each set of ranks in issue order. A collective is issued when the
// compute lane reaches it and starts when its lane is free; a wait blocks the compute lane until its collective is done.
//
// Times between collectives never change here, so the model keeps only events, starts and waits, at slots: 2p is right before the node
// of position p, 2p+1 right behind it.
#pragma once

#include <set>
#include <span>
#include <utility>
#include <vector>

#include "hocket/base/units.h"
#include "hocket/ir/graph.h"

namespace hocket::fuse {

using Slot = std::uint32_t;
constexpr Slot ahead_of(std::uint32_t position) { return 2 * position; }
constexpr Slot behind(std::uint32_t position) { return 2 * position + 1; }

class TwoLanes {
 public:
  // `compute`: what the nodes take on the compute lane, by position; 0 for collectives.
  explicit TwoLanes(std::span<const Nanoseconds> compute);

  // Adds a collective and gives its number; they count from 0. Its light nodes, casts and copies that lead to it, may stand right
  // before its start instead of at `own`, the slot where they stand in the program: `light` is what they take.
  struct Added {
    std::size_t lane = 0;
    Nanoseconds time;
    Slot start = 0;
    Slot wait = 0;
    Slot own = 0;
    Nanoseconds light = {};
  };
  std::size_t add(const Added& collective);

  // How far the lanes are right before a slot.
  struct Clock {
    Slot slot = 0;
    Nanoseconds stalled;               // how much the compute lane has waited so far
    std::vector<Nanoseconds> free_at;  // by lane
  };
  struct State {
    Clock clock;
    std::vector<Nanoseconds> done;  // by collective that has started
  };
  State initial() const;
  void advance(State& state, Slot to) const;

  // A merge: `other` joins `first`, which then starts and takes as given; waits move where they are given.
  struct Merge {
    std::size_t first = 0;
    std::size_t other = 0;
    Slot start = 0;
    Nanoseconds time;
    Nanoseconds before_start;                         // on the compute lane: copies, and the light nodes of all members
    std::vector<std::pair<std::size_t, Slot>> waits;  // collective, its wait's new slot
    std::vector<std::pair<std::size_t, Nanoseconds>>
        light;  // collective, what its light nodes take that move to the start
    std::vector<std::pair<std::size_t, Nanoseconds>> copies_out;  // collective, on the compute lane behind its wait
  };
  // Some events behind both: is the compute lane there no later than without the merge, and has no lane more left to do then?
  // `state` stands before both.
  bool is_no_later(const State& state, const Merge& merge);
  void apply(const Merge& merge);

  Nanoseconds step_time() const;

 private:
  struct Collective {
    Added added;
    std::size_t unit = 0;  // the collective that it was merged into, or itself
    Nanoseconds before_start;
    Nanoseconds copies_out;
  };
  // Events at one slot: waits, then light nodes that are not there, then starts, each by number.
  struct Event {
    enum Kind : std::uint8_t { wait, skip, start };
    Slot slot = 0;
    Kind kind = wait;
    std::size_t collective = 0;
    friend auto operator<=>(const Event&, const Event&) = default;
  };

  // What a run from a state writes over the state's own times, without copying them.
  struct Overlay {
    const std::vector<Nanoseconds>& below;
    std::vector<std::pair<std::uint32_t, Nanoseconds>>& written;  // by collective: the run that wrote it, and what
    std::uint32_t run = 0;
    Nanoseconds operator[](std::size_t collective) const {
      return written[collective].first == run ? written[collective].second : below[collective];
    }
    void set(std::size_t collective, Nanoseconds time) { written[collective] = {run, time}; }
  };
  template <class Done>
  void advance(Clock& clock, Slot to, Done& done) const;
  Clock run_from(const State& state, Slot to);

  Nanoseconds now(const Clock& clock) const { return reached_[clock.slot] + clock.stalled; }
  Slot window_end(Slot from) const;
  bool no_later(const Clock& merged, const Clock& apart) const;
  std::vector<std::size_t> changed_by(const Merge& merge) const;
  void erase_events(std::size_t collective);
  void insert_events(std::size_t collective);

  std::vector<Nanoseconds> reached_;  // by slot: compute before it
  std::vector<Collective> collectives_;
  std::set<Event> events_;
  std::size_t lanes_ = 0;
  std::vector<std::pair<std::uint32_t, Nanoseconds>> written_;
  std::uint32_t runs_ = 0;
};

}  // namespace hocket::fuse
