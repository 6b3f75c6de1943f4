// Random programs of steps, valid ones: verify() finds nothing wrong with them.
//
//   const Program program = random_program(seed);
//   const Program planned = random_program(seed, {.steps = 100, .placed = true});
#pragma once

#include <cstdint>

#include "hocket/ir/program.h"

namespace hocket {

struct RandomProgramOptions {
  int steps = 30;          // about
  int world = 4;           // ranks; a power of two
  int width = 8;           // of matrices; a multiple of the world
  int collectives = 25;    // percent of steps that start communication
  int in_place = 20;       // percent of steps that write one of their arguments
  int reuse = 30;          // percent of results that go into a buffer that is there already
  int facts = 80;          // percent of steps with estimates
  bool symmetric = true;   // communication buffers in symmetric memory
  bool placed = false;     // buffers have offsets in their arenas, with reuse by lifetime
  bool odd_names = false;  // names with blanks, quotes and other letters
};

Program random_program(std::uint64_t seed, const RandomProgramOptions& options);
Program random_program(std::uint64_t seed);  // the options are drawn too

}  // namespace hocket
