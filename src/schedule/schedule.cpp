#include "hocket/schedule/schedule.h"

#include <algorithm>
#include <bit>

#include "schedule/held_memory.h"

namespace hocket {

Schedule::Schedule(const StepGraph& steps, std::vector<StepIndex> order)
    : steps_(&steps),
      order_(std::move(order)),
      position_(order_.size()),
      leaves_(std::bit_ceil(std::max<std::size_t>(order_.size(), 1))),
      tree_(2 * leaves_, steps.input_bytes()),
      left_(steps.buffers().size()),
      ties_(steps.size()) {
  for (std::size_t p = 0; p < order_.size(); ++p) position_[order_[p]] = static_cast<std::uint32_t>(p);
  held_.assign(order_.size() + 1, steps.input_bytes());
  refresh(0, order_.size());
}

const Timeline& Schedule::line() const {
  if (!line_) line_ = timeline(*steps_, order_);
  return *line_;
}

void Schedule::raise_tree(std::size_t first, std::size_t last) {
  std::size_t low = (leaves_ + first) / 2;
  std::size_t high = (leaves_ + last - 1) / 2;
  for (; low >= 1; low /= 2, high /= 2) {
    for (std::size_t node = low; node <= high; ++node) tree_[node] = std::max(tree_[2 * node], tree_[2 * node + 1]);
  }
}

// Runs the steps of the range again from what is held before it. What is held behind it stays the same: the set of steps done
// there did not change.
void Schedule::refresh(std::size_t first, std::size_t last) {
  if (first == last) return;
  const std::uint64_t walk = ++walks_;
  const auto left = [&](std::uint32_t buffer) -> std::uint32_t& {
    Left& entry = left_[buffer];
    if (entry.walk != walk) {
      const auto users = steps_->touched_by(buffer);
      entry.walk = walk;
      entry.count = static_cast<std::uint32_t>(
          std::count_if(users.begin(), users.end(), [&](StepIndex user) { return position_[user] >= first; }));
    }
    return entry.count;
  };
  Bytes now = held_[first];
  for (std::size_t p = first; p < last; ++p) {
    held_[p] = now;
    set_live(p, run_step(*steps_, order_[p], now, left));
  }
  held_[last] = now;
  raise_tree(first, last);
}

void Schedule::apply(const Move& move) { apply(move, move.count()); }

void Schedule::apply(const Move& move, std::size_t count) {
  if (count == 0) return;
  // Both directions: the steps of the range that were passed keep their order, and so do those of the group.
  std::vector<StepIndex> group{move.group_.front()};
  std::vector<StepIndex> passed;
  for (std::size_t i = 0; i < count; ++i) {
    (move.decisions_[i].joined ? group : passed).push_back(move.decisions_[i].step);
  }
  if (passed.empty()) return;
  const bool earlier = move.direction_ == Direction::earlier;
  const std::size_t first = earlier ? move.start_ - count : move.start_;
  if (earlier) {
    std::reverse(group.begin(), group.end());
    std::reverse(passed.begin(), passed.end());
  }
  const auto& front = earlier ? group : passed;
  const auto& back = earlier ? passed : group;
  std::copy(back.begin(), back.end(),
            std::copy(front.begin(), front.end(), order_.begin() + static_cast<std::ptrdiff_t>(first)));
  for (std::size_t p = first; p <= first + count; ++p) position_[order_[p]] = static_cast<std::uint32_t>(p);
  refresh(first, first + count + 1);
  line_.reset();
}

// ---------------------------------------------------------------- walks

Schedule::Move::Move(Schedule& schedule, StepIndex step, Direction direction)
    : schedule_(schedule),
      direction_(direction),
      walk_(++schedule.walks_),
      start_(schedule.position(step)),
      boundary_(start_),
      held_(schedule.held(start_)),
      group_{step} {
  tie_to(step);
}

// Marks what the group may not pass because of a new member.
void Schedule::Move::tie_to(StepIndex member) {
  const StepGraph& steps = schedule_.steps();
  const auto tied = direction_ == Direction::earlier ? steps.before(member) : steps.after(member);
  for (const StepIndex step : tied) {
    Tie& tie = schedule_.ties_[step];
    if (tie.walk != walk_) tie = {walk_, member};
  }
}

StepIndex Schedule::Move::next() const {
  const auto order = schedule_.order();
  if (direction_ == Direction::earlier ? start_ == decisions_.size() : start_ + decisions_.size() + 1 == order.size()) {
    return no_step;
  }
  const std::size_t at =
      direction_ == Direction::earlier ? start_ - 1 - decisions_.size() : start_ + 1 + decisions_.size();
  return schedule_.steps().kind(order[at]) == StepKind::fixed ? no_step : order[at];
}

StepIndex Schedule::Move::tie() const {
  const Tie& tie = schedule_.ties_[next()];
  return tie.walk == walk_ ? tie.member : no_step;
}

// Touches of the buffer by steps that are not done where the walk stands.
std::uint32_t& Schedule::Move::left(std::uint32_t buffer) {
  Left& entry = schedule_.left_[buffer];
  if (entry.walk != walk_) {
    std::uint32_t count = 0;
    for (const StepIndex user : schedule_.steps().touched_by(buffer)) count += schedule_.position(user) >= boundary_;
    entry = {walk_, count};
  }
  return entry.count;
}

void Schedule::Move::undo(StepIndex step) {
  for (const std::uint32_t buffer : schedule_.steps().touches(step)) ++left(buffer);
}

Bytes Schedule::Move::run(StepIndex step) {
  return run_step(schedule_.steps(), step, held_, [&](std::uint32_t buffer) -> std::uint32_t& { return left(buffer); });
}

Bytes Schedule::Move::run_group() {
  Bytes most;
  if (direction_ == Direction::earlier) {
    for (auto member = group_.rbegin(); member != group_.rend(); ++member) most = std::max(most, run(*member));
  } else {
    for (const StepIndex member : group_) most = std::max(most, run(member));
  }
  return most;
}

void Schedule::Move::unrun_group() {
  for (const StepIndex member : group_) undo(member);
}

Bytes Schedule::Move::pass() {
  const StepIndex neighbour = next();
  Bytes most;
  if (direction_ == Direction::earlier) {
    // group, neighbour: from the place before the neighbour
    undo(neighbour);
    --boundary_;
    const Bytes here = schedule_.held(start_ - 1 - decisions_.size());
    held_ = here;
    most = run_group();
    most = std::max(most, run(neighbour));
    undo(neighbour);
    unrun_group();
    held_ = here;
  } else {
    // neighbour, group: the neighbour is then done
    most = run(neighbour);
    const Bytes here = held_;
    most = std::max(most, run_group());
    unrun_group();
    held_ = here;
  }
  decisions_.push_back({neighbour, false});
  return most;
}

void Schedule::Move::join() {
  const StepIndex neighbour = next();
  if (direction_ == Direction::earlier) {
    undo(neighbour);
    --boundary_;
  }
  decisions_.push_back({neighbour, true});
  group_.push_back(neighbour);
  tie_to(neighbour);
}

}  // namespace hocket
