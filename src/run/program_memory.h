// The memory that a program runs on: one arena for this rank, one in symmetric memory for each group, and what the caller brings.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "hocket/comm/communicator.h"
#include "hocket/ir/program.h"
#include "run/program_groups.h"

namespace hocket {

struct Unmap {
  std::size_t bytes = 0;
  void operator()(std::byte* memory) const;
};
using MappedMemory = std::unique_ptr<std::byte, Unmap>;

class ProgramMemory {
 public:
  // Collective: groups allocate together, in the order of the program's groups.
  static Result<ProgramMemory> create(const Program& program, const ProgramGroups& groups);

  // Null: nobody has brought it yet, or no step touches it.
  std::byte* at(BufferId buffer) const { return addresses_[buffer.index()]; }
  void set(BufferId buffer, std::byte* address) { addresses_[buffer.index()] = address; }
  Bytes planned() const { return planned_; }

 private:
  std::vector<std::byte*> addresses_;  // by buffer
  MappedMemory arena_;
  std::vector<SymmetricBuffer> symmetric_;
  Bytes planned_;
};

}  // namespace hocket
