// What hocket needs between hosts: messages of raw bytes between the ranks of a group.
//
//   HOCKET_TRY(std::unique_ptr<Wire> wire, open_wire(info, {}, deadline));
//   HOCKET_TRY(std::unique_ptr<Channel> channel, wire->channel(group.ranks(), deadline));
//   HOCKET_TRY(RequestHandle request, channel->isend(bytes, place, tag));
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/deadline.h"
#include "hocket/base/error.h"
#include "hocket/comm/launch_info.h"

namespace hocket {

// A message on its way. Its memory stays until test() has said true or an error. A request that goes before that is
// cancelled, which waits for a moment until nothing reads or writes its memory any more. Over MPI nobody can say so of a message to or
// from a rank that has died, or is stuck, while it was half there.
class Request {
 public:
  virtual ~Request() = default;
  // True when the message is complete, from then on. Moves all messages of this process along. An error of kind `peer` if it
  // failed, or if the message had another size than the receiver expected.
  virtual Result<bool> test() = 0;
  // The world rank at the other end.
  virtual std::int32_t peer() const = 0;
  // A receive whose message nobody needs any more. Unlike dropping it, this says nothing about the other end. No test() after it.
  virtual void cancel() = 0;
};
using RequestHandle = std::unique_ptr<Request>;

// The members of one group, by their places. Messages from one place to another with the same tag arrive in order, and may be
// of any size. Messages of one tag are begun by one thread at a time, those of different tags by any.
class Channel {
 public:
  static constexpr std::int32_t tags = 4096;  // a tag is below it

  virtual ~Channel() = default;
  virtual std::int32_t place() const = 0;
  virtual std::span<const std::int32_t> ranks() const = 0;
  virtual Result<RequestHandle> isend(std::span<const std::byte> bytes, std::int32_t place, std::int32_t tag) = 0;
  virtual Result<RequestHandle> irecv(std::span<std::byte> bytes, std::int32_t place, std::int32_t tag) = 0;
  // A member has died, is stuck or has given up: whoever would wait for all ranks of the program at the end, does not.
  virtual void abandon() {}
  // A place from which a message with this tag has come that no irecv was begun for; nothing if there is none.
  virtual Result<std::optional<std::int32_t>> probe(std::int32_t tag) = 0;
};

// What a thread that waits does from time to time: an error says why it should not wait any longer.
using Look = std::function<Status()>;

class Wire {
 public:
  virtual ~Wire() = default;
  virtual std::string_view name() const = 0;  // "Open MPI 4.1.4"
  virtual std::int32_t rank() const = 0;
  virtual std::int32_t size() const = 0;
  // The number of that rank's host. Hosts are numbered in the order of their lowest ranks.
  virtual std::int32_t host_of(std::int32_t rank) const = 0;
  // Collective over all ranks: everyone's few bytes, in the order of ranks.
  virtual Result<std::vector<std::string>> exchange(const std::string& bytes, Deadline deadline) = 0;
  // Collective over these ranks only, which all give in the same order; this one is among them. Stops waiting for them when `look`
  // finds a reason to.
  Result<std::unique_ptr<Channel>> channel(std::span<const std::int32_t> world_ranks, Deadline deadline,
                                           const Look& look = nullptr) {
    return form_channel(world_ranks, deadline, look);
  }

 private:
  virtual Result<std::unique_ptr<Channel>> form_channel(std::span<const std::int32_t> world_ranks, Deadline deadline,
                                                        const Look& look) = 0;
};

struct WireOptions {
  std::string folder;       // where the plugins are; empty: beside hocket's library or program
  bool one_thread = false;  // as if MPI could not be called from several threads
};

// Collective over all ranks of the program. The library is that of the launcher: Open MPI's mpirun, MPICH's mpiexec. MPI is
// initialised, and finalised when the Wire goes, unless the program has done so itself. For launchers that are not MPI's it is what
// a library above has provided.
Result<std::unique_ptr<Wire>> open_wire(const LaunchInfo& info, const WireOptions& options, Deadline deadline);

// How a library that is linked or loaded brings a wire for the ranks of a launcher. It says so once, when it is loaded.
using WireOpener = Result<std::unique_ptr<Wire>> (*)(const LaunchInfo& info, Deadline deadline);
void provide_wire(Launcher launcher, WireOpener opener);
// Null if there is none.
WireOpener provided_wire(Launcher launcher);

// What the waits for parts of large messages have lasted lately. Over a slow link each is a thousand times what a look takes, so
// that looking eagerly would cost the ranks' compute as much as the transfer itself.
class Rhythm {
 public:
  std::chrono::nanoseconds usual() const { return usual_; }
  void waited(std::chrono::nanoseconds time) { usual_ += (time - usual_) / 4; }

 private:
  std::chrono::nanoseconds usual_{};
};

// Sleeps a little longer each time that nothing has come. A core that only looks for messages is one that the ranks of the
// same host can't compute on.
class Patience {
 public:
  // `rhythm`: what such waits have lasted; where that is long, sleeps from the start, a part of it at a time.
  explicit Patience(Deadline deadline, Rhythm* rhythm = nullptr);
  void pause();
  // For those who can be woken: how long to sleep before the next look, once others have had the core.
  std::chrono::nanoseconds next();
  bool over() const { return std::chrono::steady_clock::now() >= deadline_; }
  // What was waited for has come: the rhythm learns how long that took, if there was anything to wait for.
  void came();

 private:
  Deadline deadline_;
  Rhythm* rhythm_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::nanoseconds slice_{};
  int pauses_ = 0;
};

// Returns when all are complete, or when `look` finds a reason to stop. At the deadline an error that names the rank that is
// waited for and `what` it was to do. Requests that are null are complete. `rhythm`: of a stream that they belong to.
Status wait_for_all(std::span<const RequestHandle> requests, Deadline deadline, std::string_view what,
                    const Look& look = nullptr, Rhythm* rhythm = nullptr);

}  // namespace hocket
