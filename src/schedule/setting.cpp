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

double ahead_of(const Setting& setting) {
  constexpr std::array<double, aheads> parts = {0, 1.0 / 16, 1.0 / 64, 1.0 / 256};
  return parts[static_cast<std::size_t>(setting.ahead)];
}

double idle_of(const Setting& setting) {
  constexpr std::array<double, fits> times = {0, 0, 4, 1.5};
  return times[static_cast<std::size_t>(setting.fit)];
}

double share_of(const Setting& setting) {
  constexpr std::array<double, shares> parts = {0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16};
  return parts[static_cast<std::size_t>(setting.share)];
}

double pull_of(const Setting& setting) {
  constexpr std::array<double, shares> parts = {0.12, 0.25, 0.35, 0.5, 0.75, 1, 1.5};
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

namespace {
constexpr int ramp_up = 1;
constexpr int ramp_down = 2;
constexpr std::array<Size, holds> parts_of_rest = {2, 2, 2, 1, 4, 8};  // Recipe::parts
}  // namespace

Recipe recipe_of(const Setting& setting, const ClassSizes& classes, Size limit) {
  Recipe recipe;
  recipe.limit = limit;
  recipe.window = window_of(setting);
  recipe.ahead = ahead_of(setting);
  recipe.fit = setting.fit > 0;
  recipe.idle = idle_of(setting);
  if (std::all_of(setting.size.begin(), setting.size.end(), [](std::int8_t size) { return size == 0; })) return recipe;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const double mean = classes.mean(c);
    const double wanted = setting.size[c] == 0 ? 0 : mean * half_power(setting.size[c]);
    const auto size = static_cast<Size>(std::min(wanted, static_cast<double>(classes.total[c])));
    recipe.bucket.push_back(size);
    recipe.hold.push_back(setting.hold[c] == 0 ? 0 : setting.hold[c] == 1 ? size / 2 : size);
    recipe.parts.push_back(parts_of_rest[static_cast<std::size_t>(setting.hold[c])]);
    recipe.ramp.push_back((setting.ramp[c] & ramp_up) != 0 ? static_cast<Size>(mean) : 0);
    recipe.taper.push_back((setting.ramp[c] & ramp_down) != 0);
  }
  return recipe;
}

namespace {

void change_class(Setting& setting, std::size_t c, Dice& dice) {
  switch (dice.below(4)) {
    case 0: setting.hold[c] = static_cast<std::int8_t>(dice.below(holds)); break;
    case 1: setting.ramp[c] = static_cast<std::int8_t>(dice.below(ramps)); break;
    default: {
      const int size = setting.size[c] + static_cast<int>(dice.below(7)) - 3;
      setting.size[c] = static_cast<std::int8_t>(std::clamp(size, 0, largest_size));
    }
  }
}

}  // namespace

Setting changed(Setting setting, const ClassSizes& classes, int guides, Dice& dice) {
  const std::uint64_t changes = 1 + dice.below(3);
  for (std::uint64_t i = 0; i < changes; ++i) {
    const std::uint64_t what = dice.below(classes.size() > 0 ? 10 : 6);
    if (what == 0) {
      setting.priority = static_cast<Priority>(dice.below(priorities));
      setting.share = static_cast<int>(dice.below(shares));
    } else if (what == 1) {
      setting.guide = static_cast<Guide>(dice.below(static_cast<std::uint64_t>(guides)));
    } else if (what == 2) {
      setting.window = static_cast<int>(dice.below(windows));
    } else if (what == 3) {
      setting.comm_by_tail = !setting.comm_by_tail;
    } else if (what == 4) {
      setting.ahead = static_cast<int>(dice.below(aheads));
    } else if (what == 5) {
      setting.fit = static_cast<int>(dice.below(fits));
    } else {
      change_class(setting, dice.below(classes.size()), dice);
    }
  }
  return setting;
}

void normalise(Setting& setting) {
  for (std::size_t c = 0; c < setting.size.size(); ++c) {
    if (setting.size[c] == 0) setting.hold[c] = setting.ramp[c] = 0;
  }
}

namespace {

constexpr int first_size = 7;

// The same for all classes; those whose collectives depend on each other are not merged at first.
Setting uniform(const ClassSizes& classes, Priority priority, int size, int hold, int window) {
  Setting setting;
  setting.priority = priority;
  setting.window = window;
  for (std::size_t c = 0; c < classes.size(); ++c)
    setting.size.push_back(classes.serial[c] ? std::int8_t{0} : static_cast<std::int8_t>(size));
  setting.hold.assign(classes.size(), static_cast<std::int8_t>(hold));
  setting.ramp.assign(classes.size(), 0);
  normalise(setting);
  return setting;
}

void add_once(std::vector<Setting>& list, Setting setting) {
  if (std::find(list.begin(), list.end(), setting) == list.end()) list.push_back(std::move(setting));
}

}  // namespace

Setting any_setting(const ClassSizes& classes, int guides, Dice& dice) {
  constexpr std::array<Priority, 5> plain = {Priority::position, Priority::lean_position, Priority::latest,
                                             Priority::lean_latest, Priority::tail};
  const auto seldom = [&](int choices) { return dice.below(2) == 0 ? 0 : static_cast<int>(dice.below(choices)); };
  Setting setting;
  setting.priority = plain[dice.below(plain.size())];
  // None that needs an order before it.
  const std::uint64_t guide = dice.below(static_cast<std::uint64_t>(guides) - 1);
  setting.guide = static_cast<Guide>(guide < 2 ? guide : guide + 1);
  setting.window = seldom(windows);
  setting.ahead = seldom(aheads);
  setting.fit = static_cast<int>(dice.below(fits));
  setting.comm_by_tail = dice.below(4) == 0;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    setting.size.push_back(classes.serial[c] ? std::int8_t{0} : static_cast<std::int8_t>(2 + dice.below(13)));
    setting.hold.push_back(static_cast<std::int8_t>(dice.below(holds)));
    setting.ramp.push_back(static_cast<std::int8_t>(seldom(ramps)));
  }
  normalise(setting);
  return setting;
}

std::vector<Setting> plain_starts(const ClassSizes& classes) {
  std::vector<Setting> list;
  for (const Priority priority : {Priority::position, Priority::tail, Priority::lean_latest}) {
    for (const int size : {first_size, 0}) add_once(list, uniform(classes, priority, size, 0, 0));
  }
  return list;
}

std::vector<Setting> early_starts(const ClassSizes& classes) {
  constexpr int wide_window = 4, idle_fit = 3;
  std::vector<Setting> list;
  for (const Guide guide : {Guide::early_needed, Guide::early_ready, Guide::early_half}) {
    for (const int window : {wide_window, 0}) {
      for (const int fit : {0, idle_fit}) {
        Setting setting = uniform(classes, Priority::tail, first_size, 0, window);
        setting.guide = guide;
        setting.fit = fit;
        list.push_back(std::move(setting));
      }
    }
    // Where there is much memory but at the peak: few large buckets, and gathers as late as that allows.
    for (const int size : {11, 13, 15}) {
      Setting setting = uniform(classes, Priority::tail, size, 0, windows - 1);
      setting.guide = guide;
      setting.ahead = aheads - 1;
      setting.ramp.assign(classes.size(), ramp_up);
      normalise(setting);
      list.push_back(std::move(setting));
    }
  }
  return list;
}

std::vector<Setting> variants_of(Priority priority, const ClassSizes& classes) {
  std::vector<Setting> list;
  for (const int size : {first_size, 5, 9, 0, 3, 14}) {
    if (size != first_size && size != 0) add_once(list, uniform(classes, priority, size, 0, 0));
    if (size > 0) add_once(list, uniform(classes, priority, size, 2, 0));
    add_once(list, uniform(classes, priority, size, 0, 2));
  }
  return list;
}

std::vector<std::function<void(Setting&)>> single_changes(const ClassSizes& classes) {
  std::vector<std::function<void(Setting&)>> list;
  for (const int fit : {1, 2, 3}) list.emplace_back([fit](Setting& setting) { setting.fit = fit; });
  for (const int ahead : {3, 1}) list.emplace_back([ahead](Setting& setting) { setting.ahead = ahead; });
  for (const int window : {0, 2, 4}) list.emplace_back([window](Setting& setting) { setting.window = window; });
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (classes.serial[c]) continue;
    for (const int step : {2, -2, 4}) {
      list.emplace_back([c, step](Setting& setting) {
        if (setting.size[c] > 0)
          setting.size[c] = static_cast<std::int8_t>(std::clamp(setting.size[c] + step, 0, largest_size));
      });
    }
    for (const int hold : {0, 2, 3})
      list.emplace_back([c, hold](Setting& setting) { setting.hold[c] = static_cast<std::int8_t>(hold); });
    list.emplace_back([c](Setting& setting) { setting.ramp[c] = ramp_down; });
  }
  return list;
}

}  // namespace hocket::overlap
