// A rank of a program that has initialised MPI itself, before it joins the world, and goes on using it.
//
//   own_mpi LEVEL      what it asks of MPI: multiple, serialized or funneled
//
// Prints a line from rank 0 if all was right, and what World::join() says where it can't be.
#include <fmt/format.h>
#include <mpi.h>

#include <string>
#include <vector>

#include "hocket/comm/world.h"

namespace hocket {
namespace {

constexpr std::int64_t elements = 300'007;  // in many blocks

// What the program does with MPI on its own.
bool own_sum_is_right(int ranks) {
  int one = 1;
  int sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return sum == ranks;
}

Status use(const World& world) {
  HOCKET_TRY(const Communicator all, world.communicator());
  std::vector<float> data(static_cast<std::size_t>(elements), static_cast<float>(world.rank() + 1));
  const Work sum = all.all_reduce(data.data(), data.data(), elements, Dtype::f32, ReduceOp::sum);
  // A message to the same place of the other host, at the same time.
  const std::int32_t peer = (world.rank() + 2) % 4;
  const std::vector<std::int32_t> sent(100'000, world.rank());
  std::vector<std::int32_t> got(100'000, -1);
  const Work send = all.isend(sent.data(), 100'000, Dtype::i32, peer);
  HOCKET_CHECK(all.irecv(got.data(), 100'000, Dtype::i32, peer).wait());
  HOCKET_CHECK(send.wait());
  HOCKET_CHECK(sum.wait());
  if (data.front() != 10.0F || data.back() != 10.0F) return fail(ErrorKind::internal, "wrong sum {}", data.back());
  if (got != std::vector<std::int32_t>(100'000, peer)) return fail(ErrorKind::internal, "wrong message");
  return all.barrier().wait();
}

Status run(int ranks) {
  {
    HOCKET_TRY(const World world, World::join());
    HOCKET_CHECK(use(world));
    if (!own_sum_is_right(ranks)) return fail(ErrorKind::internal, "wrong sum of MPI itself");
  }
  if (!own_sum_is_right(ranks)) return fail(ErrorKind::internal, "wrong sum of MPI after the world has gone");
  return {};
}

int level_of(const std::string& name) {
  if (name == "multiple") return MPI_THREAD_MULTIPLE;
  return name == "serialized" ? MPI_THREAD_SERIALIZED : MPI_THREAD_FUNNELED;
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  int level = 0;
  int rank = 0;
  int ranks = 0;
  MPI_Init_thread(&argc, &argv, hocket::level_of(argv[1]), &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const hocket::Status status = hocket::run(ranks);
  if (rank == 0) fmt::print("{}\n", status ? "all right" : status.error().message);
  MPI_Finalize();
  return 0;
}
