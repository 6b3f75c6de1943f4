// One call of one rank, as the transports get it: checked, in elements, with a timeout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "comm/deadline.h"
#include "hocket/base/dtype.h"
#include "hocket/comm/call_options.h"
#include "hocket/comm/communicator.h"

namespace hocket {

enum class Operator : std::uint8_t {
  barrier,
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  allocate,
  send,
  receive,
};

std::string_view name_of(Operator op);
inline bool reduces(Operator op) { return op == Operator::all_reduce || op == Operator::reduce_scatter; }
// A rank's input has a share for each of the ranks; its output has one of each.
inline bool gives_shares(Operator op) { return op == Operator::reduce_scatter || op == Operator::all_to_all; }
inline bool gets_shares(Operator op) { return op == Operator::all_gather || op == Operator::all_to_all; }

// What people want to know of a call.
struct CallFacts {
  Operator op;
  Dtype dtype;
  ReduceOp reduce;
  CollectiveAlgorithm algorithm;
  std::int32_t root;
  std::int32_t tag;
  std::int32_t parts;
  std::int64_t count;
  double factor;
  std::uint64_t number;
  std::uint32_t line;        // where in the file the call was made; 0 if unknown
  std::uint16_t file;        // its place among the names of a FlightRing
  CollectiveAlgorithm used;  // what `automatic` came to; automatic where there is nothing to choose
};

// "all_reduce(f32[1024], sum) as call 7 at train.cpp:31"
std::string describe(const CallFacts& facts, std::string_view file);

struct GroupCall {
  Operator op = Operator::barrier;
  Dtype dtype = Dtype::u8;
  ReduceOp reduce = ReduceOp::sum;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic;
  std::int32_t root = 0;  // broadcast: the source; send, receive: the peer
  std::int32_t tag = 0;
  std::int64_t block = 0;
  double factor = 1.0;
  std::int64_t count =
      0;  // elements of all parts (of one rank's share in an all_to_all of equal parts); allocate: bytes
  std::uint64_t number = 0;    // of the group's calls, from 1
  Transfer first;              // the only part of most calls
  std::vector<Transfer> many;  // the parts of a coalesced call
  // all_to_all with splits: elements to and from each place. Without: `count` each.
  bool has_splits = false;
  std::vector<std::int64_t> input_splits;
  std::vector<std::int64_t> output_splits;
  std::chrono::milliseconds timeout{300'000};
  CallSite site;

  std::span<const Transfer> parts() const {
    return many.empty() ? std::span<const Transfer>(&first, 1) : std::span<const Transfer>(many);
  }
  // The timeout from the first time that somebody asks: looking at the clock takes longer than a small collective.
  Deadline deadline() const {
    if (deadline_ == Deadline{}) deadline_ = std::chrono::steady_clock::now() + timeout;
    return deadline_;
  }
  // Of what all ranks must have in common: operator, dtype, reduce op, counts, source, number; not buffers and not splits.
  std::uint64_t fingerprint() const;
  CallFacts facts() const;
  std::string_view file() const;  // of the caller, without its folders
  std::string to_string() const;

 private:
  mutable Deadline deadline_{};
};

}  // namespace hocket
