// What a contestant in C++ has to bring: its collectives, and memory of its own kind if it has one.
#pragma once

#include <cstdint>
#include <memory>

#include "protocol.h"

namespace hocket::comm_bench {

// Memory for one input or output, given back when the last owner lets go.
using Memory = std::shared_ptr<float>;

// One call of a collective on f32 with sum. In place: input and output are the same.
struct GroupCall {
  Operator op = Operator::barrier;
  const float* input = nullptr;
  float* output = nullptr;
  std::int64_t count = 0;  // as Extent::count
  std::int32_t root = 0;   // of a broadcast
};

class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  virtual std::int32_t rank() const = 0;
  virtual std::int32_t size() const = 0;
  // Returns when the result is there.
  virtual Status run(const GroupCall& call) = 0;
  // An error of kind usage where the contestant has no such operator.
  virtual Status supports(Operator /*op*/) const { return {}; }
  // Collective. What every program has, unless a contestant brings better.
  virtual Result<Memory> allocate(std::int64_t elements, BufferKind kind);
};

}  // namespace hocket::comm_bench
