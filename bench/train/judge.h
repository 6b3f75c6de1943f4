// What training is to reach, and the tables.
#pragma once

#include <string>
#include <vector>

#include "race.h"

namespace hocket::train_bench {

struct Goals {
  double least_speedup = 1.0;  // over each of PyTorch's ways and over blocking collectives
  double least_speedup_when_much =
      1.3;  // where communication is more than this part of a step with blocking collectives:
  double much = 1.0 / 3;
  double most_over_bound = 1.10;  // a compiled step over the limited link, of max(compute, communication)
  double most_off_predicted = 0.15;
  double most_off_planned = 0.05;
  double same_loss = 1e-3;
};

std::string table_of(const Race& race);
// One sentence for each goal that was missed.
std::vector<std::string> misses(const Race& race, const Goals& goals);
std::string as_json(const std::vector<Race>& races, const std::vector<std::string>& notes,
                    const std::vector<std::string>& missed);

}  // namespace hocket::train_bench
