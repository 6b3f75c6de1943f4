// The ranks of this program that run on this host: their memory, whether they live, and where the control block of each group
// lies in each one's memory.
#pragma once

#include <memory>
#include <span>

#include "comm/flag.h"
#include "comm/host_memory.h"
#include "comm/peer_watch.h"
#include "comm/tuning.h"
#include "hocket/base/digest.h"
#include "hocket/comm/mesh.h"

namespace hocket {

// Who waits looks as often whether the others live: a death is named well within 100 ms.
inline constexpr std::chrono::milliseconds between_looks_at_peers{20};

class Host {
 public:
  // Collective over the ranks of this host, which are these of the world, in the link's order.
  static Result<std::shared_ptr<Host>> create(HostLink link, Ranks ranks, Sharing sharing, Deadline deadline);
  // Tells the others that this rank has left.
  ~Host();

  std::int32_t self() const { return memory_.self(); }
  std::int32_t size() const { return static_cast<std::int32_t>(ranks_.size()); }
  std::int32_t world_rank(std::int32_t index) const { return ranks_[static_cast<std::size_t>(index)]; }
  HostMemory& memory() { return memory_; }
  const WaitPolicy& policy() const { return policy_; }
  // What rank 0 of the host has found in the cache: the same on all.
  const TuningTable& tuning() const { return tuning_; }
  const TuningTable& default_tuning() const { return default_tuning_; }
  pid_t pid(std::int32_t index) const { return watch_.pid(index); }

  // An error of kind `peer` if one of these ranks has ended or left. A system call; not for fast paths.
  Status check(std::span<const std::int32_t> indices) const;
  bool has_left(std::int32_t index) const;
  // An error of kind `peer` if one of these ranks was killed or has failed, rather than left or ended well.
  Status check_crash(std::span<const std::int32_t> indices) const;

  // Says where this rank has put its part of something that all members of a group have a part of. Once for each name.
  Status publish(const Digest& name, std::int64_t offset);
  // Takes zeroed memory for this rank's part and publishes it. Whoever asks for the same name again gets the same memory, since
  // others may have found it already.
  Result<std::int64_t> publish_memory(const Digest& name, Bytes bytes);
  // Where that rank has put it, if it has yet.
  std::optional<std::int64_t> look_up(const Digest& name, std::int32_t index) const;
  // Waits until that rank has published its part.
  Result<std::int64_t> find(const Digest& name, std::int32_t index, Deadline deadline) const;

 private:
  struct Header;
  Host(HostLink link, Ranks ranks, HostMemory memory, PeerWatch watch)
      : link_(std::move(link)), ranks_(std::move(ranks)), memory_(std::move(memory)), watch_(std::move(watch)) {}
  Header& header_of(std::int32_t index) const;

  HostLink link_;
  Ranks ranks_;
  HostMemory memory_;
  PeerWatch watch_;
  WaitPolicy policy_;
  TuningTable tuning_;
  TuningTable default_tuning_;
  std::mutex mutex_;  // of publish()
};

}  // namespace hocket
