#include "hocket/run/step_times.h"

#include <algorithm>
#include <numeric>

#include "hocket/base/median.h"

namespace hocket {

StepTimes::StepTimes(const Program& program) : program_(program) {
  for (std::size_t i = 0; i < program.size(); ++i) {
    const OpSpec* const spec = program.op_spec(StepId(i));
    if (spec == nullptr || !(spec->effects.comm || spec->effects.waits)) computing_.emplace_back(i);
  }
  times_.resize(computing_.size());
}

void StepTimes::add(const RunRecord& run) {
  for (std::size_t i = 0; i < computing_.size(); ++i) {
    const StepRecord& record = run.steps[computing_[i].index()];
    times_[i].push_back(record.end - record.start);
  }
  totals_.push_back(run.total);
}

std::map<std::string, StepTimes::CallTime> StepTimes::by_call() const {
  std::map<std::string, CallTime> calls;
  for (std::size_t i = 0; i < computing_.size() && !times_[i].empty(); ++i) {
    CallTime& call = calls[call_key(program_, computing_[i])];
    call.sum += upper_median(times_[i]);
    ++call.steps;
  }
  return calls;
}

Result<Profile> StepTimes::profile() const {
  Profile profile;
  for (const auto& [call, time] : by_call()) {
    HOCKET_CHECK(profile.set_call(call, Nanoseconds::from_picoseconds(time.sum.picoseconds / time.steps)));
  }
  return profile;
}

Result<Profile> StepTimes::profile(AllGather& ranks, Profile known) const {
  const auto calls = by_call();
  std::vector<std::int64_t> mine;
  for (const auto& [call, time] : calls) mine.push_back(time.sum.picoseconds);
  HOCKET_TRY(const auto all, ranks.gather(mine));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].size() == mine.size()) continue;
    return fail(ErrorKind::peer, "rank {} measured {} different calls and this one {}: do all run the same program?",
                rank, all[rank].size(), mine.size());
  }
  const auto& slowest = *std::ranges::max_element(
      all, {}, [](const auto& sums) { return std::accumulate(sums.begin(), sums.end(), std::int64_t{0}); });
  std::size_t next = 0;
  for (const auto& [call, time] : calls) {
    HOCKET_CHECK(known.set_call(call, Nanoseconds::from_picoseconds(slowest[next++] / time.steps)));
  }
  return known;
}

Result<Nanoseconds> StepTimes::total(AllGather& ranks) const {
  const std::int64_t mine = totals_.empty() ? 0 : upper_median(totals_).picoseconds;
  HOCKET_TRY(const auto all, ranks.gather({&mine, 1}));
  std::int64_t longest = 0;
  for (const auto& one : all) longest = std::max(longest, one.empty() ? 0 : one.front());
  return Nanoseconds::from_picoseconds(longest);
}

}  // namespace hocket
