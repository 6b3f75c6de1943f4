#include <nlohmann/json.hpp>

#include "table.h"

namespace hocket::comm_bench {

namespace {

using Json = nlohmann::ordered_json;

Json series_json(const Series& series) {
  if (!series.present()) return {{"contestant", series.title}, {"absent", series.absent}};
  return {{"contestant", series.title},
          {"minimum_us", series.lowest()},
          {"median_us", series.median()},
          {"rounds_us", series.rounds},
          {"core_round_trips_ns", series.round_trips_ns}};
}

Json point_json(const Point& point) {
  Json contestants = Json::array();
  for (const Series& series : point.series) contestants.push_back(series_json(series));
  Json json = {{"setting", point.setting},  {"ranks", point.ranks}, {"operator", name_of(point.op)},
               {"bytes", point.bytes},      {"fill", point.fill},   {"fair_rounds", point.fair_rounds()},
               {"contestants", contestants}};
  const auto add_ratio = [&](const char* name, Side side) {
    if (const auto ratio = best_other_over(point, side))
      json[name] = {{"best_other", ratio->other}, {"by_round", ratio->by_round}, {"of_minima", ratio->of_minima}};
  };
  add_ratio("ratio", Side::hocket);
  add_ratio("ratio_symmetric", Side::hocket_symmetric);
  if (const auto floor = against_floor(point)) {
    json["times_the_floor"] = floor->ours;
    json["floor_over_best_other"] = floor->others;
  }
  return json;
}

}  // namespace

std::string as_json(const std::vector<Point>& points, const std::vector<std::string>& notes,
                    const std::vector<std::string>& missed) {
  Json list = Json::array();
  for (const Point& point : points) list.push_back(point_json(point));
  return Json{{"bench", "comm"}, {"notes", notes}, {"points", list}, {"missed", missed}}.dump(1) + "\n";
}

}  // namespace hocket::comm_bench
