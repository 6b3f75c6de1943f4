// Random programs of views, writes through views, lists and plain operators: their graph is the same on meta as on real
// tensors, is sound, survives printing, and its replay leaves the same bits in results and inputs as libtorch does.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <vector>

#include "hocket/ir/text.h"
#include "hocket/ir/verify.h"
#include "hocket/torch/capture.h"
#include "hocket/torch/collectives.h"
#include "support/random.h"
#include "torch/replay.h"

namespace hocket {
namespace {

using Tensors = std::vector<at::Tensor>;

// Decides by the seed and by shapes, never by data: with one seed it is one program.
class RandomProgram {
 public:
  // Outside of a capture, an all_reduce among one rank is written as the copy that it is.
  RandomProgram(std::uint64_t seed, Tensors inputs, bool is_captured)
      : random_(seed), tensors_(std::move(inputs)), is_captured_(is_captured) {}

  Tensors run(int calls) {
    for (int i = 0; i < calls; ++i) call();
    return {tensors_.end() - 3, tensors_.end()};
  }

 private:
  // Any tensor of the same sizes, possibly itself.
  at::Tensor like(const at::Tensor& tensor) {
    Tensors fitting;
    for (const at::Tensor& other : tensors_) {
      if (other.sizes() == tensor.sizes()) fitting.push_back(other);
    }
    return random_.pick(fitting);
  }

  // Elements of an expanded tensor lie on each other, and libtorch refuses to write them.
  static bool is_writable(const at::Tensor& tensor) {
    for (std::int64_t dim = 0; dim < tensor.dim(); ++dim) {
      if (tensor.stride(dim) == 0 && tensor.size(dim) > 1) return false;
    }
    return true;
  }

  void call() {
    at::Tensor x = random_.pick(tensors_);
    const at::Tensor y = like(x);
    const std::int64_t dim = x.dim() == 0 ? 0 : random_.between(0, x.dim() - 1);
    const std::int64_t size = x.dim() == 0 ? 1 : x.size(dim);
    switch (random_.below(28)) {
      case 0: return add(at::tanh(x));
      case 1: return add(x + y);
      case 2: return add(at::sub(x, y, 0.5));
      case 3: return add(x * 1.5);
      case 4: return add(at::where(x > 0, x, y));
      case 5: return add(x.dim() == 0 ? x.clone() : x.sum(dim));
      case 6: return add(x.dim() == 0 ? x.neg() : std::get<0>(x.max(dim)));
      case 7: return add(x.dim() == 0 ? at::stack({x, y}) : at::cat({x, y}, dim).narrow(dim, 0, size));
      case 8: return add(x.dim() == 2 ? at::mm(x, y.t()).div(10) : x.relu());
      case 9: return add(x.dim() > 2 ? x.contiguous() : x.t_().t_().contiguous());
      case 10: return x.dim() == 2 ? add(x.t()) : add(x.detach());
      case 11: return add(x.reshape({-1}));
      case 12: return x.dim() == 0 ? add(x.unsqueeze(0)) : add(x.select(dim, random_.between(0, size - 1)));
      case 13: return x.dim() == 0 ? add(x.expand({3})) : add(x.narrow(dim, size / 2, size - size / 2));
      case 14: return x.dim() == 0 || size < 2 ? add(x) : add(x.split(1, dim).back().squeeze(dim));
      case 15: return x.dim() == 0 ? add(x) : add(x.unbind(dim).front());
      case 16: return add(x.dim() < 3 ? x.unsqueeze(dim) : x.flatten());
      case 17: return add(x.dim() == 2 ? x.permute({1, 0}) : x.alias());
      case 18: return add(is_captured_ ? all_reduce(x, "sum", {0}).wait() : x.clone(at::MemoryFormat::Contiguous));
      case 19: return add(at::empty_like(x).copy_(y));
      case 20: return add(at::full_like(x, 0.25));
      case 21: return add(x.squeeze());
      default: break;
    }
    if (!is_writable(x)) return;
    switch (random_.below(7)) {
      case 0: x.add_(y.clone(), 0.125); break;
      case 1: x.mul_(0.75); break;
      case 2: x.copy_(y.clone()); break;
      case 3: x.fill_(0.5); break;
      case 4: at::tanh_out(x, y.clone()); break;
      case 5: x.unsqueeze_(0); break;
      default: x.clamp_(-2, 2); break;
    }
  }

  void add(at::Tensor tensor) {
    if (tensor.numel() > 0) tensors_.push_back(std::move(tensor));
  }

  Random random_;
  Tensors tensors_;
  bool is_captured_;
};

Tensors random_inputs(std::uint64_t seed) {
  at::manual_seed(seed);
  return {at::randn({3, 4}), at::randn({4, 3}).t(), at::randn({2, 3, 2}), at::randn({4}), at::randn({})};
}

void check_programs(std::uint64_t first_seed, std::uint64_t count) {
  constexpr int calls = 40;
  for (std::uint64_t seed = first_seed; seed < first_seed + count; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const auto step = [&](const Tensors& in) { return RandomProgram(seed, in, true).run(calls); };
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
    const Tensors expected = RandomProgram(seed, expected_inputs, false).run(calls);
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
