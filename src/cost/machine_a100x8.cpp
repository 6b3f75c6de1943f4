#include "cost/ready_made.h"

namespace hocket {

const std::string_view a100x8_json = R"json({
  "name": "a100x8",
  "description": "8 A100 SXM 80 GB a host, nvlink inside, 200 Gbit/s for each GPU between hosts; data sheet rates, collectives by the models",
  "flops": {"f64": "19.5 TFLOP/s", "f32": "19.5 TFLOP/s", "f16": "312 TFLOP/s", "bf16": "312 TFLOP/s", "i8": "624 TFLOP/s"},
  "memory_bandwidth": "2039 GB/s",
  "launch_overhead": "2 us",
  "ranks_per_host": 8,
  "levels": [
    {"name": "nvlink", "ranks": 8, "latency": "1 us", "bandwidth": "240 GB/s"},
    {"name": "network", "latency": "5 us", "bandwidth": "25 GB/s"}
  ]
}
)json";

}  // namespace hocket
