#include <fmt/ranges.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/meeting.h"

namespace hocket {

namespace {

// Clients that have connected and said nothing yet. Beyond it the one that has been silent longest has to go: if it was one of
// ours, it comes again.
constexpr std::size_t most_silent_clients = 64;

// Rank 0 while the others come. Nothing here blocks on a single client.
class Reception {
 public:
  Reception(const MeetingPlace& place, std::int32_t size, FileDescriptor listener)
      : place_(place), size_(size), listener_(std::move(listener)), ranks_(static_cast<std::size_t>(size)) {}

  Result<std::vector<FileDescriptor>> run(Deadline deadline) {
    while (!missing().empty()) {
      if (milliseconds_until(deadline) == 0) return give_up();
      step(deadline);
    }
    for (std::size_t rank = 1; rank < ranks_.size(); ++rank) {
      if (Status sent = send_packet(ranks_[rank], {parcel_mark}, {}, deadline); !sent) {
        return fail(ErrorKind::peer, "rank {} came to the meeting and left: {}", rank, sent.error().message);
      }
    }
    return std::move(ranks_);
  }

 private:
  // Those that have come are told, or they would wait until their own deadlines.
  tl::unexpected<Error> give_up() {
    const std::string reason =
        fmt::format("rank {} did not come to the meeting of {} ranks in time{}", fmt::join(missing(), ", "), size_,
                    refusals_.empty() ? "" : "; turned away: " + refusals_);
    const std::string news = failure_mark + reason.substr(0, largest_packet - 1);
    for (const FileDescriptor& rank : ranks_) {
      if (rank.valid()) static_cast<void>(send_packet(rank, news, {}, std::chrono::steady_clock::now()));
    }
    return fail(ErrorKind::peer, "{}", reason);
  }

  std::vector<std::size_t> missing() const {
    std::vector<std::size_t> ranks;
    for (std::size_t rank = 1; rank < ranks_.size(); ++rank) {
      if (!ranks_[rank].valid()) ranks.push_back(rank);
    }
    return ranks;
  }

  void step(Deadline deadline) {
    std::vector<pollfd> polls = {{listener_.number(), POLLIN, 0}};
    for (const FileDescriptor& client : silent_) polls.push_back({client.number(), POLLIN, 0});
    const std::size_t silent = silent_.size();
    for (const FileDescriptor& rank : ranks_) polls.push_back({rank.number(), 0, 0});
    if (poll(polls.data(), polls.size(), milliseconds_until(deadline)) <= 0) return;

    // A rank that left may come again.
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if ((polls[1 + silent + rank].revents & (POLLHUP | POLLERR)) != 0) ranks_[rank] = FileDescriptor();
    }
    std::vector<FileDescriptor> still_silent;
    for (std::size_t i = 0; i < silent; ++i) {
      if (polls[1 + i].revents != 0) hear(std::move(silent_[i]));
      else still_silent.push_back(std::move(silent_[i]));
    }
    silent_ = std::move(still_silent);
    if (polls[0].revents != 0) accept_one();
  }

  void accept_one() {
    FileDescriptor client(accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!client.valid()) return;
    const Result<uid_t> user = user_of(client);
    if (!user || *user != geteuid()) return;
    if (silent_.size() == most_silent_clients) silent_.erase(silent_.begin());
    silent_.push_back(std::move(client));
  }

  // A stranger gets no answer; one of ours that makes a mistake is told which.
  void hear(FileDescriptor client) {
    const Deadline now = std::chrono::steady_clock::now();
    const Result<Packet> packet = receive_packet(client, now);
    if (!packet) return;
    const std::optional<Hello> hello = Hello::from_bytes(packet->bytes);
    if (!hello || !same_token(hello->token, place_.token)) return;
    const std::string mistake = mistake_in(*hello);
    if (mistake.empty()) {
      ranks_[static_cast<std::size_t>(hello->rank)] = std::move(client);
      return;
    }
    static_cast<void>(send_packet(client, failure_mark + mistake, {}, now));
    if (refusals_.empty()) refusals_ = mistake;
  }

  std::string mistake_in(const Hello& hello) const {
    if (hello.size != size_) {
      return fmt::format("rank {} expects {} ranks, rank 0 expects {}", hello.rank, hello.size, size_);
    }
    if (hello.rank < 1 || hello.rank >= size_) return fmt::format("rank {} is not from 1 to {}", hello.rank, size_ - 1);
    if (ranks_[static_cast<std::size_t>(hello.rank)].valid())
      return fmt::format("two processes are rank {}", hello.rank);
    return "";
  }

  const MeetingPlace& place_;
  std::int32_t size_;
  FileDescriptor listener_;
  std::vector<FileDescriptor> ranks_;
  std::vector<FileDescriptor> silent_;
  std::string refusals_;  // the first reason
};

}  // namespace

Result<std::vector<FileDescriptor>> receive_ranks(const MeetingPlace& place, std::int32_t size, Deadline deadline) {
  HOCKET_TRY(FileDescriptor listener, listen_at(place.name));
  return Reception(place, size, std::move(listener)).run(deadline);
}

}  // namespace hocket
