// Ranks as real processes, for tests of what happens between processes.
//
//   auto ranks = run_ranks(4, [&](int rank) { return rank == 0 ? "leader" : "ok"; });
//   EXPECT_EQ(ranks[1].said, "ok");
//
// Expectations of gtest don't reach out of a child: it says what it found, and the parent expects.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace hocket {

struct RankOutcome {
  std::string said;        // what the body returned; empty if it did not come to an end
  int exit_code = -1;      // 0 where the body returned
  int signal = 0;          // that ended the process
  bool timed_out = false;  // it was killed by the fixture
};

// Forks a process for each rank, runs `body(rank)` in it and collects what they say. Those that are not done at the timeout
// are killed. When it returns, all are gone and reaped. They die with the caller, too.
std::vector<RankOutcome> run_ranks(int count, const std::function<std::string(int)>& body,
                                   std::chrono::milliseconds timeout = std::chrono::seconds(20));

}  // namespace hocket
