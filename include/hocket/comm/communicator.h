// Collectives of one group of ranks, on raw memory. Every call returns at once with a Work; calls of one group run in the order
// in which they were made, calls of different groups independently.
//
//   HOCKET_TRY(Communicator tp, world.communicator(mesh["tp"]));
//   Work work = tp.all_reduce(x, y, count, Dtype::bf16, ReduceOp::sum);
//
// All ranks of the group make the same calls in the same order. A call that differs fails on all of them before a result is
// written, naming both sides. After a failure every later call of the group fails with the same reason. Every call takes its own site
// as its last argument, so that errors and flight records name the caller's line without the caller's help.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "hocket/base/dtype.h"
#include "hocket/base/error.h"
#include "hocket/comm/call_options.h"
#include "hocket/comm/call_site.h"
#include "hocket/comm/group.h"
#include "hocket/comm/reduce_op.h"
#include "hocket/comm/symmetric_buffer.h"
#include "hocket/comm/work.h"

namespace hocket {

// One of the buffers of a coalesced call. `count` is in elements: of the input, and for a reduce_scatter of the output.
struct Transfer {
  const void* input = nullptr;
  void* output = nullptr;
  std::int64_t count = 0;
};

// One message of a batch, to or from a place of the group.
struct Message {
  enum class Direction : std::uint8_t { send, receive };
  Direction direction = Direction::send;
  void* data = nullptr;
  std::int64_t count = 0;
  std::int32_t peer = 0;
  std::int32_t tag = 0;
};

class Lane;

// A value; copies are the same communicator. May be used from several threads, though ranks must agree on the order of calls.
class Communicator {
 public:
  explicit Communicator(std::shared_ptr<Lane> lane) : lane_(std::move(lane)) {}
  const RankGroup& group() const;

  // An output may be its input (in an all_gather or reduce_scatter: this rank's part of the larger one), but may not overlap it
  // otherwise. Counts are in elements.
  Work all_reduce(const void* input, void* output, std::int64_t count, Dtype dtype, ReduceOp op,
                  const CallOptions& options = {}, CallSite site = CallSite::current()) const;
  // `output` takes count elements of each rank.
  Work all_gather(const void* input, void* output, std::int64_t count, Dtype dtype, const CallOptions& options = {},
                  CallSite site = CallSite::current()) const;
  // `input` has count elements for each rank.
  Work reduce_scatter(const void* input, void* output, std::int64_t count, Dtype dtype, ReduceOp op,
                      const CallOptions& options = {}, CallSite site = CallSite::current()) const;
  // `count` elements to each rank and from each rank.
  Work all_to_all(const void* input, void* output, std::int64_t count, Dtype dtype, const CallOptions& options = {},
                  CallSite site = CallSite::current()) const;
  // Elements to and from each rank, one behind the other in memory.
  Work all_to_all(const void* input, std::span<const std::int64_t> input_splits, void* output,
                  std::span<const std::int64_t> output_splits, Dtype dtype, const CallOptions& options = {},
                  CallSite site = CallSite::current()) const;
  // From the place `source` of the group; the input of the others is not read and may be null.
  Work broadcast(const void* input, void* output, std::int64_t count, Dtype dtype, std::int32_t source,
                 const CallOptions& options = {}, CallSite site = CallSite::current()) const;
  Work barrier(const CallOptions& options = {}, CallSite site = CallSite::current()) const;

  // One communication for many buffers.
  Work all_reduce_coalesced(std::span<const Transfer> parts, Dtype dtype, ReduceOp op, const CallOptions& options = {},
                            CallSite site = CallSite::current()) const;
  Work all_gather_coalesced(std::span<const Transfer> parts, Dtype dtype, const CallOptions& options = {},
                            CallSite site = CallSite::current()) const;
  Work reduce_scatter_coalesced(std::span<const Transfer> parts, Dtype dtype, ReduceOp op,
                                const CallOptions& options = {}, CallSite site = CallSite::current()) const;

  // Messages between two ranks arrive in order; one is received by the first receive with its tag. They wait neither for
  // collectives nor for each other.
  Work isend(const void* data, std::int64_t count, Dtype dtype, std::int32_t destination, std::int32_t tag = 0,
             const CallOptions& options = {}, CallSite site = CallSite::current()) const;
  Work irecv(void* data, std::int64_t count, Dtype dtype, std::int32_t source, std::int32_t tag = 0,
             const CallOptions& options = {}, CallSite site = CallSite::current()) const;
  // Done when all of them are.
  Work batch(std::span<const Message> messages, Dtype dtype, const CallOptions& options = {},
             CallSite site = CallSite::current()) const;

  // Collective. The same offset on every rank; fresh memory is zero, reused memory as it was left or zero: the group's next
  // allocation gives large parts that all have let go of back to the system.
  Result<SymmetricBuffer> allocate(Bytes bytes, const CallOptions& options = {},
                                   CallSite site = CallSite::current()) const;

  // This rank makes no more calls of the group: the one that runs and all later ones fail with this reason on all of its ranks, which
  // would otherwise wait for it until their timeouts. Any thread.
  void abandon(const Error& reason) const;

  // The last calls of the group's ranks on this host, also of those that have ended, as JSON for `hocket explain --flight`. At any
  // time, from any thread. With HOCKET_FLIGHT=FOLDER the first failure writes it to a file there.
  Result<std::string> flight_report() const;

 private:
  std::shared_ptr<Lane> lane_;
};

}  // namespace hocket
