// The choices that the search of `overlap` varies, and the recipe that they mean.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "schedule/order_maker.h"

namespace hocket::overlap {

// Numbers that are the same on every machine.
class Dice {
 public:
  std::uint64_t below(std::uint64_t bound) {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return state_ % bound;
  }

 private:
  std::uint64_t state_ = 88172645463325252ULL;
};

enum class Guide : std::uint8_t {
  lean,
  original,
  parent,
  // Of early_order(), where there are any: what can run first goes in front of the peak, or what is needed first, or half as much of that.
  early_ready,
  early_needed,
  early_half,
};
inline constexpr int plain_guides = 3, early_guides = 3;
enum class Priority : std::uint8_t {
  position,       // in the original order
  lean_position,  // in the lean order
  latest,         // latest start, every lane in the original order
  lean_latest,    // the same, in the lean order
  tail,           // latest start by dependencies alone
  backward,       // latest start in a schedule that is made from the end, after the parent's
  target,         // when the parent ran it, or earlier where a shorter step needs it
  pulled,         // when the parent would run it without standing still, or earlier where that needs it
  deferred,       // when the parent ran it, but behind what it stands still for longest where that pays
};
inline constexpr int priorities = 9;

struct Setting {
  Guide guide = Guide::lean;
  Priority priority = Priority::position;
  int share = 0;   // of Priority::target and pulled: by how much the step, or standing still, is to be shorter
  int window = 0;  // how early collectives that take memory may start
  int ahead = 0;   // how early compute that takes memory may run
  int fit =
      0;  // what runs while something urgent is awaited: 0 anything, 1 what fits, more: rather nothing than what does not
  bool comm_by_tail = false;  // collectives by latest start, whatever compute goes by
  // By class.
  std::vector<std::int8_t> size;  // of a bucket, in half powers of two of the mean member; 0: nothing is merged
  // 0: issue at once; 1: hold back half a bucket, 2: a whole one, 3: even the last one, 4 and 5: a whole one, but only a small part of
  // what is left.
  std::vector<std::int8_t> hold;
  std::vector<std::int8_t> ramp;  // 1: the first buckets are smaller, 2: the last ones, 3: both

  friend bool operator==(const Setting&, const Setting&) = default;
};

inline constexpr int largest_size = 20;
inline constexpr int holds = 6;
inline constexpr int ramps = 4;
inline constexpr int windows = 6;
inline constexpr int shares = 7;
inline constexpr int aheads = 4;
inline constexpr int fits = 4;
double window_of(const Setting& setting);
double ahead_of(const Setting& setting);  // a share of all compute; 0: no end
double idle_of(const Setting& setting);   // Recipe::idle
double share_of(const Setting& setting);  // of the step
double pull_of(const Setting& setting);   // of the time that the compute lane stands still

// The classes of collectives that may be merged.
struct ClassSizes {
  std::vector<Size> total;
  std::vector<std::uint32_t> count;
  std::vector<bool> serial;  // its collectives depend on each other one after the other: little to merge
  ClassSizes(const OverlapOptions& options, const UnitGraph& units);
  std::size_t size() const { return total.size(); }
  double mean(std::size_t c) const { return count[c] > 0 ? static_cast<double>(total[c]) / count[c] : 0; }
};

Recipe recipe_of(const Setting& setting, const ClassSizes& classes, Size limit);
// A class that is not merged has nothing else to choose.
void normalise(Setting& setting);
// A neighbour of a setting; `guides` of them there are.
Setting changed(Setting setting, const ClassSizes& classes, int guides, Dice& dice);
// Any setting that needs no order before it.
Setting any_setting(const ClassSizes& classes, int guides, Dice& dice);
// Where a search starts: each urgency with one choice of buckets, and without.
std::vector<Setting> plain_starts(const ClassSizes& classes);
// The same with an early guide, as much and as little as that takes to use it.
std::vector<Setting> early_starts(const ClassSizes& classes);
// Other buckets and windows with the same urgency.
std::vector<Setting> variants_of(Priority priority, const ClassSizes& classes);
// One step from a setting in each direction, one choice at a time.
std::vector<std::function<void(Setting&)>> single_changes(const ClassSizes& classes);

}  // namespace hocket::overlap
