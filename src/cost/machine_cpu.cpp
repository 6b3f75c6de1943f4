#include "cost/ready_made.h"

namespace hocket {

// The crossovers are those of two and of four ranks that share two cores; `ranks_per_host` is a bound, not a count.
const std::string_view cpu_json = R"json({
  "name": "cpu",
  "description": "a rank for each core or two of a server, shared memory inside, 25 Gbit/s Ethernet between hosts",
  "flops": {"f64": "25 GFLOP/s", "f32": "50 GFLOP/s"},
  "memory_bandwidth": "10 GB/s",
  "launch_overhead": "1 us",
  "ranks_per_host": 64,
  "levels": [
    {"name": "shared memory", "ranks": 64, "latency": "250 ns", "bandwidth": "10 GB/s"},
    {"name": "network", "latency": "30 us", "bandwidth": "25 Gbit/s"}
  ],
  "thresholds": [
    {"kind": "all_reduce", "ranks": 2, "one_shot": "256 KiB"},
    {"kind": "all_reduce", "ranks": 4, "one_shot": "256 KiB", "two_shot": "1 MiB"}
  ]
}
)json";

}  // namespace hocket
