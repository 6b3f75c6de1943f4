// A training step in small, compiled: sums, maxima and broadcasts over the world and over rows and columns of its ranks, with
// computation between them, on planned memory. Every rank can say what any rank must get, and does so without running it.
//
//   const CompiledStep step(seed, 4);                      // before the ranks are started
//   StepRunner runner(step, world);                        // on each rank
//   if (!runner.run(number)) …; if (!runner.is_right(number)) …
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hocket/ir/program.h"
#include "hocket/run/executor.h"
#include "support/plain_kernels.h"
#include "support/random.h"

namespace hocket {

class CompiledStep {
 public:
  CompiledStep(std::uint64_t seed, std::int32_t ranks);

  std::int32_t ranks() const { return ranks_; }
  std::int64_t elements() const { return elements_; }
  const Program& program(std::int32_t rank) const { return programs_[static_cast<std::size_t>(rank)]; }
  const std::string& passes() const { return passes_; }
  float input(std::int32_t rank, int run, std::int64_t element) const;
  // The result of every rank at one element: all operators work element by element.
  std::vector<float> results(int run, std::int64_t element) const;

 private:
  enum class Extent { world, row, column };
  struct Layer {
    bool adds = false;  // x + x instead of -x before the communication
    bool broadcasts = false;
    std::string reduce = "sum";
    Extent extent = Extent::world;
  };
  std::vector<std::int32_t> members(Extent extent, std::int32_t rank) const;
  std::string text(std::int32_t rank) const;

  std::int32_t ranks_;
  std::int64_t elements_ = 0;
  std::vector<Layer> layers_;
  std::string passes_;
  std::vector<Program> programs_;  // by rank
};

// One rank's part in it.
class StepRunner {
 public:
  // Where there is no executor, run() says why.
  StepRunner(const CompiledStep& step, const World& world, const ExecutorOptions& options = {});
  Status run(int number);
  bool is_right(int number) const;

 private:
  const CompiledStep& step_;
  std::int32_t rank_;
  std::vector<float> input_;
  PlainKernels kernels_;
  Result<std::unique_ptr<Executor>> executor_;
};

}  // namespace hocket
