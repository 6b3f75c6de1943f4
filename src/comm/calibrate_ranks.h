// Ranks that run trials: this process is rank 0, the others are forked from it and do what it tells them.
//
//   HOCKET_TRY(const std::unique_ptr<CalibrationRanks> ranks, CalibrationRanks::start(4));
//   HOCKET_TRY(const double seconds, ranks->time(trial));
#pragma once

#include <sys/types.h>

#include <memory>
#include <vector>

#include "comm/host_transport.h"

namespace hocket {

// One way to do one communication. Goes to the other ranks as bytes.
struct Trial {
  Operator op = Operator::all_reduce;  // of f32
  std::int64_t bytes = 0;              // the larger of what a rank gives and what it gets
  bool in_place = false;
  bool in_symmetric_memory = false;  // what others see: the output, of a reduce_scatter the input
  bool fills = false;                // the input is written before every call, and the time for that counts
  bool stop = false;                 // no trial: the ranks end
  bool looks = false;                // none either: how long do rounds take?
  std::int32_t repeats = 1;
  Tuning tuning;
};

class CalibrationRanks {
 public:
  static constexpr std::int64_t most_bytes = std::int64_t{32} << 20;

  // Only for a process without other threads.
  static Result<std::unique_ptr<CalibrationRanks>> start(std::int32_t ranks);
  ~CalibrationRanks();  // ends the others

  // How long all repeats together take this rank, in seconds.
  Result<double> time(const Trial& trial);
  // 0 where ranks share cores: then their turns count, and not how far the cores are apart.
  Result<std::int64_t> round_ns();

 private:
  class Rank;
  CalibrationRanks() = default;
  std::unique_ptr<Rank> own_;
  std::vector<pid_t> others_;
};

}  // namespace hocket
