// Random programs of views, writes through views, lists and plain operators: their graph is the same on meta as on real
// tensors, is sound, survives printing, and its replay leaves the same bits in results and inputs as libtorch does.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <vector>

#include "hocket/ir/text.h"
#include "hocket/ir/verify.h"
#include "hocket/torch/capture.h"
#include "support/random_torch_program.h"
#include "torch/replay.h"

namespace hocket {
namespace {

void check_programs(std::uint64_t first_seed, std::uint64_t count) {
  constexpr int calls = 40;
  for (std::uint64_t seed = first_seed; seed < first_seed + count; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const auto step = [&](const Tensors& in) { return RandomProgram(seed, in, {0}).run(calls); };
    const auto fresh = [&] { return random_inputs(seed); };
    Tensors on_meta;
    for (const at::Tensor& input : fresh()) on_meta.push_back(at::empty_like(input, at::kMeta));

    const auto captured = capture(step, on_meta);
    ASSERT_TRUE(captured) << captured.error().to_string();
    const auto from_real = capture(step, fresh());
    ASSERT_TRUE(from_real) << from_real.error().to_string();
    ASSERT_EQ(Graph::first_difference(from_real->graph, captured->graph), "");
    const auto problems = verify(captured->graph);
    ASSERT_TRUE(problems.empty()) << problems[0].to_string() << "\n" << print(captured->graph);
    const auto read_back = parse_graph(print(captured->graph), "printed");
    ASSERT_TRUE(read_back) << read_back.error().to_string();
    ASSERT_EQ(Graph::first_difference(captured->graph, *read_back), "");

    const Tensors expected_inputs = fresh();
    const Tensors expected = RandomProgram(seed, expected_inputs, {}).run(calls);
    const Tensors inputs = fresh();
    const auto results = replay(captured->graph, inputs);
    ASSERT_TRUE(results) << results.error().to_string();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_TRUE(at::equal(expected[i], results->at(i))) << "result " << i << "\n" << print(captured->graph);
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      ASSERT_TRUE(at::equal(expected_inputs[i].flatten(), inputs[i].flatten())) << "input " << i << "\n"
                                                                                << print(captured->graph);
    }
  }
}

TEST(RandomPrograms, AreCapturedAndReplayedBitForBit) { check_programs(0, 100); }
TEST(RandomPrograms, LongAreCapturedAndReplayedBitForBit) { check_programs(100, 5000); }

}  // namespace
}  // namespace hocket
