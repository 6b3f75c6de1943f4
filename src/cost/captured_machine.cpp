#include "hocket/cost/captured_machine.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "cost/calls.h"
#include "hocket/base/log.h"
#include "hocket/cost/cost_model.h"

namespace hocket {

namespace {

constexpr double agrees = 0.02;  // of the time
constexpr std::int64_t far_size = std::int64_t{1} << 30;

struct Said {
  double bytes;  // moved
  double ns;
};

struct Told {
  std::vector<Rank> ranks;
  std::vector<Said> times;
};

using ByRow = std::map<std::pair<CollectiveKind, std::int64_t>, Told>;

ByRow told_by(const Graph& graph) {
  ByRow rows;
  const GraphCalls calls(graph);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Collective* const comm = calls.collective(i);
    if (comm == nullptr || comm->kind == CollectiveKind::p2p || calls.measured(i).picoseconds <= 0) continue;
    const auto ranks = calls.ranks(*comm);
    if (ranks.size() < 2) continue;
    Told& told = rows[{comm->kind, static_cast<std::int64_t>(ranks.size())}];
    if (told.ranks.empty()) told.ranks.assign(ranks.begin(), ranks.end());
    told.times.push_back(
        {static_cast<double>(calls.moved(i, *comm).count), static_cast<double>(calls.measured(i).picoseconds) / 1e3});
  }
  return rows;
}

template <class Model>
double worst_error(const Told& told, const Model& model) {
  double worst = 0;
  for (const Said& said : told.times) worst = std::max(worst, std::abs(model(said.bytes) / said.ns - 1));
  return worst;
}

struct Line {
  double latency = 0;
  double per_byte = 0;
  double operator()(double bytes) const { return latency + per_byte * bytes; }
};

// Least squares of relative errors. Nothing where all sizes are the same, or the line would fall or begin below zero.
std::optional<Line> fitted(const Told& told) {
  double one = 0;
  double x = 0;
  double xx = 0;
  double y = 0;
  double xy = 0;
  for (const Said& said : told.times) {
    const double weight = 1 / (said.ns * said.ns);
    one += weight;
    x += weight * said.bytes;
    xx += weight * said.bytes * said.bytes;
    y += weight * said.ns;
    xy += weight * said.bytes * said.ns;
  }
  const double spread = one * xx - x * x;
  if (spread <= 1e-9 * one * xx) return std::nullopt;
  const Line line{(xx * y - x * xy) / spread, (one * xy - x * y) / spread};
  if (line.latency < 0 || line.per_byte < 0) return std::nullopt;
  return line;
}

template <class Model>
double mean_ratio(const Told& told, const Model& model) {
  double sum = 0;
  for (const Said& said : told.times) sum += said.ns / std::max(model(said.bytes), 1.0);
  return sum / static_cast<double>(told.times.size());
}

CollectiveTable table_of(const Machine& machine) {
  return machine.collectives ? *machine.collectives : *CollectiveTable::make({0, far_size});
}

}  // namespace

Machine as_captured(Machine machine, const Graph& graph) {
  const CostModel cost({.machine = machine});
  std::optional<CollectiveTable> changed;
  for (const auto& [row, told] : told_by(graph)) {
    const auto by_machine = [&cost, kind = row.first, &ranks = told.ranks](double bytes) {
      return cost.collective(kind, ranks, Bytes(static_cast<std::int64_t>(bytes))).ns();
    };
    const double error = worst_error(told, by_machine);
    if (error <= agrees) continue;
    const std::optional<Line> line = fitted(told);
    const bool is_line = line && worst_error(told, *line) < error;
    const double ratio = is_line ? 1 : mean_ratio(told, by_machine);
    if (!changed) changed = table_of(machine);
    CollectiveTable::Row times;
    for (const std::int64_t size : changed->sizes()) {
      const auto bytes = static_cast<double>(size);
      times.push_back(is_line ? (*line)(bytes) : ratio * by_machine(bytes));
    }
    if (const Status added = changed->add(row.first, row.second, std::move(times)); !added) {
      log().warn("the machine's times stay: {}", added.error().message);
    }
  }
  if (changed) machine.collectives = std::move(changed);
  return machine;
}

}  // namespace hocket
