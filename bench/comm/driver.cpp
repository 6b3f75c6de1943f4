#include "driver.h"

#include <fstream>

#include "hocket/base/units.h"

namespace hocket::comm_bench {

namespace {

// Of what is free, so that the page cache and the contestants' own buffers have room.
constexpr double usable_share_of_memory = 0.7;

std::int64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  std::int64_t kib = 0;
  while (file >> word) {
    if (word == "MemAvailable:" && file >> kib) return kib << 10;
  }
  return std::int64_t{1} << 62;  // not known: let it be tried
}

bool has_floor(const Point& point, const Setting& setting, const Targets& targets) {
  if (setting.ranks != 2 || setting.affinity != "each") return false;
  return point.fill || is_large_sum(point, targets);
}

}  // namespace

std::vector<Point> points_of(const Setting& setting, const Plan& plan) {
  std::vector<Point> points;
  for (const Operator op : plan.operators) {
    if (op == Operator::barrier) {
      points.push_back({setting.name, setting.ranks, op, 0, false, {}});
      continue;
    }
    for (const std::int64_t bytes : plan.sizes) {
      points.push_back({setting.name, setting.ranks, op, bytes, false, {}});
      if (bytes >= plan.targets.filled_from) points.push_back({setting.name, setting.ranks, op, bytes, true, {}});
    }
  }
  return points;
}

std::shared_ptr<Contestant> Driver::start_one(const Recipe& recipe, const Setting& setting,
                                              const ContestantsFolder& folder) {
  auto started = Contestant::start(recipe, setting, folder.folder_of(recipe.name));
  if (!started) {
    note_(fmt::format("{} ({}) is left out: {}", recipe.title, setting.name, started.error().to_string()));
    return nullptr;
  }
  return std::move(*started);
}

Result<std::vector<Entrant>> Driver::start_all(const Setting& setting, const ContestantsFolder& folder) {
  std::vector<Entrant> entrants;
  for (const Recipe& recipe : plan_.contestants) {
    const std::shared_ptr<Contestant> contestant = start_one(recipe, setting, folder);
    if (interrupted()) return fail(ErrorKind::usage, "interrupted");
    if (!contestant) continue;
    const bool ours = recipe.name == "hocket";
    entrants.push_back({recipe.title, ours ? Side::hocket : Side::other, BufferKind::private_memory, contestant});
    if (ours)
      entrants.push_back({"hocket symmetric", Side::hocket_symmetric, BufferKind::symmetric_memory, contestant});
  }
  if (entrants.empty()) return fail(ErrorKind::usage, "no contestant could be started (see above)");
  return entrants;
}

bool Driver::fits_in_memory(const Point& point, std::size_t contestants) {
  const Extent extent = extent_of(point.op, point.bytes, point.ranks);
  const auto elements = static_cast<double>(extent.input + extent.output);
  const double needed = elements * sizeof(float) * point.ranks * static_cast<double>(contestants);
  const auto there = static_cast<double>(available_memory());
  if (needed <= usable_share_of_memory * there) return true;
  note_(fmt::format("{} is left out: its buffers take {}, and {} are free", point.to_string(),
                    to_string(Bytes(static_cast<std::int64_t>(needed))),
                    to_string(Bytes(static_cast<std::int64_t>(there)))));
  return false;
}

void Driver::note_failures(const Point& point, const std::vector<Entrant>& entrants) {
  if (interrupted()) return;  // that is why, and it is said once
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    if (point.series[i].absent.empty()) continue;
    note_(fmt::format("{} is left out {} {}: {}", entrants[i].title, entrants[i].contestant->alive() ? "at" : "from",
                      point.to_string(), point.series[i].absent));
  }
}

Result<std::vector<Point>> Driver::run(const Setting& setting) {
  HOCKET_TRY(const ContestantsFolder folder, ContestantsFolder::make());
  HOCKET_TRY(std::vector<Entrant> entrants, start_all(setting, folder));
  std::vector<Point> measured;
  std::shared_ptr<Contestant> floor;  // started when it is needed first: its buffers take memory that others may need
  for (const Point& point : points_of(setting, plan_)) {
    std::vector<Entrant> here = entrants;
    if (has_floor(point, setting, plan_.targets)) {
      if (!floor) floor = start_one(plan_.floor, setting, folder);
      if (floor) here.push_back({plan_.floor.title, Side::floor, BufferKind::symmetric_memory, floor});
    }
    if (fits_in_memory(point, here.size())) {
      measured.push_back(measure_point(point, here, plan_.effort));
      note_failures(measured.back(), here);
    }
    if (interrupted()) return fail(ErrorKind::usage, "interrupted");
    std::erase_if(entrants, [](const Entrant& entrant) { return !entrant.contestant->alive(); });
    if (entrants.empty()) return fail(ErrorKind::peer, "no contestant is left");
    advance_();
  }
  return measured;
}

}  // namespace hocket::comm_bench
