// The collectives of oneCCL on host memory as a contestant. Intel MPI starts the ranks and carries the address at which they meet.
//
//   mpiexec … contestant_oneccl CONTROL AFFINITY
#include <mpi.h>

#include <fmt/format.h>

#include <oneapi/ccl.hpp>

#include "rank_loop.h"

namespace hocket::comm_bench {
namespace {

ccl::communicator meet(int rank, int size) {
  ccl::shared_ptr_class<ccl::kvs> place;
  ccl::kvs::address_type address;
  if (rank == 0) {
    place = ccl::create_main_kvs();
    address = place->get_address();
  }
  MPI_Bcast(address.data(), static_cast<int>(address.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
  if (rank != 0) place = ccl::create_kvs(address);
  return ccl::create_communicator(size, rank, place);
}

class OneCclEngine : public Engine {
 public:
  OneCclEngine(int rank, int size) : rank_(rank), size_(size), group_(meet(rank, size)) {}
  std::int32_t rank() const override { return rank_; }
  std::int32_t size() const override { return size_; }

  Status run(const GroupCall& call) override {
    try {
      start(call).wait();
    } catch (const std::exception& error) {
      return fail(ErrorKind::system, "oneCCL in {}: {}", name_of(call.op), error.what());
    }
    return {};
  }

 private:
  ccl::event start(const GroupCall& call) const {
    const auto count = static_cast<std::size_t>(call.count);
    constexpr auto dtype = ccl::datatype::float32;
    constexpr auto sum = ccl::reduction::sum;
    switch (call.op) {
      case Operator::all_reduce: return ccl::allreduce(call.input, call.output, count, dtype, sum, group_);
      case Operator::all_gather:
        return ccl::allgatherv(call.input, count, call.output,
                               ccl::vector_class<std::size_t>(static_cast<std::size_t>(size_), count), dtype, group_);
      case Operator::reduce_scatter: return ccl::reduce_scatter(call.input, call.output, count, dtype, sum, group_);
      case Operator::all_to_all: return ccl::alltoall(call.input, call.output, count, dtype, group_);
      case Operator::broadcast: return ccl::broadcast(call.output, count, dtype, call.root, group_);
      case Operator::barrier: break;
    }
    return ccl::barrier(group_);
  }

  int rank_;
  int size_;
  ccl::communicator group_;
};

int run(int argc, char** argv) {
  start_watchdog();
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 3) {
    fmt::print(stderr, "got {} arguments, expected CONTROL AFFINITY\n", argc - 1);
    return 2;
  }
  // before oneCCL starts threads, which inherit it
  if (const Status bound = bind_to_cores(argv[2], rank); !bound) {
    fmt::print(stderr, "{}\n", bound.error().to_string());
    return 1;
  }
  ccl::init();
  int code = 0;
  {
    OneCclEngine engine(rank, size);
    code = serve(engine, argv[1]);
  }
  MPI_Finalize();
  return code;
}

}  // namespace
}  // namespace hocket::comm_bench

int main(int argc, char** argv) { return hocket::comm_bench::run(argc, argv); }
