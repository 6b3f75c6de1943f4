#include <unistd.h>

#include <thread>

#include "comm/meeting.h"

namespace hocket {

namespace {

constexpr auto pause = std::chrono::milliseconds(2);  // until the next look whether rank 0 is there

// Nothing if the connection was closed without an answer: rank 0 had too many strangers at its door.
Result<std::optional<FileDescriptor>> ask(FileDescriptor socket, const Hello& hello, Deadline deadline) {
  HOCKET_TRY(const uid_t user, user_of(socket));
  if (user != geteuid()) {
    return fail(ErrorKind::peer, "user {} listens at the meeting place, expected user {}", user, geteuid());
  }
  if (!send_packet(socket, hello.to_bytes(), {}, deadline)) return std::nullopt;
  const Result<Packet> answer = receive_packet(socket, deadline);
  if (!answer) return std::nullopt;
  if (answer->bytes[0] == failure_mark) {
    return fail(ErrorKind::peer, "rank 0 turned rank {} away: {}", hello.rank, answer->bytes.substr(1));
  }
  return std::optional(std::move(socket));
}

}  // namespace

Result<FileDescriptor> go_to(const MeetingPlace& place, std::int32_t rank, std::int32_t size, Deadline deadline) {
  const Hello hello{place.token, rank, size};
  bool seen = false;
  do {
    HOCKET_TRY(FileDescriptor socket, try_connect(place.name));
    if (socket.valid()) {
      seen = true;
      HOCKET_TRY(std::optional<FileDescriptor> accepted, ask(std::move(socket), hello, deadline));
      if (accepted) return std::move(*accepted);
    }
    std::this_thread::sleep_for(pause);
  } while (milliseconds_until(deadline) > 0);
  return fail(ErrorKind::peer, "rank {} waited in vain for the meeting of {} ranks: {}", rank, size,
              seen ? "rank 0 was there but did not let it in, or other ranks are missing" : "rank 0 did not come");
}

}  // namespace hocket
