#include "hocket/cost/machine.h"

#include <cmath>

namespace hocket {

namespace {

Error at_place(std::string place, std::string message) {
  return {ErrorKind::input, std::move(message), std::move(place)};
}

bool is_rate(double rate) { return rate > 0 && std::isfinite(rate); }
std::string no_rate(double rate) { return fmt::format("got {}, expected more than 0", rate); }

// Levels nest: each holds a whole number of blocks of the one inside it, and only the outermost may be without an end.
Status check_level(const Machine& machine, std::size_t index) {
  const TopologyLevel& level = machine.levels[index];
  const std::string place = fmt::format("levels[{}]", index);
  const bool outermost = index + 1 == machine.levels.size();
  if (!is_rate(level.bandwidth)) return fail(at_place(place + ".bandwidth", no_rate(level.bandwidth)));
  if (level.latency < Nanoseconds()) return fail(at_place(place + ".latency", "is negative, expected a time"));
  if (level.ranks == 0) {
    if (outermost) return {};
    return fail(at_place(place + ".ranks", "is absent, expected a number: only the outermost level may leave it out"));
  }
  if (level.ranks < 2) return fail(at_place(place + ".ranks", fmt::format("got {}, expected 2 or more", level.ranks)));
  if (index == 0) return {};
  const std::int64_t inner = machine.levels[index - 1].ranks;
  if (level.ranks <= inner || level.ranks % inner != 0)
    return fail(at_place(place + ".ranks",
                         fmt::format("got {}, expected a multiple of {}, the ranks of the level inside it ({})",
                                     level.ranks, inner, machine.levels[index - 1].name)));
  return {};
}

// A host is a whole number of blocks of the levels in it, and the levels around it are whole numbers of hosts.
Status check_hosts(const Machine& machine) {
  if (machine.ranks_per_host < 1)
    return fail(at_place("ranks_per_host", fmt::format("got {}, expected 1 or more", machine.ranks_per_host)));
  for (const TopologyLevel& level : machine.levels) {
    if (level.ranks == 0) continue;
    if (level.ranks % machine.ranks_per_host == 0 || machine.ranks_per_host % level.ranks == 0) continue;
    return fail(
        at_place("ranks_per_host", fmt::format("got {}, expected a divisor or a multiple of {}, the ranks of level {}",
                                               machine.ranks_per_host, level.ranks, level.name)));
  }
  return {};
}

// The dtypes that are asked in turn for one that the machine does not list: each as wide as the one before it, or wider.
std::vector<Dtype> stand_ins(Dtype dtype) {
  switch (dtype) {
    case Dtype::f8e4m3: return {Dtype::f8e5m2, Dtype::bf16, Dtype::f16, Dtype::f32, Dtype::f64};
    case Dtype::f8e5m2: return {Dtype::f8e4m3, Dtype::bf16, Dtype::f16, Dtype::f32, Dtype::f64};
    case Dtype::f16: return {Dtype::bf16, Dtype::f32, Dtype::f64};
    case Dtype::bf16: return {Dtype::f16, Dtype::f32, Dtype::f64};
    case Dtype::f64:
    case Dtype::c128: return {Dtype::f64, Dtype::f32};
    default: return {Dtype::f32, Dtype::f64};
  }
}

}  // namespace

Status check(const Machine& machine) {
  if (machine.name.empty()) return fail(at_place("name", "is empty, expected a name"));
  if (machine.flops.empty()) return fail(at_place("flops", "is empty, expected FLOP/s for at least one dtype"));
  for (const auto& [dtype, rate] : machine.flops) {
    if (!is_rate(rate)) return fail(at_place(fmt::format("flops.{}", short_name(dtype)), no_rate(rate)));
  }
  if (!is_rate(machine.memory_bandwidth)) return fail(at_place("memory_bandwidth", no_rate(machine.memory_bandwidth)));
  if (machine.launch_overhead < Nanoseconds()) return fail(at_place("launch_overhead", "is negative, expected a time"));
  if (machine.levels.empty()) return fail(at_place("levels", "is empty, expected at least one level"));
  for (std::size_t i = 0; i < machine.levels.size(); ++i) HOCKET_CHECK(check_level(machine, i));
  for (std::size_t i = 0; i < machine.thresholds.size(); ++i) {
    const AlgorithmThreshold& row = machine.thresholds[i];
    if (row.two_shot < row.one_shot)
      return fail(at_place(fmt::format("thresholds[{}].two_shot", i),
                           fmt::format("got {}, expected {} or more, as one_shot holds up to there",
                                       to_string(row.two_shot), to_string(row.one_shot))));
  }
  return check_hosts(machine);
}

ComputeRate compute_rate(const Machine& machine, Dtype dtype) {
  if (const auto found = machine.flops.find(dtype); found != machine.flops.end()) return {found->second, dtype};
  for (const Dtype other : stand_ins(dtype)) {
    if (const auto found = machine.flops.find(other); found != machine.flops.end()) return {found->second, other};
  }
  if (machine.flops.empty()) return {};
  return {machine.flops.begin()->second, machine.flops.begin()->first};
}

}  // namespace hocket
