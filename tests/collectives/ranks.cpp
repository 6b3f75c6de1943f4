#include "ranks.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "comm/rendezvous.h"
#include "support/memory_hosts.h"
#include "support/processes.h"

namespace hocket {

namespace {

using namespace std::chrono_literals;

constexpr auto longest_test = 100s;  // whoever is not done by then is stuck
constexpr int most_complaints = 5;

using SayingBody = std::function<std::string(World&)>;

std::vector<std::string> run_threads(std::int32_t ranks, Result<std::vector<World>> worlds, const SayingBody& body) {
  if (!worlds) return {static_cast<std::size_t>(ranks), worlds.error().message};
  std::vector<std::string> said(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < said.size(); ++rank) {
    threads.emplace_back(
        [&body, &said, rank, world = std::move((*worlds)[rank])]() mutable { said[rank] = body(world); });
  }
  for (std::thread& thread : threads) thread.join();
  return said;
}

std::vector<std::int32_t> on_two_hosts(std::int32_t ranks) {
  std::vector<std::int32_t> hosts;
  for (std::int32_t rank = 0; rank < ranks; ++rank) hosts.push_back(rank % 2);
  return hosts;
}

std::string run_process(const MeetingPlace& place, int rank, std::int32_t ranks, const SayingBody& body,
                        WorldOptions options) {
  setenv("HOCKET_RANK", std::to_string(rank).c_str(), 1);
  setenv("HOCKET_WORLD_SIZE", std::to_string(ranks).c_str(), 1);
  setenv("HOCKET_MEETING", to_variable(place).c_str(), 1);
  Result<World> world = World::join(options);
  if (!world) return world.error().message;
  if (world->rank() != rank) return "the environment was read before the process was forked";
  return body(*world);
}

std::vector<std::string> run_processes(std::int32_t ranks, const SayingBody& body, WorldOptions options) {
  const MeetingPlace place = MeetingPlace::random().value();
  const auto outcomes = run_ranks(
      ranks, [&](int rank) { return run_process(place, rank, ranks, body, options); }, longest_test);
  std::vector<std::string> said;
  for (const RankOutcome& outcome : outcomes) {
    if (outcome.timed_out) said.push_back("was stuck");
    else if (outcome.signal != 0) said.push_back(fmt::format("was killed by signal {}", outcome.signal));
    else if (outcome.exit_code != 0) said.push_back(fmt::format("exited with code {}", outcome.exit_code));
    else said.push_back(outcome.said);
  }
  return said;
}

}  // namespace

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::threads: return "threads";
    case Kind::processes: return "processes";
    case Kind::hosts: return "threads on two hosts";
  }
  return "";
}

void Complaints::add_text(const std::string& text) {
  if (count_++ < most_complaints) first_ += text + "\n";
}

std::string Complaints::text() const {
  return count_ <= most_complaints ? first_ : fmt::format("{}… and {} more\n", first_, count_ - most_complaints);
}

std::vector<std::string> run_world(Kind kind, std::int32_t ranks, const SayingBody& body, WorldOptions options) {
  options.join_timeout = 60s;
  if (options.timeout == WorldOptions{}.timeout) options.timeout = 60s;
  const bool forks = ranks_may_be_processes && kind == Kind::processes;
  if (forks) return run_processes(ranks, body, options);
  if (kind == Kind::hosts) return run_threads(ranks, worlds_on_hosts(on_two_hosts(ranks), options), body);
  return run_threads(ranks, World::threads(ranks, options), body);
}

void expect_well(Kind kind, std::int32_t ranks, const RankBody& body) {
  const auto said = run_world(kind, ranks, [&](World& world) {
    Complaints complaints;
    body(world, complaints);
    return complaints.text();
  });
  for (std::size_t rank = 0; rank < said.size(); ++rank) {
    EXPECT_EQ(said[rank], "") << "rank " << rank << " of " << ranks << " " << name_of(kind);
  }
}

CallOptions blocking() {
  CallOptions options;
  options.blocking = true;
  return options;
}

CallOptions within(std::chrono::milliseconds timeout) {
  CallOptions options;
  options.timeout = timeout;
  return options;
}

Communicator group_of(const World& world, const GroupRef& ref) {
  Result<Communicator> group = world.communicator(ref);
  if (group) return std::move(*group);
  fmt::print(stderr, "rank {}: {}\n", world.rank(), group.error().message);
  std::abort();
}

}  // namespace hocket
