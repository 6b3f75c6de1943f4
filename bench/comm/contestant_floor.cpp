// The least that an all_reduce of two ranks with both buffers in shared memory has to do: each rank adds its half and writes the
// sum to both, without telling anybody. What this takes is the floor that memory sets.
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

struct Shared {
  std::atomic<std::int64_t> arrived{0};
  float* buffers[ranks] = {};
};

class FloorEngine : public Engine {
 public:
  FloorEngine(Shared& shared, std::int32_t rank) : shared_(shared), rank_(rank) {}
  std::int32_t rank() const override { return rank_; }
  std::int32_t size() const override { return ranks; }

  Status supports(Operator op) const override {
    if (op == Operator::all_reduce || op == Operator::barrier) return {};
    return fail(ErrorKind::usage, "the floor is that of all_reduce");
  }

  Status run(const GroupCall& call) override {
    if (call.op == Operator::barrier) return meet();
    const std::int64_t middle = call.count / 2;
    const std::int64_t first = rank_ == 0 ? 0 : middle;
    const std::int64_t last = rank_ == 0 ? middle : call.count;
    add_into_both(shared_.buffers[0] + first, shared_.buffers[1] + first, last - first);
    return {};
  }

  Result<Memory> allocate(std::int64_t elements, BufferKind kind) override {
    if (kind == BufferKind::private_memory || elements > largest_elements)
      return fail(ErrorKind::usage, "the floor is that of symmetric memory up to 256 MiB");
    return Memory(shared_.buffers[rank_], [](float*) {});
  }

 private:
  Status meet() {
    const std::int64_t all_here = (++met_) * ranks;
    shared_.arrived.fetch_add(1);
    while (shared_.arrived.load() < all_here) sched_yield();
    return {};
  }

  Shared& shared_;
  std::int32_t rank_;
  std::int64_t met_ = 0;
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
  for (float*& buffer : shared->buffers) {
    buffer = static_cast<float*>(shared_memory(static_cast<std::size_t>(largest_elements) * sizeof(float)));
    if (buffer == nullptr) return 1;
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
