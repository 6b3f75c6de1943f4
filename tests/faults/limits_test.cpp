// Ranks that get no more of what they need: addresses, shared memory, descriptors, memory. The rank says what is missing, and the
// others soon know that it is gone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/sanitizers.h"
#include "launched.h"
#include "support/usage.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;
using testing::AnyOf;
using testing::HasSubstr;

constexpr int ranks = 3;
constexpr int limited = 1;

void limit(__rlimit_resource resource, rlim_t most) {
  const rlimit both{most, most};
  setrlimit(resource, &both);
}

rlim_t descriptors_now() { return static_cast<rlim_t>(usage().descriptors); }

// What the ranks say that join while one of them has this limit, each with how long it took.
std::vector<RankOutcome> join_with(__rlimit_resource resource, rlim_t most) {
  return run_launched(
      ranks,
      [&](int rank) -> std::string {
        if (rank == limited) limit(resource, most);
        const auto start = std::chrono::steady_clock::now();
        const Result<World> world = World::join({20s, 20s});
        Status status = world ? Status() : fail(world.error());
        // A rank may fail when the others have all that they need of it: then they hear of it when they first need it again.
        if (world)
          status = world->communicator().and_then([](const Communicator& all) { return all.barrier().wait(); });
        const bool late = std::chrono::steady_clock::now() - start > 5s;
        return fmt::format("{}{}", status ? "joined" : status.error().message, late ? ", late" : "");
      },
      60s);
}

void expect_told(const std::vector<RankOutcome>& outcomes, const std::string& what) {
  EXPECT_THAT(outcomes[limited].said, HasSubstr(what));
  for (int rank = 0; rank < ranks; ++rank) {
    const RankOutcome& outcome = outcomes[static_cast<std::size_t>(rank)];
    EXPECT_EQ(outcome.exit_code, 0) << "signal " << outcome.signal;
    EXPECT_THAT(outcome.said, testing::Not(testing::EndsWith("late")));
    if (rank == limited) continue;
    EXPECT_THAT(outcome.said, HasSubstr(fmt::format("lost rank {}", limited)));
  }
}

TEST(Limits, of_addresses_are_named_and_keep_nobody_waiting) {
  if (under_address_sanitizer) GTEST_SKIP() << "sanitizers reserve more addresses than that";
  expect_told(join_with(RLIMIT_AS, rlim_t{4} << 30), "can't reserve addresses (is there a limit, see ulimit -v?)");
}

TEST(Limits, of_the_size_of_files_are_named_and_end_no_process) {
  expect_told(join_with(RLIMIT_FSIZE, rlim_t{1} << 20), "the limit of ulimit -f is smaller");
}

TEST(Limits, of_descriptors_are_named_and_keep_nobody_waiting) {
  if (under_address_sanitizer) GTEST_SKIP() << "the sanitizer needs descriptors itself, to look at memory";
  for (rlim_t most = descriptors_now(); most < descriptors_now() + 12; ++most) {
    const auto outcomes = join_with(RLIMIT_NOFILE, most);
    const bool enough = outcomes[limited].said == "joined";
    for (const RankOutcome& outcome : outcomes) {
      EXPECT_EQ(outcome.exit_code, 0) << most;
      EXPECT_THAT(outcome.said, testing::Not(testing::EndsWith("late"))) << most;
      EXPECT_EQ(outcome.said == "joined", enough) << most << ": " << outcome.said;
    }
    if (enough) continue;
    EXPECT_THAT(outcomes[limited].said, AnyOf(HasSubstr("Too many open files"), HasSubstr("see ulimit -n"))) << most;
  }
}

// A group of processes that may have no more memory than this; none where the machine does not let us.
class LimitedMemory {
 public:
  explicit LimitedMemory(std::int64_t bytes) {
    for (const char* const root : {"/sys/fs/cgroup/memory", "/sys/fs/cgroup"}) {
      folder_ = fmt::format("{}/hocket_test_{}", root, getpid());
      const bool old = std::string_view(root).ends_with("memory");
      const std::string file = folder_ + (old ? "/memory.limit_in_bytes" : "/memory.max");
      std::error_code refused;
      if (!std::filesystem::create_directory(folder_, refused)) continue;
      if (std::filesystem::exists(file) && write(file, std::to_string(bytes))) return;
      rmdir(folder_.c_str());
    }
    folder_.clear();
  }
  ~LimitedMemory() {
    if (!folder_.empty()) rmdir(folder_.c_str());
  }
  bool there() const { return !folder_.empty(); }
  bool enter() const { return write(folder_ + "/cgroup.procs", std::to_string(getpid())); }

 private:
  static bool write(const std::string& path, const std::string& text) {
    std::ofstream file(path);
    file << text << std::flush;
    return file.good();
  }
  std::string folder_;
};

TEST(Limits, of_memory_that_end_a_rank_are_named_by_the_others) {
  constexpr std::int64_t mib = std::int64_t{1} << 20;
  const LimitedMemory memory(64 * mib);
  if (!memory.there()) GTEST_SKIP() << "no control group with a limit of memory can be made here";
  const auto outcomes = run_launched(
      ranks,
      [&](int rank) -> std::string {
        const World world = World::join().value();
        const Communicator all = world.communicator().value();
        if (rank == limited && !memory.enter()) return "can't enter the control group";
        const Result<SymmetricBuffer> buffer = all.allocate(Bytes(256 * mib));
        if (!buffer) return buffer.error().message;
        if (rank == limited) std::fill_n(buffer->data(), 256 * mib, std::byte{1});
        const Status status = all.barrier().wait();
        return status ? "well" : status.error().message;
      },
      60s);
  EXPECT_EQ(outcomes[limited].signal, SIGKILL) << outcomes[limited].said;
  for (const std::size_t rank : {std::size_t{0}, std::size_t{2}})
    EXPECT_THAT(outcomes[rank].said, HasSubstr("was killed by signal 9"));
}

}  // namespace
}  // namespace hocket
