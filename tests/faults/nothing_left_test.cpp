// What a program leaves behind when all of its ranks are killed: nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "launched.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t mib = std::int64_t{1} << 20;
constexpr std::int64_t memory_of_a_rank = 32 * mib;
constexpr int ranks = 3;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::set<std::string> shared_memory_files() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) names.insert(entry.path().filename());
  return names;
}

// The shared memory of hocket that a process has mapped, by inode. Memory without a name is there for as long as somebody has it.
std::set<std::uint64_t> segments_of(const std::filesystem::path& process) {
  std::set<std::uint64_t> inodes;
  std::ifstream maps(process / "maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/memfd:hocket") == std::string::npos) continue;
    std::istringstream words(line);
    std::string range, rights, offset, device;
    std::uint64_t inode = 0;
    words >> range >> rights >> offset >> device >> inode;
    inodes.insert(inode);
  }
  return inodes;
}

std::set<std::uint64_t> segments_of_all_processes() {
  std::set<std::uint64_t> inodes;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (std::all_of(name.begin(), name.end(), [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }))
      inodes.merge(segments_of(entry.path()));
  }
  return inodes;
}

struct Board {
  std::atomic<std::int32_t> ready;
  std::atomic<std::uint64_t> segments[ranks];
};

// Fills symmetric memory and communicates until it is killed.
std::string work_for_ever(Board& board) {
  const World world = World::join().value();
  const Communicator all = world.communicator().value();
  const SymmetricBuffer buffer = all.allocate(Bytes(memory_of_a_rank)).value();
  std::fill_n(buffer.data(), memory_of_a_rank, std::byte{1});
  std::int64_t number = 1;
  Work message = all.irecv(&number, 1, Dtype::i64, (world.rank() + 1) % ranks);  // pending for ever
  std::size_t next = 0;
  for (const std::uint64_t inode : segments_of("/proc/self")) board.segments[next++ % ranks] = inode;
  ++board.ready;
  for (;;) {
    if (!all.all_reduce(buffer.data(), buffer.data(), memory_of_a_rank / 4, Dtype::i32, ReduceOp::max).wait())
      return "";
  }
}

TEST(NothingLeft, after_a_kill_of_all_ranks_there_are_no_files_sockets_processes_or_memory) {
  const SharedPage<Board> board;
  const auto files_before = shared_memory_files();
  const MeetingPlace place = MeetingPlace::random().value();
  const auto outcomes = run_launched_at(
      place, ranks, [&](int) { return work_for_ever(*board); }, 6s);
  ASSERT_EQ(board->ready, ranks) << "they did not get far enough";
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.signal, SIGKILL);

  for (const std::string& file : shared_memory_files()) {
    EXPECT_TRUE(files_before.contains(file) || file.find("hocket") == std::string::npos) << file;
  }
  EXPECT_THAT(text_of("/proc/net/unix"), testing::Not(testing::HasSubstr(place.name)));
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
  EXPECT_EQ(errno, ECHILD);

  const std::set<std::uint64_t> still_there = segments_of_all_processes();
  for (const std::atomic<std::uint64_t>& segment : board->segments) {
    EXPECT_NE(segment, 0U) << "the memory was never there";
    EXPECT_FALSE(still_there.contains(segment));
  }
}

// Connections have the name of the place, too, as long as they are there.
bool is_anybody_listening(const std::string& name) {
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    if (line.find(name) != std::string::npos && line.find(" 00010000 ") != std::string::npos) return true;
  }
  return false;
}

// The network sockets among the descriptors of this process, of any kind and state.
int network_sockets() {
  std::string known;
  for (const char* const kind : {"tcp", "tcp6", "udp", "udp6", "raw", "raw6"})
    known += text_of(std::string("/proc/self/net/") + kind);
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code closed;  // that of the directory itself
    const std::string target = std::filesystem::read_symlink(entry.path(), closed);
    if (!target.starts_with("socket:[")) continue;
    const std::string inode = target.substr(8, target.size() - 9);
    found += known.find(" " + inode + " ") != std::string::npos ? 1 : 0;
  }
  return found;
}

TEST(NothingLeft, ranks_of_one_host_never_have_a_network_socket) {
  const auto outcomes = run_launched(ranks, [](int) -> std::string {
    const World world = World::join().value();
    const Communicator all = world.communicator().value();
    std::int64_t number = world.rank();
    if (!all.all_reduce(&number, &number, 1, Dtype::i64, ReduceOp::sum).wait()) return "the sum failed";
    const Work sent = all.isend(&number, 1, Dtype::i64, (world.rank() + 1) % ranks);
    if (!all.irecv(&number, 1, Dtype::i64, (world.rank() + ranks - 1) % ranks).wait() || !sent.wait())
      return "the message failed";
    return std::to_string(network_sockets());
  });
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.said, "0");
}

TEST(NothingLeft, the_meeting_place_is_free_once_all_have_joined) {
  const MeetingPlace place = MeetingPlace::random().value();
  const auto outcomes = run_launched_at(
      place, ranks,
      [&](int) {
        const World world = World::join().value();
        static_cast<void>(world.communicator().value().barrier().wait());
        return is_anybody_listening(place.name) ? "still listening" : "free";
      },
      20s);
  EXPECT_EQ(outcomes[0].said, "free");
}

}  // namespace
}  // namespace hocket
