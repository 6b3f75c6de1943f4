// A rank of the tests across hosts that has a process group of its own and joins a world over it: sums by both, in turn, have to be
// the same. Prints a line from rank 0.
//
//   group_program [SECONDS]      until all ranks have come
#include <ATen/ATen.h>
#include <fmt/format.h>

#include "hocket/torch/process_group.h"
#include "rank_program.h"
#include "torch/gloo_group.h"

namespace hocket {
namespace {

using GroupPointer = c10::intrusive_ptr<c10d::ProcessGroup>;

Status compare(const World& world, const GroupPointer& group, std::int64_t count) {
  const at::Tensor mine = at::arange(count, at::kDouble) * (world.rank() + 1);
  std::vector<at::Tensor> theirs{mine.clone()};
  const auto work = group->allreduce(theirs);
  at::Tensor ours = mine.clone();
  HOCKET_TRY(const Communicator all, world.communicator());
  auto* const data = ours.data_ptr<double>();
  HOCKET_CHECK(all.all_reduce(data, data, count, Dtype::f64, ReduceOp::sum).wait());
  work->wait();
  if (at::equal(ours, theirs[0])) return {};
  return fail(ErrorKind::internal, "rank {}: sums of {} numbers differ", world.rank(), count);
}

Status check(std::chrono::seconds patience) {
  const LaunchVariables variables = Env::read().launch;
  HOCKET_TRY(const LaunchInfo launch, launch_info(variables));
  HOCKET_TRY(const GroupPointer group, make_gloo_group(launch, variables, std::chrono::steady_clock::now() + patience));
  for (int turn = 0; turn < 2; ++turn) {
    HOCKET_TRY(const World world, join_over(group));
    for (const std::int64_t count : {1, 1'000, 500'000}) HOCKET_CHECK(compare(world, group, count));
  }
  std::vector<at::Tensor> still_there{at::ones({10})};
  group->allreduce(still_there)->wait();
  if (still_there[0][0].item<float>() != static_cast<float>(launch.world_size)) {
    return fail(ErrorKind::internal, "rank {}: the group has suffered", launch.rank);
  }
  if (launch.rank == 0) {
    fmt::print("the same sums by hocket and by the group itself, on {} ranks, twice\n", launch.world_size);
  }
  return {};
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  return hocket::exit_code_of(hocket::check(std::chrono::seconds(argc > 1 ? std::stoi(argv[1]) : 60)));
}
