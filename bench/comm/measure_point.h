// Measures a point: every contestant in turn, for several rounds.
#pragma once

#include <memory>
#include <vector>

#include "contestant.h"
#include "statistics.h"

namespace hocket::comm_bench {

// One column of the tables: a contestant, and the memory that its buffers are in.
struct Entrant {
  std::string title;
  Side side = Side::other;
  BufferKind buffers = BufferKind::private_memory;
  std::shared_ptr<Contestant> contestant;
};

struct Effort {
  std::int32_t rounds = 10;
  double measurement_us = 25'000;  // that one contestant is measured in one round, as far as whole repetitions go
};

// Checks every entrant's result first. Who fails is absent in the result, which says why.
Point measure_point(const Point& asked, std::vector<Entrant>& entrants, const Effort& effort);

// How many repetitions of how many calls, given how long a call takes at best and usually: where these are far apart, as with
// more ranks than cores, calls are still put together, and few of them do.
struct Amount {
  std::int32_t repetitions = 1;
  std::int32_t batch = 1;
};
Amount amount_for(double lowest_us, double usual_us, double measurement_us);

}  // namespace hocket::comm_bench
