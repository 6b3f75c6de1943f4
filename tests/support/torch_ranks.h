// Ranks of a world that call collectives on tensors, as threads or as processes.
//
//   on_ranks(2, [](int rank) { EXPECT_EQ(all_reduce(at::ones({3}), "sum").item<float>(), …); });
#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "comm/rendezvous.h"
#include "hocket/comm/world.h"
#include "support/processes.h"
#include "support/world_threads.h"

namespace hocket {

inline WorldOptions test_world_options() {
  using namespace std::chrono_literals;
  WorldOptions options;
  options.join_timeout = 30s;
  options.timeout = 30s;
  return options;
}

// What the body throws fails the test; the rank then leaves, and the others hear of it.
inline void on_ranks(int count, const std::function<void(int)>& body) {
  auto worlds = World::threads(count, test_world_options());
  ASSERT_TRUE(worlds) << worlds.error().message;
  each_in_a_thread(std::move(*worlds), [&](World& world) {
    const int rank = world.rank();
    const WorldScope scope(world);
    try {
      body(rank);
    } catch (const c10::Error& error) {
      ADD_FAILURE() << "rank " << rank << " threw: " << error.what_without_backtrace();
    } catch (const std::exception& error) {
      ADD_FAILURE() << "rank " << rank << " threw: " << error.what();
    }
  });
}

// The same with a process for each rank. Expectations of gtest don't reach out of it: the body says what it found.
inline std::vector<RankOutcome> on_processes(int count, const std::function<std::string(World&)>& body) {
  const MeetingPlace place = MeetingPlace::random().value();
  return run_ranks(count, [&](int rank) -> std::string {
    at::set_num_threads(1);  // the parent's threads did not come along
    setenv("HOCKET_RANK", std::to_string(rank).c_str(), 1);
    setenv("HOCKET_WORLD_SIZE", std::to_string(count).c_str(), 1);
    setenv("HOCKET_MEETING", to_variable(place).c_str(), 1);
    Result<World> world = World::join(test_world_options());
    if (!world) return world.error().message;
    try {
      return body(*world);
    } catch (const c10::Error& error) {
      return std::string("threw: ") + error.what_without_backtrace();
    }
  });
}

// What a call throws, without the backtrace; empty if it doesn't.
template <class Call>
std::string thrown_by(Call&& call) {
  try {
    call();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return {};
}

}  // namespace hocket
