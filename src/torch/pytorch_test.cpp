// The same inputs through PyTorch's functional collectives, with gloo between two processes, and through hocket's: the same bits. A
// sum of two numbers is the same in any order.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "hocket/torch/collectives.h"
#include "support/temporary_folder.h"
#include "support/torch_ranks.h"

namespace hocket {
namespace {

using Results = std::map<std::string, at::Tensor>;

at::Tensor input_of(int rank) { return (at::arange(24, at::kFloat).view({4, 6}) * 0.7 + rank * 0.31).sin(); }

void write_inputs(const std::string& path) {
  const std::vector<char> bytes = torch::jit::pickle_save(at::stack({input_of(0), input_of(1)}));
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

Results read_results(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Results results;
  for (const auto& entry : torch::jit::pickle_load(bytes).toGenericDict()) {
    results[entry.key().toStringRef()] = entry.value().toTensor();
  }
  return results;
}

at::Tensor gradient_of(const std::function<at::Tensor(const at::Tensor&)>& function, const at::Tensor& input) {
  const at::Tensor x = input.detach().clone().requires_grad_();
  const at::Tensor y = function(x);
  const at::Tensor weights = at::arange(y.numel(), y.options()).view(y.sizes()) + 1;
  return torch::autograd::grad({(y * weights).sum()}, {x})[0];
}

Results results_of(int rank) {
  const at::Tensor x = input_of(rank);
  const Splits output_splits = rank == 0 ? Splits{1, 2} : Splits{3, 2};
  const Splits input_splits = rank == 0 ? Splits{1, 3} : Splits{2, 2};
  Results results = {
      {"all_reduce sum", all_reduce(x, "sum")},
      {"all_reduce max", all_reduce(x, "max")},
      {"all_reduce of columns", all_reduce(x.t(), "sum")},
      {"all_gather_tensor 0", all_gather_tensor(x, 0)},
      {"all_gather_tensor 1", all_gather_tensor(x, 1)},
      {"reduce_scatter_tensor 0", reduce_scatter_tensor(x, "sum")},
      {"reduce_scatter_tensor 1", reduce_scatter_tensor(x, "sum", 1, "world")},
      {"all_to_all_single", all_to_all_single(x)},
      {"all_to_all_single splits", all_to_all_single(x, output_splits, input_splits)},
      {"broadcast", broadcast(x, 1)},
      {"permute_tensor", permute_tensor(x.reshape({-1}), {1, 0})},
      {"gradient of all_gather_tensor",
       gradient_of([](const at::Tensor& y) { return all_gather_tensor(y, 1).wait(); }, x)},
      {"gradient of reduce_scatter_tensor",
       gradient_of([](const at::Tensor& y) { return reduce_scatter_tensor(y, "sum", 1, "world").wait(); }, x)},
      {"gradient of all_to_all_single",
       gradient_of([&](const at::Tensor& y) { return all_to_all_single(y, output_splits, input_splits).wait(); }, x)},
  };
  const auto add_all = [&](const std::string& name, const AsyncTensors& tensors) {
    for (std::size_t i = 0; i < tensors.size(); ++i) results[fmt::format("{} {}", name, i)] = tensors[i];
  };
  add_all("all_reduce_coalesced", all_reduce_coalesced({x, x.t()}, "sum"));
  add_all("all_gather_into_tensor_coalesced", all_gather_into_tensor_coalesced({x, x[0]}));
  add_all("reduce_scatter_tensor_coalesced", reduce_scatter_tensor_coalesced({x, x}, "sum", {0, 1}, "world"));
  return results;
}

TEST(PyTorch, gives_the_same_results_and_gradients_with_gloo) {
  const std::string python = HOCKET_TEST_PYTHON;
  if (!std::filesystem::exists(python)) GTEST_SKIP() << "there is no " << python;
  const TemporaryFolder folder;
  const std::string path = folder.path();
  write_inputs(path + "/inputs.pt");
  const std::string log = path + "/log";
  const std::string command =
      fmt::format("'{}' '{}/gloo_collectives.py' '{}' >'{}' 2>&1", python, HOCKET_TEST_DATA, path, log);
  ASSERT_EQ(std::system(command.c_str()), 0) << std::ifstream(log).rdbuf();
  on_ranks(2, [&](int rank) {
    const Results theirs = read_results(fmt::format("{}/results_{}.pt", path, rank));
    const Results ours = results_of(rank);
    EXPECT_EQ(theirs.size(), ours.size());
    for (const auto& [name, expected] : theirs) {
      const auto found = ours.find(name);
      ASSERT_NE(found, ours.end()) << name;
      EXPECT_TRUE(found->second.equal(expected)) << name << " of rank " << rank << "\n"
                                                 << found->second << "\n"
                                                 << expected;
    }
  });
}

}  // namespace
}  // namespace hocket
