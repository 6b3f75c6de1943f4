#include "report/step_ties.h"

#include <algorithm>
#include <set>

namespace hocket {

StepTies step_ties(const StepGraph& steps, std::span<const StepIndex> order, const std::vector<bool>& shown) {
  std::vector<std::uint32_t> place(steps.size());
  for (std::uint32_t p = 0; p < order.size(); ++p) place[order[p]] = p;
  StepTies ties{std::vector(steps.size(), no_step), std::vector(steps.size(), no_step)};
  for (const StepIndex step : order) {
    StepIndex& last = ties.needs[step];
    for (const StepIndex before : steps.before(step)) {
      const StepIndex found = shown[before] ? before : ties.needs[before];
      if (found != no_step && (last == no_step || place[found] > place[last])) last = found;
    }
  }
  for (std::size_t p = order.size(); p-- > 0;) {
    StepIndex& first = ties.needed_by[order[p]];
    for (const StepIndex after : steps.after(order[p])) {
      const StepIndex found = shown[after] ? after : ties.needed_by[after];
      if (found != no_step && (first == no_step || place[found] < place[first])) first = found;
    }
  }
  return ties;
}

std::vector<StepIndex> shown_users(const StepGraph& steps, StepIndex step, const std::vector<bool>& shown,
                                   std::span<const std::uint32_t> place, std::size_t most) {
  // A wait of many results may have thousands of users behind views; looking at a few hundred finds the first ones.
  constexpr std::size_t most_visited = 400;
  std::set<StepIndex> seen;
  std::vector<StepIndex> open{step}, users;
  while (!open.empty() && seen.size() < most_visited) {
    const StepIndex at = open.back();
    open.pop_back();
    for (const StepIndex after : steps.after(at)) {
      if (!seen.insert(after).second) continue;
      if (shown[after]) users.push_back(after);
      else open.push_back(after);
    }
  }
  std::sort(users.begin(), users.end(), [&](StepIndex a, StepIndex b) { return place[a] < place[b]; });
  if (users.size() > most) users.resize(most);
  return users;
}

}  // namespace hocket
