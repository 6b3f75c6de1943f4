// A way for the ranks of one group to exchange data. Lane queues the calls; a transport runs one after the other.
#pragma once

#include <string_view>
#include <vector>

#include "comm/call.h"

namespace hocket {

// A place in symmetric memory: its offset, the same on every rank, and where it lies here for each place of the group; null for
// ranks of other hosts.
struct SymmetricPlace {
  std::int64_t offset = 0;
  std::vector<std::byte*> parts;
};

class Rounds;

class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string_view name() const = 0;
  // Runs the call to its end in the caller's thread, which is one thread at a time. An error of kind `peer` names the rank that
  // died, is stuck or called something else; it leaves the transport unusable.
  virtual Status run(const GroupCall& call) = 0;
  // Runs a call of Operator::allocate. An error where the ranks share no memory.
  virtual Result<SymmetricPlace> allocate(const GroupCall& call) = 0;
  // Any thread may call it.
  virtual void release(std::int64_t offset) = 0;
  // The call that runs and all later ones fail with this on all ranks that share the transport. Any thread.
  virtual void fail_all(const Error&) {}
  // The rounds of the group's ranks on this host, in whose flight records their last calls are; null if there are none.
  virtual const Rounds* local_rounds() const { return nullptr; }
};

}  // namespace hocket
