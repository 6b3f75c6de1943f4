// An order of steps, with everything that a move changes kept exact: positions, memory held at every step, peak.
//
//   Schedule schedule(steps, steps.original_order());
//   Schedule::Move move(schedule, collective, Direction::earlier);
//   while (move.next() != no_step && move.tie() == no_step && move.pass() <= limit) {}
//   schedule.apply(move);
//
// A move is a walk: a group of steps goes past its neighbours one by one. Nothing changes until the walk is applied, and any
// part of a walk can be. The memory that a step sees depends only on the set of steps before it; so passing a neighbour changes
// what the group and that neighbour see, and nobody else. That is why a pass costs no more than the touches of the group.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hocket/schedule/step_graph.h"
#include "hocket/schedule/timeline.h"

namespace hocket {

enum class Direction : std::uint8_t { earlier, later };

class Schedule {
 public:
  // The order must keep all dependencies. `steps` must outlive this.
  Schedule(const StepGraph& steps, std::vector<StepIndex> order);

  const StepGraph& steps() const { return *steps_; }
  std::span<const StepIndex> order() const { return order_; }
  std::size_t position(StepIndex step) const { return position_[step]; }

  Bytes peak() const { return tree_[1]; }
  Bytes live(std::size_t position) const { return tree_[leaves_ + position]; }  // while the step there runs
  Bytes held(std::size_t position) const { return held_[position]; }            // before the step there begins
  // By the two-lane model; worked out again after a move, when somebody asks.
  const Timeline& line() const;
  Nanoseconds step_time() const { return line().step_time; }
  Nanoseconds exposed(StepIndex collective) const { return line().stood[collective]; }

  class Move;
  // Carries out the first `count` passes and joins of a walk.
  void apply(const Move& move, std::size_t count);
  void apply(const Move& move);

 private:
  void refresh(std::size_t first, std::size_t last);  // memory at the positions from first up to but without last
  void set_live(std::size_t position, Bytes bytes) { tree_[leaves_ + position] = bytes; }
  void raise_tree(std::size_t first, std::size_t last);

  // Touches of a buffer that are still to come at the place where a walk stands; counted when first asked for.
  struct Left {
    std::uint64_t walk = 0;
    std::uint32_t count = 0;
  };
  struct Tie {
    std::uint64_t walk = 0;
    StepIndex member = no_step;
  };

  const StepGraph* steps_;
  std::vector<StepIndex> order_;
  std::vector<std::uint32_t> position_;
  std::vector<Bytes> held_;
  std::size_t leaves_ = 1;
  std::vector<Bytes> tree_;  // a heap of maxima over positions
  mutable std::optional<Timeline> line_;
  // Scratch of walks: an entry counts only if it carries the number of the walk.
  std::uint64_t walks_ = 0;
  std::vector<Left> left_;  // by buffer
  std::vector<Tie> ties_;   // by step: which member of the group it is tied to
};

class Schedule::Move {
 public:
  // One walk at a time: starting another ends this one.
  Move(Schedule& schedule, StepIndex step, Direction direction);

  // The neighbour ahead; no_step at the end of what can be moved.
  StepIndex next() const;
  // The member of the group that the neighbour is tied to by a dependency; no_step if the group may pass.
  StepIndex tie() const;
  // Goes past the neighbour. The answer: the most memory that the group and this neighbour see at their new places.
  Bytes pass();
  // Takes the neighbour into the group.
  void join();

  std::size_t count() const { return decisions_.size(); }  // passes and joins so far
  std::size_t passes() const { return decisions_.size() + 1 - group_.size(); }
  std::span<const StepIndex> group() const { return group_; }  // the step itself first, then in the order of joining
  Direction direction() const { return direction_; }

 private:
  friend class Schedule;
  struct Decision {
    StepIndex step;
    bool joined;
  };

  std::uint32_t& left(std::uint32_t buffer);
  void undo(StepIndex step);
  Bytes run(StepIndex step);  // from held_; answers what is live while it runs
  Bytes run_group();
  void unrun_group();
  void tie_to(StepIndex member);

  Schedule& schedule_;
  Direction direction_;
  std::uint64_t walk_;
  std::size_t start_;     // position of the first step
  std::size_t boundary_;  // the steps before this position are done at the place where the walk stands
  Bytes held_;            // at that place
  std::vector<StepIndex> group_;
  std::vector<Decision> decisions_;
};

}  // namespace hocket
