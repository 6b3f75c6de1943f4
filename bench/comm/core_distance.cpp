#include "core_distance.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <thread>
#include <tuple>

#include "rank_loop.h"
#include "setting.h"

namespace hocket::comm_bench {

namespace {

constexpr int round_trips = 200;  // in a batch
constexpr int batches = 5;        // the fastest counts: a thread may have lost its core in the others
constexpr double apart = 1.6;     // measured: 97 ns with a cache in common, 500 without; each varies by some percent

struct alignas(128) Line {
  std::atomic<int> number = 0;
};

void await(const Line& line, int number) {
  while (line.number.load(std::memory_order_acquire) != number) continue;
}

}  // namespace

double core_round_trip_ns() {
  if (cores_allowed() < 2) return 0;
  Line ping;
  Line pong;
  double fastest = std::numeric_limits<double>::max();
  std::thread there([&] {
    std::ignore = bind_to_cores("each", 1);
    for (int i = 1; i <= batches * round_trips; ++i) {
      await(ping, i);
      pong.number.store(i, std::memory_order_release);
    }
  });
  std::thread here([&] {
    std::ignore = bind_to_cores("each", 0);
    int i = 0;
    for (int batch = 0; batch < batches; ++batch) {
      const auto start = std::chrono::steady_clock::now();
      for (int trip = 0; trip < round_trips; ++trip) {
        ping.number.store(++i, std::memory_order_release);
        await(pong, i);
      }
      const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
      fastest = std::min(fastest, took.count() / round_trips);
    }
  });
  here.join();
  there.join();
  return fastest;
}

bool is_same_distance(double round_trip_ns, double other_ns) {
  const auto [shorter, longer] = std::minmax(round_trip_ns, other_ns);
  return shorter == 0 || longer < apart * shorter;
}

}  // namespace hocket::comm_bench
