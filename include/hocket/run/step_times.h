// What the steps of a program take in real runs: in their order, with what they find in the caches there, and with the communication
// under way beside them, which takes processor time and memory bandwidth from them.
//
//   StepTimes times(executor->program());
//   for (int i = 0; i < runs; ++i) { HOCKET_CHECK(executor->run(inputs)); times.add(executor->last_run()); }
//   HOCKET_TRY(cost.profile, times.profile(ranks));
#pragma once

#include <map>
#include <string>
#include <vector>

#include "hocket/cost/agree.h"
#include "hocket/cost/profile.h"
#include "hocket/run/timeline_record.h"

namespace hocket {

class StepTimes {
 public:
  // The program stays where it is.
  explicit StepTimes(const Program& program);

  // Of a run with ExecutorOptions::record.
  void add(const RunRecord& run);

  // Of the computing steps, by call. Each step takes its median over the runs, and a call the mean over all steps that make it, so
  // that the steps take together what they took. Without runs it is empty. Collectives are not in it: measure_collectives() says
  // what they take.
  Result<Profile> profile() const;
  // The same on all ranks, of the one whose steps take the longest altogether: that is the one that the others wait for. What is
  // known of other calls stays.
  Result<Profile> profile(AllGather& ranks, Profile known = {}) const;
  // The median of the runs on the rank where it is the longest.
  Result<Nanoseconds> total(AllGather& ranks) const;

 private:
  struct CallTime {
    Nanoseconds sum;
    std::int64_t steps = 0;
  };
  std::map<std::string, CallTime> by_call() const;

  const Program& program_;
  std::vector<StepId> computing_;
  std::vector<std::vector<Nanoseconds>> times_;  // of each of these: one for each run
  std::vector<Nanoseconds> totals_;              // of the runs
};

}  // namespace hocket
