// Processes that have nothing in common but the program and its input decide the same: addresses, cores, locale, time zone and what
// malloc leaves in memory differ from run to run.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <set>
#include <thread>

#include "support/random.h"
#include "support/temporary_folder.h"

namespace hocket {
namespace {

struct Said {
  std::string decisions;
  std::string address;
};

std::string output_of(const std::string& command) {
  std::string output;
  FILE* const pipe = popen(command.c_str(), "r");
  std::array<char, 4096> chunk{};
  while (const std::size_t got = fread(chunk.data(), 1, chunk.size(), pipe)) output.append(chunk.data(), got);
  if (pclose(pipe) != 0) output += "(it failed)";
  return output;
}

class Environments {
 public:
  // A German locale, which writes commas in numbers, where one can be made here.
  Environments() {
    const std::string made = folder_.path() + "/de_DE.UTF-8";
    if (std::system(("localedef -i de_DE -f UTF-8 " + made + " >/dev/null 2>&1").c_str()) == 0)
      locales_.push_back("de_DE.UTF-8");
  }

  std::string random(std::uint64_t seed) const {
    Random random(seed);
    const auto cores = static_cast<std::int64_t>(std::thread::hardware_concurrency());
    const std::int64_t first = random.between(0, cores - 1);
    return fmt::format("env LOCPATH={} LC_ALL={} TZ={} OMP_NUM_THREADS={} MALLOC_PERTURB_={} MALLOC_ARENA_MAX={} X={} ",
                       folder_.path(), random.pick(locales_),
                       random.pick({"UTC", "Asia/Kathmandu", "America/St_Johns", "XYZ+11"}), random.between(1, 8),
                       random.between(0, 255), random.between(1, 8),
                       std::string(random.index(3'000), 'x')) +  // moves the stack
           fmt::format("taskset -c {}-{} ", first, random.between(first, cores - 1));
  }

 private:
  TemporaryFolder folder_;
  std::vector<std::string> locales_ = {"C", "C.UTF-8", "POSIX"};
};

Said decide(const std::string& environment, const std::vector<std::string>& graphs) {
  const TemporaryFolder folder;
  const std::string address = folder.path() + "/address";
  Said said;
  said.decisions = output_of(
      fmt::format("{}{}/decide_program {} 2>{}", environment, HOCKET_TEST_PROGRAMS, fmt::join(graphs, " "), address));
  said.address = output_of("cat " + address);
  return said;
}

void expect_same(std::uint64_t first_seed, int repeats, const std::vector<std::string>& graphs) {
  const Environments environments;
  const std::string expected = decide("", graphs).decisions;
  ASSERT_EQ(static_cast<std::size_t>(std::count(expected.begin(), expected.end(), '\n')), graphs.size() * 3 + 3 * 3)
      << expected;
  std::set<std::string> addresses;
  for (int i = 0; i < repeats && !testing::Test::HasFailure(); ++i) {
    const std::string environment = environments.random(first_seed + static_cast<std::uint64_t>(i));
    const Said said = decide(environment, graphs);
    EXPECT_EQ(said.decisions, expected) << environment;
    addresses.insert(said.address);
  }
  EXPECT_GT(addresses.size(), static_cast<std::size_t>(repeats) / 2) << "addresses do not differ from run to run";
}

const std::string small_graph = HOCKET_TEST_DATA "/fsdp_llama_1l_fwd.json.gz";
const std::string larger_graph = HOCKET_TEST_DATA "/fsdp_llama_tiny.json.gz";

TEST(Determinism, processes_decide_the_same_whatever_surrounds_them) {
  expect_same(0, 10, {small_graph, larger_graph});
}
TEST(LongDeterminism, a_thousand_processes_decide_the_same_whatever_surrounds_them) {
  expect_same(1'000, 1'000, {small_graph});
}

}  // namespace
}  // namespace hocket
