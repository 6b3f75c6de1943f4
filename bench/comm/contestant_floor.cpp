// The least that a collective of two ranks with all buffers in shared memory has to do: every byte of a result is read from
// where it was made and written to where it belongs, once, without telling anybody. What this takes is the floor that memory
// sets.
//
//   contestant_floor CONTROL AFFINITY
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <new>

#include "rank_loop.h"
#include "values.h"

namespace hocket::comm_bench {
namespace {

constexpr std::int32_t ranks = 2;
constexpr std::int64_t largest_elements = (std::int64_t{256} << 20) / static_cast<std::int64_t>(sizeof(float));
constexpr std::int64_t buffers_of_rank = 2;  // input and output

struct Shared {
  std::atomic<std::int64_t> arrived{0};
  float* memory[ranks] = {};  // room for the buffers of a rank, one after the other
};

class FloorEngine : public Engine {
 public:
  FloorEngine(Shared& shared, std::int32_t rank) : shared_(shared), rank_(rank) {}
  std::int32_t rank() const override { return rank_; }
  std::int32_t size() const override { return ranks; }

  Status run(const GroupCall& call) override {
    const std::int64_t count = call.count;
    const std::int64_t own = rank_ * count;
    const std::int64_t others = other() * count;
    switch (call.op) {
      case Operator::barrier: return meet();
      case Operator::all_reduce: sum_half(call); break;
      case Operator::reduce_scatter: add(call.output, call.input + own, of_other(call.input) + own, count); break;
      case Operator::all_gather:
        copy(call.output + own, call.input, count);
        copy(call.output + others, of_other(call.input), count);
        break;
      case Operator::all_to_all:
        copy(call.output + own, call.input + own, count);
        copy(call.output + others, of_other(call.input) + own, count);
        break;
      case Operator::broadcast:
        if (rank_ != call.root) copy(call.output, of_other(call.output), count);
        break;
    }
    return {};
  }

  // Both ranks ask for the same in the same order, so a buffer is at the same place of either's memory.
  Result<Memory> allocate(std::int64_t elements, BufferKind kind) override {
    if (kind == BufferKind::private_memory || elements > largest_elements)
      return fail(ErrorKind::usage, "the floor is that of symmetric memory up to 256 MiB");
    for (std::int64_t i = 0; i < buffers_of_rank; ++i) {
      if (taken_[i]) continue;
      taken_[i] = true;
      return Memory(shared_.memory[rank_] + i * largest_elements, [this, i](float*) { taken_[i] = false; });
    }
    return fail(ErrorKind::internal, "a rank has {} buffers, and both are taken", buffers_of_rank);
  }

 private:
  std::int32_t other() const { return 1 - rank_; }
  const float* of_other(const float* mine) const { return shared_.memory[other()] + (mine - shared_.memory[rank_]); }

  // In place.
  void sum_half(const GroupCall& call) {
    const std::int64_t middle = call.count / 2;
    const std::int64_t first = rank_ == 0 ? 0 : middle;
    const std::int64_t last = rank_ == 0 ? middle : call.count;
    const std::int64_t offset = call.output - shared_.memory[rank_] + first;
    add_into_both(shared_.memory[0] + offset, shared_.memory[1] + offset, last - first);
  }

  Status meet() {
    const std::int64_t all_here = (++met_) * ranks;
    shared_.arrived.fetch_add(1);
    while (shared_.arrived.load() < all_here) sched_yield();
    return {};
  }

  Shared& shared_;
  std::int32_t rank_;
  std::int64_t met_ = 0;
  bool taken_[buffers_of_rank] = {};
};

void* shared_memory(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  madvise(memory, bytes, MADV_HUGEPAGE);  // as good as the machine has it; no harm where it has none
  return memory;
}

int run(const std::string& control, const std::string& affinity) {
  void* memory = shared_memory(sizeof(Shared));
  if (memory == nullptr) return 1;
  auto* shared = new (memory) Shared;
  for (float*& room : shared->memory) {
    room = static_cast<float*>(shared_memory(buffers_of_rank * largest_elements * sizeof(float)));
    if (room == nullptr) return 1;
  }
  const pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
  start_watchdog();
  const std::int32_t rank = child == 0 ? 1 : 0;
  FloorEngine engine(*shared, rank);
  if (const Status bound = bind_to_cores(affinity, rank); !bound) {
    fmt::print(stderr, "{}\n", bound.error().to_string());
    return 1;
  }
  const int code = serve(engine, control);
  if (child > 0) waitpid(child, nullptr, 0);
  return code;
}

}  // namespace
}  // namespace hocket::comm_bench

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "got {} arguments, expected CONTROL AFFINITY\n", argc - 1);
    return 2;
  }
  return hocket::comm_bench::run(argv[1], argv[2]);
}
