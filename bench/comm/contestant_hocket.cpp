// hocket itself as a contestant.
//
//   contestant_hocket RANKS CONTROL AFFINITY    starts the ranks as `hocket launch` does
//   contestant_hocket CONTROL AFFINITY          is one of them
#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "comm/launch.h"
#include "hocket/comm/world.h"
#include "rank_loop.h"

namespace hocket::comm_bench {
namespace {

class HocketEngine : public Engine {
 public:
  explicit HocketEngine(Communicator group) : group_(std::move(group)) { options_.blocking = true; }
  std::int32_t rank() const override { return group_.group().place(); }
  std::int32_t size() const override { return group_.group().size(); }

  Status run(const GroupCall& call) override { return start(call).wait(); }

  Result<Memory> allocate(std::int64_t elements, BufferKind kind) override {
    if (kind == BufferKind::private_memory) return Engine::allocate(elements, kind);
    HOCKET_TRY(SymmetricBuffer buffer,
               group_.allocate(Bytes(elements * static_cast<std::int64_t>(sizeof(float))), options_));
    auto* data = reinterpret_cast<float*>(buffer.data());
    return Memory(data, [kept = std::move(buffer)](float*) {});
  }

 private:
  Work start(const GroupCall& call) const {
    constexpr Dtype dtype = Dtype::f32;
    constexpr ReduceOp sum = ReduceOp::sum;
    switch (call.op) {
      case Operator::all_reduce: return group_.all_reduce(call.input, call.output, call.count, dtype, sum, options_);
      case Operator::all_gather: return group_.all_gather(call.input, call.output, call.count, dtype, options_);
      case Operator::reduce_scatter:
        return group_.reduce_scatter(call.input, call.output, call.count, dtype, sum, options_);
      case Operator::all_to_all: return group_.all_to_all(call.input, call.output, call.count, dtype, options_);
      case Operator::broadcast:
        return group_.broadcast(call.input, call.output, call.count, dtype, call.root, options_);
      case Operator::barrier: break;
    }
    return group_.barrier(options_);
  }

  Communicator group_;
  CallOptions options_;
};

Result<int> be_rank(const std::string& control, const std::string& affinity) {
  start_watchdog();
  HOCKET_TRY(const LaunchInfo started, launch_info());
  HOCKET_CHECK(bind_to_cores(affinity, started.rank));  // before threads are started, which inherit it
  HOCKET_TRY(const World world, World::join());
  HOCKET_TRY(const Communicator group, world.communicator());
  HocketEngine engine(group);
  return serve(engine, control);
}

Result<int> start_ranks(const std::string& ranks, const std::string& control, const std::string& affinity) {
  LaunchOptions options;
  std::from_chars(ranks.data(), ranks.data() + ranks.size(), options.ranks);
  options.command = {std::filesystem::read_symlink("/proc/self/exe").string(), control, affinity};
  options.environment = inherited_environment();
  return launch(options);
}

Result<int> run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 2) return be_rank(arguments[0], arguments[1]);
  if (arguments.size() == 3) return start_ranks(arguments[0], arguments[1], arguments[2]);
  return fail(ErrorKind::usage, "got {} arguments, expected [RANKS] CONTROL AFFINITY", arguments.size());
}

}  // namespace
}  // namespace hocket::comm_bench

int main(int argc, char** argv) {
  const hocket::Result<int> code = hocket::comm_bench::run({argv + 1, argv + argc});
  if (!code) fmt::print(stderr, "{}\n", code.error().to_string());
  return code.value_or(1);
}
