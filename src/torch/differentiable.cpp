#include "torch/differentiable.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

namespace hocket {

namespace {

class CollectiveNode final : public torch::autograd::Node {
 public:
  CollectiveNode(const char* name, Backward backward, torch::autograd::edge_list&& next)
      : Node(std::move(next)), name_(name), backward_(std::move(backward)) {}

  std::string name() const override { return fmt::format("hocket::{}Backward", name_); }
  void release_variables() override { backward_ = nullptr; }

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    TORCH_CHECK(backward_, "the backward of ", name_,
                " was run before and its graph is gone; give retain_graph=true the first time");
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].defined()) gradients[i] = input_metadata(i).zeros_like();  // ranks must make the same calls
    }
    return backward_(gradients);
  }

 private:
  const char* name_;
  Backward backward_;
};

}  // namespace

bool need_gradient(const Tensors& inputs) { return torch::autograd::compute_requires_grad(inputs); }

void set_backward(const Tensors& inputs, const Tensors& results, const char* name, Backward backward) {
  const auto node =
      c10::make_intrusive<CollectiveNode>(name, std::move(backward), torch::autograd::collect_next_edges(inputs));
  torch::autograd::set_history(results, node);
}

}  // namespace hocket
