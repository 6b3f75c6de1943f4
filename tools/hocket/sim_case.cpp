#include "sim_case.h"

#include <nlohmann/json.hpp>

namespace hocket::tool {

using Json = nlohmann::ordered_json;

std::string table_of(const std::vector<SimCase>& cases) {
  std::size_t width = 8;
  for (const SimCase& one : cases) width = std::max(width, one.name.size());
  std::string text = fmt::format("{:<{}}  {:>7} {:>11} {:>11} {:>11} {:>8} {:>11} {:>9}\n", "", width, "ranks", "step",
                                 "computing", "exposed", "hidden", "peak", "speed");
  const double first = cases.front().result.step_time.ms();
  for (const SimCase& one : cases) {
    const double step = one.result.step_time.ms();
    text += fmt::format("{:<{}}  {:>7} {:>11} {:>11} {:>11} {:>6.0f} % {:>11} {:>7.2f} x\n", one.name, width,
                        one.result.ranks, to_string(one.result.step_time), to_string(one.line.compute),
                        to_string(one.result.exposed), one.line.hidden_share() * 100, to_string(one.line.peak),
                        step > 0 ? first / step : 1.0);
  }
  return text;
}

std::string json_of(const std::vector<SimCase>& cases) {
  Json list = Json::array();
  for (const SimCase& one : cases) {
    list.push_back({{"case", one.name},
                    {"ranks", one.result.ranks},
                    {"simulated_ranks", one.result.simulated},
                    {"step_ms", one.result.step_time.ms()},
                    {"compute_ms", one.line.compute.ms()},
                    {"communication_ms", one.line.communication.ms()},
                    {"exposed_ms", one.result.exposed.ms()},
                    {"mean_exposed_ms", one.result.mean_exposed.ms()},
                    {"hidden_share", one.line.hidden_share()},
                    {"peak_bytes", one.line.peak.count},
                    {"slowest_rank", one.result.slowest.value},
                    {"events", one.result.events}});
  }
  return list.dump() + "\n";
}

}  // namespace hocket::tool
