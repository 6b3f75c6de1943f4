// Why the calls of a group on several hosts can't go on, whoever has found out: a rank of this host, or of another.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

#include "comm/transport.h"
#include "comm/wire_watch.h"

namespace hocket {

class HostsAlarm final : public WireListener {
 public:
  // `local` is of the group's ranks on this host; those who wait there are told, too.
  HostsAlarm(const Digest& group, std::span<const std::int32_t> ranks, Transport& local)
      : group_(group), ranks_(ranks.begin(), ranks.end()), local_(&local) {}

  const Digest& group() const override { return group_; }
  std::span<const std::int32_t> ranks() const override { return ranks_; }
  void hear(const Error& error) override { raise(error); }

  // The first reason stays: true for who gives it. Any thread.
  bool raise(const Error& error);
  // An error if it was raised here, or by another rank of the host. For those who wait on the wire: cheap.
  Status check();
  // The local transport is about to go.
  void detach();

 private:
  Digest group_;
  std::vector<std::int32_t> ranks_;
  std::atomic<bool> raised_ = false;
  Deadline looked_{};  // touched by the one who runs calls
  std::mutex mutex_;   // guards what follows
  Transport* local_;
  std::optional<Error> error_;
};

}  // namespace hocket
