#include "table.h"

#include <algorithm>

#include "hocket/base/units.h"

namespace hocket::comm_bench {

namespace {

constexpr int size_width = 11;
constexpr int time_width = 22;
constexpr int ratio_width = 8;

std::string microseconds(double time) {
  if (time < 10) return fmt::format("{:.2f}", time);
  if (time < 1000) return fmt::format("{:.1f}", time);
  return fmt::format("{:.0f}", time);
}

std::string cell(const Series& series) {
  if (!series.present()) return "–";
  return fmt::format("{} ({})", microseconds(series.lowest()), microseconds(series.median()));
}

std::string ratio_cell(const Point& point, Side side, double asked, const Targets& targets) {
  const auto ratio = best_other_over(point, side);
  if (!ratio) return "–  ";
  const bool usual = !point.fill && ratio->by_round < targets.mostly;
  const char* mark = ratio->by_round < asked ? " ✗" : usual ? " ·" : "  ";
  return fmt::format("{:.2f}{}", ratio->by_round, mark);
}

// Titles of the columns, in the order of the entrants, whoever has taken part at any of the points.
std::vector<std::string> columns(const std::vector<const Point*>& points) {
  std::vector<std::string> titles;
  for (const Point* point : points) {
    for (const Series& series : point->series) {
      if (std::find(titles.begin(), titles.end(), series.title) == titles.end()) titles.push_back(series.title);
    }
  }
  return titles;
}

std::string row(const Point& point, const std::vector<std::string>& titles, const Targets& targets) {
  const std::string size = point.op == Operator::barrier ? "–" : to_string(Bytes(point.bytes));
  std::string line = fmt::format("{:>{}}", size, size_width);
  for (const std::string& title : titles) {
    const auto found = std::find_if(point.series.begin(), point.series.end(),
                                    [&](const Series& series) { return series.title == title; });
    line += fmt::format("{:>{}}", found == point.series.end() ? "" : cell(*found), time_width);
  }
  const Side side = judged_side(point);
  return line + fmt::format("  {:>{}}", ratio_cell(point, side, least_ratio(point, targets), targets), ratio_width) +
         "\n";
}

// Whether memory allows more is of interest where less was reached than is asked for, and at the point with a limit of its own.
std::string floor_line(const Point& point, const Targets& targets) {
  const auto floor = against_floor(point);
  const auto ratio = best_other_over(point, judged_side(point));
  if (!floor) return "";
  if (point.fill && (!ratio || ratio->by_round >= least_ratio(point, targets))) return "";
  std::string line = fmt::format("  {} from symmetric buffers: {:.2f} times the memory floor",
                                 to_string(Bytes(point.bytes)), floor->ours);
  if (point.fill) return line + fmt::format(", which is {:.2f} times as fast as the best other\n", floor->others);
  return line + (floor->ours > targets.large_sum_floor ? " ✗\n" : "\n");
}

std::string table(const std::vector<const Point*>& points, const Targets& targets) {
  const std::vector<std::string> titles = columns(points);
  std::string text = fmt::format("{:>{}}", "bytes", size_width);
  for (const std::string& title : titles) text += fmt::format("{:>{}}", title, time_width);
  text += fmt::format("  {:>{}}\n", "ratio  ", ratio_width);
  for (const Point* point : points) text += row(*point, titles, targets);
  for (const Point* point : points) text += floor_line(*point, targets);
  return text + "\n";
}

}  // namespace

std::string legend(const Targets& targets) {
  return fmt::format(
      "µs: minimum of all repetitions (median over the rounds of their medians); a repetition takes as long as its "
      "slowest rank\n"
      "    calls shorter than 20 µs are timed several at a time; broadcasts take turns as root, so that none runs "
      "ahead\n"
      "bytes: the larger of a rank's input and output, f32, at least one element for each rank\n"
      "ratio: best other / hocket, as the median over the rounds of the ratio of the medians in the same round; from "
      "private buffers, or,\n"
      "       where the input is filled, from symmetric ones; ✗ less than asked for, · less than {}\n"
      "       only rounds in which the cores were as far apart for both: a host may move those of a virtual "
      "machine\n\n",
      targets.mostly);
}

std::string tables(const Setting& setting, const std::vector<Point>& points, const Targets& targets) {
  std::string text = fmt::format("== {} ranks, {} ({})\n\n", setting.ranks, setting.title, setting.name);
  for (int op = 0; op < operator_count; ++op) {
    for (const bool fill : {false, true}) {
      std::vector<const Point*> chosen;
      for (const Point& point : points) {
        if (point.setting == setting.name && point.op == static_cast<Operator>(op) && point.fill == fill)
          chosen.push_back(&point);
      }
      if (chosen.empty()) continue;
      text +=
          fmt::format("{}{}\n", name_of(static_cast<Operator>(op)), fill ? ", with the time to fill the input" : "");
      text += table(chosen, targets);
    }
  }
  return text;
}

}  // namespace hocket::comm_bench
