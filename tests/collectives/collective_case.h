// One collective with all that can vary in it, run by each rank of a group and compared with what it must give.
#pragma once

#include "comm/call.h"
#include "ranks.h"
#include "support/naive_collectives.h"

namespace hocket {

// How input and output lie to each other.
enum class Layout { apart, in_place, off_by_a_byte };
// Where they lie. `mixed`: in symmetric memory on some ranks, in their own memory on others.
enum class Memory { own, symmetric, mixed };

struct CollectiveCase {
  Operator op = Operator::all_reduce;
  Dtype dtype = Dtype::f32;
  ReduceOp reduce = ReduceOp::sum;
  std::int64_t count = 0;
  Layout layout = Layout::apart;
  Memory memory = Memory::own;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic;
  std::int64_t block = 0;
  bool blocking = false;
  std::int32_t source = 0;  // of a broadcast

  double factor() const { return is_floating(dtype) ? 0.7 : 3.9; }
  std::string to_string() const;
  friend bool operator==(const CollectiveCase&, const CollectiveCase&) = default;
};

// A case with the inputs of all ranks and, where it reduces, their combination. The same for the same ranks and seed.
struct PreparedCase {
  PreparedCase(const CollectiveCase& its_facts, std::int32_t its_ranks, std::uint64_t seed);
  std::int64_t input_elements() const;
  std::int64_t output_elements() const;
  naive::Buffer expected(std::int32_t place) const;

  CollectiveCase facts;
  std::int32_t ranks;
  naive::Inputs inputs;
  std::vector<naive::Input> reduced;  // one, or none
};

// Memory of one rank for case after case, with room around each buffer that nobody may write.
class CaseRunner {
 public:
  // Collective. No case has a larger buffer than this.
  CaseRunner(Communicator group, std::int64_t largest_bytes, Complaints& complaints);
  // Complains about wrong bits, about bytes written where none may be, and about errors.
  void run(const PreparedCase& one);

 private:
  struct Place;
  std::byte* memory_for(const CollectiveCase& facts, std::size_t which);
  Work call(const CollectiveCase& facts, const void* input, void* output) const;

  Communicator group_;
  std::int64_t room_;
  Complaints& complaints_;
  naive::Buffer own_[2];
  SymmetricBuffer symmetric_[2];
};

}  // namespace hocket
