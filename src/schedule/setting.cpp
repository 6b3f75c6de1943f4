#include "schedule/setting.h"

#include <algorithm>
#include <array>

namespace hocket::overlap {

namespace {

// 2^(n/2), the same to the bit everywhere.
double half_power(int n) {
  const double whole = static_cast<double>(std::int64_t{1} << (n / 2));
  return n % 2 == 0 ? whole : whole * 1.4142135623730951;
}

}  // namespace

double window_of(const Setting& setting) {
  constexpr std::array<double, windows> times = {0, 1, 1.5, 2, 3, 5};
  return times[static_cast<std::size_t>(setting.window)];
}

double share_of(const Setting& setting) {
  constexpr std::array<double, shares> parts = {0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16};
  return parts[static_cast<std::size_t>(setting.share)];
}

namespace {

// The longest chain of members of a class that depend on each other.
std::uint32_t longest_chain(const UnitGraph& units, std::uint32_t merge_class) {
  std::vector<std::uint32_t> chain(units.size(), 0);
  std::uint32_t longest = 0;
  for (const UnitIndex u : units.topological()) {
    for (const UnitIndex earlier : units.before(u)) chain[u] = std::max(chain[u], chain[earlier]);
    if (units.unit(u).kind == StepKind::collective && units.unit(u).merge_class == merge_class) ++chain[u];
    longest = std::max(longest, chain[u]);
  }
  return longest;
}

}  // namespace

ClassSizes::ClassSizes(const OverlapOptions& options, const UnitGraph& units)
    : total(options.classes.size(), 0), count(options.classes.size(), 0) {
  for (const MergeCandidate& candidate : options.candidates) {
    total[candidate.merge_class] += candidate.moved.count;
    ++count[candidate.merge_class];
  }
  for (std::uint32_t c = 0; c < count.size(); ++c) serial.push_back(longest_chain(units, c) * 4 > count[c]);
}

Recipe recipe_of(const Setting& setting, const ClassSizes& classes, Size limit) {
  Recipe recipe;
  recipe.limit = limit;
  recipe.window = window_of(setting);
  if (std::all_of(setting.size.begin(), setting.size.end(), [](std::int8_t size) { return size == 0; })) return recipe;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const double mean = classes.mean(c);
    const double wanted = setting.size[c] == 0 ? 0 : mean * half_power(setting.size[c]);
    const auto size = static_cast<Size>(std::min(wanted, static_cast<double>(classes.total[c])));
    recipe.bucket.push_back(size);
    recipe.hold.push_back(setting.hold[c] == 0 ? 0 : setting.hold[c] == 1 ? size / 2 : size);
    recipe.ramp.push_back(setting.ramp[c] ? static_cast<Size>(mean) : 0);
  }
  return recipe;
}

namespace {

void change_class(Setting& setting, std::size_t c, Dice& dice) {
  switch (dice.below(4)) {
    case 0: setting.hold[c] = static_cast<std::int8_t>(dice.below(3)); break;
    case 1: setting.ramp[c] = !setting.ramp[c]; break;
    default: {
      const int size = setting.size[c] + static_cast<int>(dice.below(7)) - 3;
      setting.size[c] = static_cast<std::int8_t>(std::clamp(size, 0, largest_size));
    }
  }
}

}  // namespace

Setting changed(Setting setting, const ClassSizes& classes, Dice& dice) {
  const std::uint64_t changes = 1 + dice.below(3);
  for (std::uint64_t i = 0; i < changes; ++i) {
    const std::uint64_t what = dice.below(classes.size() > 0 ? 8 : 4);
    if (what == 0) {
      setting.priority = static_cast<Priority>(dice.below(priorities));
      setting.share = static_cast<int>(dice.below(shares));
    } else if (what == 1) {
      setting.guide = static_cast<Guide>(dice.below(3));
    } else if (what == 2) {
      setting.window = static_cast<int>(dice.below(windows));
    } else if (what == 3) {
      setting.comm_by_tail = !setting.comm_by_tail;
    } else {
      change_class(setting, dice.below(classes.size()), dice);
    }
  }
  return setting;
}

std::vector<Setting> starts(const ClassSizes& classes) {
  std::vector<Setting> list;
  const auto add = [&](int size, int hold, Priority priority, int window) {
    Setting setting;
    setting.priority = priority;
    setting.window = window;
    for (std::size_t c = 0; c < classes.size(); ++c)
      setting.size.push_back(classes.serial[c] ? std::int8_t{0} : static_cast<std::int8_t>(size));
    setting.hold.assign(classes.size(), static_cast<std::int8_t>(hold));
    setting.ramp.assign(classes.size(), false);
    list.push_back(std::move(setting));
  };
  const std::vector<int> sizes = classes.size() > 0 ? std::vector<int>{7, 5, 9, 0, 3, 14} : std::vector<int>{0};
  for (const Priority priority : {Priority::position, Priority::tail, Priority::lean_latest}) {
    for (const int size : sizes) {
      add(size, 0, priority, 0);
      if (size > 0) add(size, 2, priority, 0);
      add(size, 0, priority, 2);
    }
  }
  return list;
}

}  // namespace hocket::overlap
