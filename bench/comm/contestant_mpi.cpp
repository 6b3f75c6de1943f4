// The collectives of an MPI library as a contestant; built once for each library.
//
//   mpirun … contestant_open_mpi CONTROL AFFINITY
#include <mpi.h>

#include <fmt/format.h>

#include <limits>

#include "rank_loop.h"

namespace hocket::comm_bench {
namespace {

class MpiEngine : public Engine {
 public:
  MpiEngine() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  std::int32_t rank() const override { return rank_; }
  std::int32_t size() const override { return size_; }

  Status run(const GroupCall& call) override {
    if (call.count > std::numeric_limits<int>::max()) return fail(ErrorKind::usage, "MPI counts in int");
    const int result = dispatch(call, static_cast<int>(call.count));
    if (result != MPI_SUCCESS) return fail(ErrorKind::system, "MPI error {} in {}", result, name_of(call.op));
    return {};
  }

 private:
  static int dispatch(const GroupCall& call, int count) {
    const MPI_Comm world = MPI_COMM_WORLD;
    switch (call.op) {
      case Operator::all_reduce:
        return MPI_Allreduce(call.input == call.output ? MPI_IN_PLACE : call.input, call.output, count, MPI_FLOAT,
                             MPI_SUM, world);
      case Operator::all_gather:
        return MPI_Allgather(call.input, count, MPI_FLOAT, call.output, count, MPI_FLOAT, world);
      case Operator::reduce_scatter:
        return MPI_Reduce_scatter_block(call.input, call.output, count, MPI_FLOAT, MPI_SUM, world);
      case Operator::all_to_all:
        return MPI_Alltoall(call.input, count, MPI_FLOAT, call.output, count, MPI_FLOAT, world);
      case Operator::broadcast: return MPI_Bcast(call.output, count, MPI_FLOAT, call.root, world);
      case Operator::barrier: return MPI_Barrier(world);
    }
    return MPI_ERR_OTHER;
  }

  int rank_ = 0;
  int size_ = 1;
};

int run(int argc, char** argv) {
  start_watchdog();
  MPI_Init(&argc, &argv);
  MpiEngine engine;
  if (argc != 3) {
    fmt::print(stderr, "got {} arguments, expected CONTROL AFFINITY\n", argc - 1);
    return 2;
  }
  if (const Status bound = bind_to_cores(argv[2], engine.rank()); !bound) {
    fmt::print(stderr, "{}\n", bound.error().to_string());
    return 1;
  }
  const int code = serve(engine, argv[1]);
  MPI_Finalize();
  return code;
}

}  // namespace
}  // namespace hocket::comm_bench

int main(int argc, char** argv) { return hocket::comm_bench::run(argc, argv); }
