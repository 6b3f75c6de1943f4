// An all_to_all that reads the others' own memory, and what becomes of it where the kernel does not allow that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <numeric>

#include "ranks.h"

namespace hocket {
namespace {

constexpr std::int32_t ranks = 3;
constexpr std::int64_t count = 300'000;  // elements for each rank: several reads of the kernel

CallOptions reading() { return {.blocking = true, .algorithm = CollectiveAlgorithm::reading}; }

// From now on the kernel refuses this thread, as a sandbox does.
bool forbid_reading() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(filter), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// What was used for the last of two calls, or what was wrong.
std::string exchange_twice(const World& world) {
  const Communicator group = group_of(world);
  std::vector<std::int32_t> input(ranks * count), output(ranks * count);
  for (int i = 0; i < 2; ++i) {
    std::iota(input.begin(), input.end(), world.rank() * 1'000'000'000 + i);
    std::fill(output.begin(), output.end(), -1);
    const Work work = group.all_to_all(input.data(), output.data(), count, Dtype::i32, reading());
    if (const Status status = work.wait(); !status) return status.error().message;
    for (std::int32_t from = 0; from < ranks; ++from) {
      for (std::int64_t at = 0; at < count; ++at) {
        const std::int64_t expected = from * 1'000'000'000 + i + world.rank() * count + at;
        const std::int32_t got = output[static_cast<std::size_t>(from * count + at)];
        if (got != expected) return fmt::format("element {} of rank {} is {}, expected {}", at, from, got, expected);
      }
    }
  }
  const auto report = nlohmann::json::parse(group.flight_report().value());
  return report.at("places").at(static_cast<std::size_t>(world.rank())).at("calls").at(1).at("used");
}

TEST(Reading, brings_everyone_what_was_meant_for_it) {
  for (const Kind kind : both_kinds) {
    for (const std::string& said : run_world(kind, ranks, exchange_twice)) {
      EXPECT_TRUE(said == "reading" || said == "one_shot") << said;  // a sandbox may forbid it to the tests, too
    }
  }
}

TEST(Reading, is_copying_on_all_ranks_where_one_may_not_read) {
  if (!ranks_may_be_processes) GTEST_SKIP() << "needs ranks that are processes";
  const auto said = run_world(Kind::processes, ranks, [](World& world) -> std::string {
    if (world.rank() == 1 && !forbid_reading()) return "can't forbid it";
    return exchange_twice(world);
  });
  for (const std::string& one : said) EXPECT_EQ(one, "one_shot");
}

TEST(Reading, of_what_it_can_not_do_is_an_error_that_says_what_it_can) {
  expect_well(Kind::threads, ranks, [](World& world, Complaints& complaints) {
    const Communicator group = group_of(world);
    std::vector<float> data(ranks * 8);
    const std::vector<std::int64_t> splits(ranks, 8);
    const Work calls[] = {
        group.all_reduce(data.data(), data.data(), 8, Dtype::f32, ReduceOp::sum, reading()),
        group.all_to_all(data.data(), data.data(), 8, Dtype::f32, reading()),
        group.all_to_all(data.data(), splits, data.data(), splits, Dtype::f32, reading()),
    };
    for (const Work& call : calls) {
      const Status status = call.wait();
      const std::string message = status ? "it worked" : status.error().message;
      if (message.find("which only all_to_all of equal parts between two buffers has") == std::string::npos)
        complaints.add("{}", message);
    }
  });
}

}  // namespace
}  // namespace hocket
