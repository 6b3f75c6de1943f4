// Gives every buffer of a program a place: an offset in one of few arenas, decided once and for all runs. Buffers that are never in
// use at the same time share bytes.
//
//   Result<Planned> planned = plan(program);
//   fmt::print("{}", describe(planned->report));      // size of each arena next to the lower bound
//
// There is one arena for each device, and one in symmetric memory for each group and device. The offsets follow from the program
// alone, so all ranks get the same ones. docs/passes/plan.md describes the algorithm.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hocket/ir/program.h"

namespace hocket {

struct PlanOptions {
  // Offsets are multiples of this, a power of two: a cache line, as wide as any vector load. Numbers on the host need 8.
  std::int64_t alignment = 64;
  // How long to look for a better packing: comparisons of two buffers. This many take a fraction of a second.
  std::int64_t effort = 200'000'000;
  // For runs that carry their tails into the next ones (hocket/ir/tail.h): what is under way keeps its memory.
  bool carry = false;
};

struct PlannedArena {
  Home home = Home::arena;  // or Home::symmetric
  std::string group;        // of symmetric memory
  std::string device;
  std::size_t buffers = 0;
  Bytes size;
  Bytes bound;  // the largest sum of bytes that are in use at the same time: no plan needs less
};

struct PlanReport {
  std::vector<PlannedArena> arenas;  // in the order of their first buffers
  std::size_t unused = 0;            // buffers that no step touches; they have no place
  std::size_t symbolic = 0;          // buffers whose size is known at run time only; they have no place

  Bytes size() const;
  Bytes bound() const;
  double ratio() const;  // size / bound; 1 where nothing is planned
};

struct Planned {
  Program program;
  PlanReport report;
};

Result<Planned> plan(const Program& program, const PlanOptions& options = {});

// A line for each arena and one for the whole.
std::string describe(const PlanReport& report);

}  // namespace hocket
