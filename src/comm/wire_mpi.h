// The Wire over a plugin's table of MPI functions.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "comm/mpi/mpi_table.h"
#include "comm/stuck_calls.h"
#include "comm/wire.h"
#include "comm/wire_farewells.h"
#include "comm/wire_thread.h"

namespace hocket {

// An initialised MPI library. Lives as long as a wire, a channel or a request does.
class MpiLibrary {
 public:
  // Collective.
  static Result<std::shared_ptr<MpiLibrary>> start(const HocketMpiTable& table, bool one_thread);
  ~MpiLibrary();

  const HocketMpiStarted& started() const { return started_; }
  std::string name() const;

  // `call(table)` in this thread where MPI may be called from any, in MPI's own thread otherwise.
  template <class Function>
  void run(const Function& function) {
    const auto call = [&] {
      const StuckCalls::Inside inside(calls_);
      function(table_);
    };
    if (direct_) call();
    else thread_.run(call);
  }
  // The same for what returns an error's number; `what` was to be done.
  template <class Function>
  Status call(std::string_view what, const Function& function) {
    int error = 0;
    run([&](const HocketMpiTable& mpi) { error = function(mpi); });
    return error == 0 ? Status{} : failure(what, error);
  }
  // A peer does not answer any more: MPI can't be finalised, since that waits for all, and may not come back from a call.
  void give_up();
  // Until when to wait for messages that nobody needs any more. A call that fails lets go of all its messages at once: together they have
  // one short time.
  Deadline settled_by();

 private:
  explicit MpiLibrary(const HocketMpiTable& table) : table_(table) {}
  Status choose_thread(bool one_thread);
  Status failure(std::string_view what, int error) const;

  const HocketMpiTable& table_;
  StuckCalls calls_;
  // Initialises and finalises, which MPI wants from one thread, and makes all calls where MPI knows no others.
  WireThread thread_;
  HocketMpiStarted started_{};
  bool direct_ = false;
  std::atomic<bool> broken_{false};
  std::atomic<Deadline> settled_by_{Deadline()};
  std::optional<WireFarewell> farewell_;  // once MPI is initialised
};

// The channel numbers of this process. A number is part of the tag of all messages to this process on that channel, so the
// channels need no communicators, of which MPI libraries have two thousand at most.
class ChannelNumbers {
 public:
  explicit ChannelNumbers(std::int32_t most) : most_(most) {}
  Result<std::int32_t> take();
  void give_back(std::int32_t number);

 private:
  std::mutex mutex_;
  std::int32_t most_;
  std::int32_t next_ = 0;
  std::vector<std::int32_t> free_;
};

// Collective over all ranks.
Result<std::unique_ptr<Wire>> make_mpi_wire(const HocketMpiTable& table, bool one_thread, Deadline deadline);

// One message in flight; `what` is for the error.
Result<RequestHandle> make_mpi_request(std::shared_ptr<MpiLibrary> library, std::int32_t peer,
                                       const std::function<int(const HocketMpiTable&, HocketMpiRequest**)>& begin);

// Collective over the ranks. Finds out about ranks that don't come or that want another channel.
Result<std::unique_ptr<Channel>> meet_on_channel(std::shared_ptr<MpiLibrary> library,
                                                 std::shared_ptr<ChannelNumbers> numbers,
                                                 std::span<const std::int32_t> ranks, Deadline deadline,
                                                 const Look& look);

}  // namespace hocket
