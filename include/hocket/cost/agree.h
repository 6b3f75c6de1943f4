// Agreement of all ranks before a decision is taken: estimates, and digests of what was decided.
//
//   Result<std::vector<Nanoseconds>> times = align_estimates(cost.times(program), ranks);
//   Status same = agree_on(program.digest(), "the lowered program", ranks);
//
// Every rank calls the same functions in the same order, and gets the same answer, or an error with the same words.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "hocket/base/digest.h"
#include "hocket/base/error.h"
#include "hocket/base/units.h"

namespace hocket {

// How ranks tell each other numbers. A transport stands behind it; LocalRanks in local_ranks.h is one for threads of a process.
class AllGather {
 public:
  virtual ~AllGather() = default;
  virtual std::int64_t ranks() const = 0;
  // What every rank gave, by rank. The lists may differ in length. An error where a rank is missing.
  virtual Result<std::vector<std::vector<std::int64_t>>> gather(std::span<const std::int64_t> mine) = 0;
};

// For each step the median of what the ranks have; of an even number the lower of the two in the middle, so that it is a time
// that some rank really has. Different numbers of steps are an error that names the ranks and their numbers.
Result<std::vector<Nanoseconds>> align_estimates(std::span<const Nanoseconds> mine, AllGather& all);

// Do all ranks have the same digest? The error names the ranks that differ. `what` was compared: "the schedule".
Status agree_on(const Digest& mine, std::string_view what, AllGather& all);

}  // namespace hocket
