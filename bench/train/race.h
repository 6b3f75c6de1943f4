// Trains each model in every way that the contestants have, in turn.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "comm/contestant.h"

namespace hocket::train_bench {

// One way of one contestant, as the tables have it.
struct Lane {
  std::string contestant;  // "hocket", "PyTorch"
  std::string way;
  std::string title() const { return contestant + " " + way; }
};

struct Figures {
  std::vector<double> ms;                                          // of every step, the slowest rank's
  double loss = 0;                                                 // after the same number of steps for all
  double planned_bytes = 0, grown_bytes = 0, first_use_bytes = 0;  // of compiled steps, the ranks' mean; as Way::memory
  double predicted_ms = 0;
  double first_ms = 0,
         computing_ms = 0;  // of the last compiled run: until the first collective, and all that is no communication
  std::string absent;       // why there are none

  double median() const;
  double least() const;
};

struct Race {
  std::string setting, model;
  std::map<std::string, Figures> lanes;  // by title
};

struct RaceEffort {
  int rounds = 4;
  int steps = 5;  // in each round, one right after the other; the last one with all that steps have left to do
};

using Contestants = std::map<std::string, std::unique_ptr<comm_bench::Contestant>>;

// All lanes, in their order. A way that fails is absent, the others go on.
Race run_race(const std::string& setting, const std::string& model, const std::vector<Lane>& lanes,
              Contestants& contestants, RaceEffort effort);

// How a process grows by one compiled way that has done nothing before: freed memory that it could take again would not count.
void measure_memory(Race& race, const Lane& lane, comm_bench::Contestant& fresh);

}  // namespace hocket::train_bench
