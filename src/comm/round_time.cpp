#include "comm/round_time.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "comm/algorithms.h"

namespace hocket {

namespace {
constexpr int batches = 4;  // the fastest counts: in the first one ranks may wait for others that come later
constexpr int rounds_of_batch = 4;
}  // namespace

Result<std::int64_t> round_time_ns(Rounds& rounds) {
  using Clock = std::chrono::steady_clock;
  auto fastest = std::numeric_limits<std::int64_t>::max();
  for (int batch = 0; batch < batches; ++batch) {
    const auto start = Clock::now();
    for (int round = 0; round < rounds_of_batch; ++round) HOCKET_CHECK(meet(rounds));
    const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start);
    fastest = std::min<std::int64_t>(fastest, took.count() / rounds_of_batch);
  }
  HOCKET_CHECK(rounds.open_empty());
  rounds.post(static_cast<std::uint64_t>(fastest));
  HOCKET_CHECK(rounds.take_all());
  return static_cast<std::int64_t>(rounds.note_of(0));
}

}  // namespace hocket
