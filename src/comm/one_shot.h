// Small collectives of the ranks of one host: everyone copies its input into symmetric memory, raises a flag, waits for the
// flags of all, and reads everything. One synchronisation for each call.
//
//   HOCKET_TRY(OneShot calls, OneShot::create(memory, watch, options, deadline));
//   HOCKET_CHECK(calls.all_reduce_sum(gradient, gradient));
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>

#include "comm/flag.h"
#include "comm/symmetric_memory.h"

namespace hocket {

struct OneShotOptions {
  Bytes slot{std::int64_t{64} << 10};          // larger inputs go in parts of this size
  std::chrono::milliseconds timeout{300'000};  // for each call
  WaitPolicy policy = WaitPolicy::for_ranks(1, 1);
};

// Used by one thread at a time; refers to the memory and the watch, which outlive it. All ranks make the same calls in the same
// order. A call that differs fails on all ranks before a result is written, naming both sides. After a failure every later call
// fails with the same reason.
class OneShot {
 public:
  // Collective.
  static Result<OneShot> create(SymmetricMemory& memory, const PeerWatch& watch, OneShotOptions options,
                                Deadline deadline);

  // Returns when all ranks have come.
  Status barrier();
  // output[i] = ((input of rank 0)[i] + (input of rank 1)[i]) + …, in this order, so the bits are the same on all ranks.
  // The output may be the input, but may not overlap it otherwise.
  Status all_reduce_sum(std::span<const float> input, std::span<float> output);

 private:
  enum class Operator : std::uint32_t { barrier = 1, all_reduce_sum = 2 };
  // What a rank called, in the line of its flag.
  struct Call {
    Operator op;
    std::int64_t count;    // elements of the whole call
    std::int64_t part;     // the first element of this part of it
    std::uint32_t number;  // of the call, from 1
    std::string to_string() const;
    friend bool operator==(const Call&, const Call&) = default;
  };
  struct alignas(128) Line {
    Flag flag;
    Call call;
  };
  static_assert(sizeof(Line) == 128);

  OneShot(SymmetricMemory& memory, const PeerWatch& watch, OneShotOptions options)
      : memory_(&memory), watch_(&watch), options_(options) {}
  Line& line_of(std::int32_t rank) const;
  float* slot_of(std::int32_t rank) const;
  Status step(Operator op, std::int64_t count, std::int64_t part, std::span<const float> input);
  Status meet(Deadline deadline) const;
  Status remember(Status status);

  SymmetricMemory* memory_;
  const PeerWatch* watch_;
  OneShotOptions options_;
  std::int64_t lines_ = 0;  // offset of two lines
  std::int64_t slots_ = 0;  // offset of two slots
  std::uint32_t step_ = 0;  // flags count steps: one for each part of a call
  std::uint32_t calls_ = 0;
  std::string failure_;
};

}  // namespace hocket
