// Kineto traces: one that torch.profiler wrote (tests/data/kineto_step.py), and one by hand with the kernels of a GPU.
#include "hocket/report/kineto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "hocket/ir/file.h"
#include "hocket/ir/text.h"

namespace hocket {
namespace {

using testing::HasSubstr;

const std::string recorded = HOCKET_TEST_DATA "/traces/kineto_step.json.gz";

// What a reader of the JSON finds without our code.
Nanoseconds median_of(const std::string& name) {
  std::vector<double> times;
  const auto trace = nlohmann::json::parse(*read_bytes(recorded));
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("name") == name) times.push_back(event.at("dur"));
  }
  std::sort(times.begin(), times.end());
  return Nanoseconds::from_ns(times.at(times.size() / 2) * 1000);
}

TEST(Kineto, reads_operators_by_their_tensors) {
  const auto trace = read_kineto(recorded);
  ASSERT_TRUE(trace) << trace.error().to_string();
  EXPECT_FALSE(trace->kernels);
  ASSERT_TRUE(trace->calls.contains("aten.mm(f32[64,128],f32[128,32])"));
  EXPECT_EQ(trace->calls.at("aten.mm(f32[64,128],f32[128,32])").count, 5U);
  EXPECT_EQ(trace->calls.at("aten.mm(f32[64,128],f32[128,32])").median, median_of("aten::mm"));
  EXPECT_EQ(trace->calls.at("aten.add(f32[64,32],f32[64,32])").median, median_of("aten::add"));
  EXPECT_GT(trace->unknown, 0U);  // cat takes a list, whose types the trace does not say
}

TEST(Kineto, reads_collectives_by_kind_and_size) {
  const auto trace = read_kineto(recorded);
  ASSERT_EQ(trace->collectives.size(), 1U);
  EXPECT_EQ(trace->collectives[0].kind, CollectiveKind::all_reduce);
  EXPECT_EQ(trace->collectives[0].moved, Bytes(2 * 64 * 32 * 4));
  EXPECT_EQ(trace->collectives[0].median, median_of("gloo:all_reduce"));
}

TEST(Kineto, gives_the_calls_of_a_program_their_measured_times) {
  const auto graph = parse_graph(R"(
graph @step(%x: f32[64,128], %w: f32[128,32], %v: f32[8]) {
  group @dp = ranks[0,1]
  %h = aten.mm(%x, %w) : f32[64,32]
  %r = aten.relu(%h) : f32[64,32]
  %y = aten.add.Tensor(%r, %h) : f32[64,32]
  %s = _c10d_functional.all_reduce(%y, "sum", @dp) : f32[64,32]
  %g = _c10d_functional.wait_tensor(%s) : f32[64,32]
  %e = aten.exp(%v) : f32[8]
  return %g, %e
}
)",
                                 "step");
  ASSERT_TRUE(graph) << graph.error().to_string();
  const KinetoMatch match = profile_of(*read_kineto(recorded), *graph);
  EXPECT_EQ(match.found, 3U);
  EXPECT_EQ(match.missing, 1U);
  EXPECT_THAT(match.examples.at(0), HasSubstr("aten.exp"));
  EXPECT_EQ(match.collectives_found, 1U);
  CostOptions options;
  options.captured = false;
  options.profile = match.profile;
  const auto estimates = CostModel(options).estimate(*graph);
  for (std::size_t i = 0; i < graph->size(); ++i) {
    if (graph->name(NodeId(i)) == "y") {
      EXPECT_EQ(estimates.times[i], median_of("aten::add"));
      EXPECT_EQ(estimates.sources[i], TimeSource::profile_call);
    }
    if (graph->name(NodeId(i)) == "s") {
      EXPECT_EQ(estimates.times[i], median_of("gloo:all_reduce"));
    }
  }
}

// relu calls clamp_min, which launches the kernel: both take what it takes. A kernel of NCCL says what it communicates.
TEST(Kineto, takes_the_kernels_of_a_gpu_where_there_are_some) {
  const auto trace = read_kineto_json(R"({"traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 1, "tid": 2, "ts": 100.0, "dur": 50.0,
     "args": {"External id": 1, "Input type": ["c10::BFloat16"], "Input Dims": [[8, 4]]}},
    {"ph": "X", "cat": "cpu_op", "name": "aten::clamp_min", "pid": 1, "tid": 2, "ts": 110.0, "dur": 30.0,
     "args": {"External id": 2, "Input type": ["c10::BFloat16", "Scalar"], "Input Dims": [[8, 4], []]}},
    {"ph": "X", "cat": "kernel", "name": "vectorized_elementwise_kernel", "pid": 0, "tid": 7, "ts": 300.0, "dur": 2.5,
     "args": {"External id": 2}},
    {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllGather_RING_LL", "pid": 0, "tid": 9, "ts": 400.0, "dur": 12.5,
     "args": {"External id": 3, "Collective name": "_allgather_base", "In msg nelems": 100, "Out msg nelems": 800, "Group size": 8,
              "dtype": "BFloat16", "Process Group Name": "dp"}}]})",
                                      "gpu.json");
  ASSERT_TRUE(trace) << trace.error().to_string();
  EXPECT_TRUE(trace->kernels);
  EXPECT_EQ(trace->calls.at("aten.relu(bf16[8,4])").median, Nanoseconds::from_ns(2500));
  EXPECT_EQ(trace->calls.at("aten.clamp_min(bf16[8,4])").median, Nanoseconds::from_ns(2500));
  ASSERT_EQ(trace->collectives.size(), 1U);
  EXPECT_EQ(trace->collectives[0].kind, CollectiveKind::all_gather);
  EXPECT_EQ(trace->collectives[0].ranks, 8);
  EXPECT_EQ(trace->collectives[0].group, "dp");
  EXPECT_EQ(trace->collectives[0].moved, Bytes(1800));
  EXPECT_EQ(trace->collectives[0].median, Nanoseconds::from_ns(12500));
}

// No number of such a file fits into 64 bits. Found by libFuzzer.
TEST(Kineto, numbers_that_are_too_large_count_as_absent) {
  const auto trace = read_kineto_json(R"({"traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 1, "tid": 1e19, "ts": 100.0, "dur": 50.0,
     "args": {"External id": -1e300, "Input type": ["float"], "Input Dims": [[8, 4]]}},
    {"ph": "X", "cat": "user_annotation", "name": "gloo:all_reduce", "pid": 1, "tid": 1, "ts": 100.0, "dur": 50.0,
     "args": {"Input type": ["double"], "Input Dims": [[4611686018427387904]]}},
    {"ph": "X", "cat": "user_annotation", "name": "gloo:all_reduce", "pid": 1, "tid": 1, "ts": 100.0, "dur": 50.0,
     "args": {"Input type": ["double"], "Input Dims": [[-8]]}},
    {"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 9, "ts": 400.0, "dur": 12.5, "args": {"External id": 1e19}},
    {"ph": "X", "cat": "kernel", "name": "b", "pid": 0, "tid": 9, "ts": 400.0, "dur": 12.5,
     "args": {"Collective name": "_allgather_base", "In msg nelems": 1e19, "Group size": 1e19, "dtype": "BFloat16"}},
    {"ph": "X", "cat": "kernel", "name": "c", "pid": 0, "tid": 9, "ts": 400.0, "dur": 12.5,
     "args": {"Collective name": "_allgather_base", "In msg nelems": 100, "Group size": 1e19, "dtype": "BFloat16"}}]})",
                                      "large.json");
  ASSERT_TRUE(trace) << trace.error().to_string();
  EXPECT_EQ(trace->calls.count("aten.relu(f32[8,4])"), 1U);
  ASSERT_EQ(trace->collectives.size(), 1U);
  EXPECT_EQ(trace->collectives[0].ranks, 0);
  EXPECT_EQ(trace->collectives[0].moved, Bytes(200));
}

TEST(Kineto, says_what_is_wrong_with_a_file) {
  EXPECT_THAT(read_kineto_json("no", "x.json").error().to_string(), HasSubstr("x.json: no JSON object"));
  EXPECT_THAT(read_kineto_json("{}", "x.json").error().message, HasSubstr("traceEvents"));
  EXPECT_THAT(read_kineto_json(R"({"traceEvents": [{"ph": "M"}]})", "x.json").error().message,
              HasSubstr("record_shapes=True"));
}

}  // namespace
}  // namespace hocket
