#include "cost/collective_estimate.h"

#include <cmath>
#include <vector>

namespace hocket {

namespace {

// The machine's first ranks, as a group: what a row of the table stands for.
GroupLayout packed(const Machine& machine, std::int64_t size) {
  std::vector<Rank> ranks;
  for (std::int64_t rank = 0; rank < size; ++rank) ranks.push_back(Rank{static_cast<std::int32_t>(rank)});
  return {machine, ranks};
}

// Between two measured group sizes the logarithm of the time is linear in the logarithm of the size, so that it meets both.
double between(const CollectiveTable& table, CollectiveKind kind, std::int64_t below, std::int64_t above,
               std::int64_t size, Bytes moved) {
  const double low = *table.nanoseconds(kind, below, moved);
  const double high = *table.nanoseconds(kind, above, moved);
  const auto ratio = [](std::int64_t a, std::int64_t b) { return std::log(double(a) / double(b)); };
  const double weight = ratio(size, below) / ratio(above, below);
  return low > 0 && high > 0 ? low * std::pow(high / low, weight) : low + weight * (high - low);
}

// Beyond the measured group sizes the nearest row, times what the model says is the difference.
double beyond(const Machine& machine, CollectiveKind kind, std::int64_t nearest, const GroupLayout& layout, Bytes moved,
              Bytes payload) {
  const double measured = *machine.collectives->nanoseconds(kind, nearest, moved);
  const double there = best_algorithm(machine, kind, packed(machine, nearest), payload).time.ns();
  const double here = best_algorithm(machine, kind, layout, payload).time.ns();
  return there > 0 ? measured * here / there : measured;
}

}  // namespace

Nanoseconds estimate_collective(const Machine& machine, CollectiveKind kind, std::span<const Rank> ranks, Bytes moved,
                                Bytes payload) {
  const auto size = static_cast<std::int64_t>(ranks.size());
  if (size < 2) return {};
  if (!machine.collectives) return choose_algorithm(machine, kind, GroupLayout(machine, ranks), payload).time;
  const CollectiveTable& table = *machine.collectives;
  if (const auto measured = table.nanoseconds(kind, size, moved)) return Nanoseconds::from_ns(*measured);
  const auto [below, above] = table.neighbours(kind, size);
  if (below && above) return Nanoseconds::from_ns(between(table, kind, *below, *above, size, moved));
  const GroupLayout layout(machine, ranks);
  if (!below && !above) return choose_algorithm(machine, kind, layout, payload).time;
  return Nanoseconds::from_ns(beyond(machine, kind, below ? *below : *above, layout, moved, payload));
}

}  // namespace hocket
