#include "hocket/torch/process_group.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>

#include "comm/wire.h"
#include "support/gloo_groups.h"
#include "support/temporary_folder.h"
#include "support/torch_ranks.h"

namespace hocket {
namespace {

using testing::HasSubstr;

// One that nobody listens at, now.
std::uint16_t free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  EXPECT_EQ(bind(socket, reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length), 0);
  close(socket);
  return ntohs(address.sin_port);
}

std::string sum_of_ranks(const World& world) {
  const Result<Communicator> all = world.communicator();
  if (!all) return all.error().message;
  std::vector<double> data(100'000, world.rank() + 1.0);
  const Status status = all->all_reduce(data.data(), data.data(), 100'000, Dtype::f64, ReduceOp::sum).wait();
  return status ? fmt::format("{}", data.back()) : status.error().message;
}

TEST(ProcessGroup, this_library_brings_a_wire_for_the_ranks_of_torchrun) {
  EXPECT_NE(provided_wire(Launcher::torchrun), nullptr);
}

// Ranks that were started as if on hosts of their own find out that they share one.
TEST(ProcessGroup, ranks_of_torchrun_meet_through_gloo_whatever_is_said_of_their_hosts) {
  const std::string port = std::to_string(free_port());
  const auto outcomes = run_ranks(3, [&](int rank) -> std::string {
    setenv("RANK", std::to_string(rank).c_str(), 1);
    setenv("WORLD_SIZE", "3", 1);
    setenv("LOCAL_RANK", "0", 1);
    setenv("LOCAL_WORLD_SIZE", "1", 1);
    setenv("MASTER_ADDR", "127.0.0.1", 1);
    setenv("MASTER_PORT", port.c_str(), 1);
    const Result<World> world = World::join(test_world_options());
    return world ? sum_of_ranks(*world) + " " + world->launch().to_string() : world.error().message;
  });
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(outcomes[rank].said, fmt::format("6 rank {} of 3, started by torchrun", rank));
  }
}

TEST(ProcessGroup, ranks_without_a_place_to_meet_are_told_what_to_set) {
  const auto outcomes = run_ranks(1, [&](int) -> std::string {
    setenv("RANK", "0", 1);
    setenv("WORLD_SIZE", "2", 1);
    setenv("LOCAL_RANK", "0", 1);
    setenv("LOCAL_WORLD_SIZE", "1", 1);
    const Result<World> world = World::join(test_world_options());
    return world ? "joined" : world.error().message;
  });
  EXPECT_THAT(outcomes[0].said, HasSubstr("set them to the host of rank 0 and a port that is free there"));
}

TEST(ProcessGroup, a_world_is_joined_over_a_group_and_is_the_current_one) {
  const TemporaryFolder folder;
  const auto outcomes = run_ranks(2, [&](int rank) -> std::string {
    const auto store = c10::make_intrusive<c10d::FileStore>(folder.path() + "/store", 2);
    const Result<World> world = join_over(gloo_group(store, rank, 2), test_world_options());
    if (!world) return world.error().message;
    const Result<World> current = World::current();
    return sum_of_ranks(*world) + " " + std::to_string(current ? current->rank() : -1);
  });
  EXPECT_EQ(outcomes[0].said, "3 0");
  EXPECT_EQ(outcomes[1].said, "3 1");
}

TEST(ProcessGroup, there_has_to_be_one) {
  const Result<World> world = join_over({});
  ASSERT_FALSE(world);
  EXPECT_EQ(world.error().message, "join_over was given no process group");
}

}  // namespace
}  // namespace hocket
