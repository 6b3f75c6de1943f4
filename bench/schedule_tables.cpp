#include "schedule_tables.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace hocket {

std::string markdown_of(const std::vector<GraphRow>& rows, const std::vector<Growth>& growth, bool quick) {
  std::vector<std::string> efforts = {"fast", "default"};
  if (!quick) efforts.emplace_back("max");
  std::string text =
      "# Schedules of the captured graphs\n\nStep times in ms, peaks in GiB, by the two-lane model. Ratios are to "
      "PyTorch's best variant.\n\n";
  text +=
      "| graph | nodes | lower bound of pure reordering, what binds | lower bound with merging, in whatever memory: "
      "ms, "
      "ratio, what binds | original: ms, peak | classic passes, in the "
      "order below | PyTorch's best: ms, peak |";
  text += " overlap, reorder only |";
  for (const std::string& effort : efforts)
    text += fmt::format(" {} at the original peak: ms, ratio, CPU ms | {} at PyTorch's peak: ms, ratio, peak |", effort,
                        effort);
  text += "\n|---|---|---|---|---|---|---|---|";
  for (std::size_t i = 0; i < 2 * efforts.size(); ++i) text += "---|";
  text += "\n";
  for (const GraphRow& row : rows) {
    std::string by_classic;
    for (const std::string& passes : classic_passes)
      by_classic += fmt::format("{}{:.4g}", by_classic.empty() ? "" : " · ", row.by.at(passes).step_ms);
    text += fmt::format(
        "| {} | {} | {:.4g}, {} | {:.4g}, {:.3f}, {} | {:.4g}, {:.4g} | {} | {:.4g}, {:.4g} ({}) | {:.4g} |", row.name,
        row.nodes, row.bound_ms, row.bound, row.merged_bound_ms, row.merged_bound_ms / row.pytorch.step_ms,
        row.merged_bound, row.original.step_ms, row.original.peak_gib, by_classic, row.pytorch.step_ms,
        row.pytorch.peak_gib, row.pytorch.variant, row.by.at("overlap reorder").step_ms);
    for (const std::string& effort : efforts) {
      const Reached& own = row.by.at("overlap " + effort + " original");
      const Reached& same = row.by.at("overlap " + effort + " pytorch");
      text += fmt::format(" {:.4g}, {:.3f}, {:.0f} | {:.4g}, {:.3f}, {:.4g} |", own.step_ms,
                          own.step_ms / row.pytorch.step_ms, own.pass_ms, same.step_ms,
                          same.step_ms / row.pytorch.step_ms, same.peak_gib);
    }
    text += "\n";
  }
  text += "\nClassic passes: ";
  for (std::size_t i = 0; i < classic_passes.size(); ++i)
    text += fmt::format("{}`{}`", i == 0 ? "" : "; ", classic_passes[i]);
  text += "\n\nGeometric means of the ratios: ";
  for (const std::string& effort : efforts)
    text += fmt::format("{} {:.4f} at the original peak, {:.4f} at PyTorch's; ", effort,
                        mean_ratio(rows, "overlap " + effort + " original"),
                        mean_ratio(rows, "overlap " + effort + " pytorch"));
  text += fmt::format("the lower bound with merging {:.4f}", mean_bound(rows));
  text += "\n\n| nodes of a made graph | fast: CPU ms | default: CPU ms |\n|---|---|---|\n";
  for (const Growth& each : growth)
    text += fmt::format("| {} | {:.0f} | {:.0f} |\n", each.nodes, each.ms.at("fast"), each.ms.at("default"));
  return text;
}

std::string json_of(const std::vector<GraphRow>& rows, const std::vector<Growth>& growth,
                    const std::vector<Holdout>& holdout, const std::vector<std::string>& missed) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const GraphRow& row : rows) {
    nlohmann::ordered_json by;
    for (const auto& [which, reached] : row.by)
      by[which] = {{"step_ms", reached.step_ms}, {"peak_gib", reached.peak_gib}, {"pass_ms", reached.pass_ms}};
    list.push_back({{"graph", row.name},
                    {"nodes", row.nodes},
                    {"original_ms", row.original.step_ms},
                    {"original_peak_gib", row.original.peak_gib},
                    {"bound_ms", row.bound_ms},
                    {"bound", row.bound},
                    {"merged_bound_ms", row.merged_bound_ms},
                    {"merged_bound", row.merged_bound},
                    {"pytorch_ms", row.pytorch.step_ms},
                    {"pytorch_peak_gib", row.pytorch.peak_gib},
                    {"pytorch_variant", row.pytorch.variant},
                    {"pytorch_cpu_seconds", row.pytorch.seconds},
                    {"by", by}});
  }
  nlohmann::ordered_json grown = nlohmann::ordered_json::array();
  for (const Growth& each : growth) grown.push_back({{"nodes", each.nodes}, {"ms", each.ms}});
  nlohmann::ordered_json held = nlohmann::ordered_json::array();
  for (const Holdout& each : holdout)
    held.push_back({{"variant", each.variant},
                    {"graphs", each.graphs},
                    {"to_classic", each.to_classic},
                    {"worst_to_classic", each.worst_to_classic},
                    {"to_bound", each.to_bound},
                    {"worst_to_bound", each.worst_to_bound},
                    {"worse_than_input", each.worse_than_input},
                    {"above_limit", each.above_limit}});
  return nlohmann::ordered_json{
             {"bench", "schedule"}, {"graphs", list}, {"growth", grown}, {"holdout", held}, {"missed", missed}}
             .dump(1) +
         "\n";
}

}  // namespace hocket
