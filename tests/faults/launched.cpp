#include "launched.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <cstdlib>

#include "comm/rendezvous.h"

namespace hocket {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto tick = std::chrono::milliseconds(1);

void set_up(const MeetingPlace& place, int rank, int ranks) {
  setenv("HOCKET_RANK", std::to_string(rank).c_str(), 1);
  setenv("HOCKET_WORLD_SIZE", std::to_string(ranks).c_str(), 1);
  setenv("HOCKET_MEETING", to_variable(place).c_str(), 1);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
}

}  // namespace

std::vector<RankOutcome> run_launched_at(const MeetingPlace& place, int ranks,
                                         const std::function<std::string(int)>& body,
                                         std::chrono::milliseconds timeout) {
  return run_ranks(
      ranks,
      [&](int rank) {
        set_up(place, rank, ranks);
        return body(rank);
      },
      timeout);
}

std::vector<RankOutcome> run_launched(int ranks, const std::function<std::string(int)>& body,
                                      std::chrono::milliseconds timeout) {
  return run_launched_at(MeetingPlace::random().value(), ranks, body, timeout);
}

std::string in_a_process(const std::function<std::string()>& body, std::chrono::milliseconds timeout) {
  const RankOutcome outcome = run_ranks(
                                  1, [&](int) { return body(); }, timeout)
                                  .front();
  if (outcome.timed_out) return "was stuck";
  if (outcome.signal != 0) return fmt::format("was killed by signal {}", outcome.signal);
  return outcome.said;
}

Metronome::Metronome(std::atomic<std::int64_t>& worst)
    : thread_([this, &worst] {
        while (!stop_) {
          const auto start = Clock::now();
          std::this_thread::sleep_for(tick);
          const std::int64_t late = (Clock::now() - start - tick).count();
          for (std::int64_t most = worst; late > most && !worst.compare_exchange_weak(most, late);) continue;
        }
      }) {}

Metronome::~Metronome() {
  stop_ = true;
  thread_.join();
}

std::int64_t now_ns() { return Clock::now().time_since_epoch().count(); }

void* map_shared(std::size_t bytes) {
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) std::abort();
  return data;
}

void unmap_shared(void* data, std::size_t bytes) { munmap(data, bytes); }

}  // namespace hocket
