// Calls of a group that are drawn at random, made by every rank from the same plan, and checked against what they must give.
//
//   const PlannedCall plan = random_call(random, group.size());
//   MadeCall made(plan, group);   // starts it
//   if (made.work.wait() && !made.is_right()) …
#pragma once

#include <string>
#include <vector>

#include "hocket/comm/communicator.h"
#include "support/random.h"

namespace hocket {

struct PlannedCall {
  enum class Kind {
    barrier,
    all_reduce,
    all_gather,
    reduce_scatter,
    all_to_all,
    broadcast,
    unequal_all_to_all,
    coalesced_all_reduce,
    coalesced_all_gather,
    coalesced_reduce_scatter,
    allocate,
    message,
  };
  Kind kind = Kind::barrier;
  Dtype dtype = Dtype::i32;
  ReduceOp op = ReduceOp::sum;
  double factor = 1.0;
  std::int64_t count = 0;           // elements, as the call takes it; of an allocate: bytes
  std::vector<std::int64_t> parts;  // counts of a coalesced call
  std::int32_t source = 0;          // of a broadcast or message
  std::int32_t destination = 0;     // of a message
  std::int64_t salt = 0;            // decides the data and the unequal splits
  std::int64_t wrong_split = 0;     // added to the first split that this rank sends to another one
  bool blocking = false;
  bool reading = false;  // an all_to_all that reads the others' own memory, whatever its size

  bool reduces() const;
  bool is_coalesced() const { return !parts.empty(); }
  std::string to_string() const;
};

// A collective with small buffers, now and then one that takes many rounds.
PlannedCall random_call(Random& random, std::int32_t ranks);
PlannedCall random_call_of(PlannedCall::Kind kind, Random& random, std::int32_t ranks);
PlannedCall random_message(Random& random, std::int32_t ranks);

// One rank's call with its buffers. Outputs begin as poison.
class MadeCall {
 public:
  MadeCall(const PlannedCall& plan, const Communicator& group, const CallOptions& options = {});

  const PlannedCall& plan() const { return plan_; }
  bool is_right() const;      // the output is what the calls of all ranks give together
  bool is_untouched() const;  // the output is still poison

  Work work;
  SymmetricBuffer memory;  // of an allocate

 private:
  struct Shape;
  Shape shape() const;
  void start(const Communicator& group, CallOptions options);
  double expected(std::int64_t index) const;
  double reduced(std::int64_t index) const;
  std::vector<Transfer> transfers();

  PlannedCall plan_;
  std::int32_t ranks_;
  std::int32_t place_;
  std::vector<std::int64_t> sends_;  // of an all_to_all with unequal splits
  std::vector<std::int64_t> gets_;
  std::vector<std::byte> input_;
  std::vector<std::byte> output_;
};

}  // namespace hocket
