// A pass of one's own, in the pipeline of a compiled step: it is timed and verified like hocket's.
//
//   own_pass
#include <hocket/comm/world.h>
#include <hocket/ir/rewrite.h>
#include <hocket/torch/compile.h>
#include <torch/torch.h>

#include <iostream>

namespace hk = hocket;

// relu(relu(x)) is relu(x).
hk::Result<hk::PassResult> drop_second_relu(const hk::Subject& subject, const hk::PassContext&,
                                            hk::PassArguments& given) {
  if (const hk::Status read = given.finish(); !read) return tl::unexpected(read.error());
  const auto& graph = std::get<hk::Graph>(subject);
  const auto is_relu = [&](hk::NodeId id) {
    return graph.node(id).kind == hk::NodeKind::op && graph.op_name(id) == "aten.relu.default";
  };
  hk::GraphRewriter rewriter(graph);
  int dropped = 0;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const hk::NodeId id(i);
    if (is_relu(id) && is_relu(graph.inputs(id)[0])) {
      rewriter.replace(id, rewriter.now(graph.inputs(id)[0]));
      ++dropped;
    } else {
      rewriter.copy(id);
    }
  }
  auto rewritten = rewriter.finish();
  if (!rewritten) return tl::unexpected(rewritten.error());
  hk::PassResult result;
  if (dropped > 0) result.subject = std::move(*rewritten);
  result.report = "dropped " + std::to_string(dropped);
  return result;
}

int main() {
  const auto world = hk::World::join();
  if (!world) {
    std::cerr << world.error().to_string() << "\n";
    return 1;
  }
  hk::StepOptions options;
  options.registry = hk::PassRegistry::builtin();
  const hk::Status added =
      options.registry->add({"drop_second_relu", "relu of a relu is that relu", hk::Form::graph, "", drop_second_relu});
  if (!added) {
    std::cerr << added.error().to_string() << "\n";
    return 1;
  }
  options.passes = hk::default_step_passes();
  options.passes.insert(options.passes.begin(), {"drop_second_relu", {}});

  const at::Tensor x = torch::randn({8, 8});
  auto step = hk::compile(
      [](const std::vector<at::Tensor>& in) -> std::vector<at::Tensor> {
        return {torch::relu(torch::relu(in[0])) * 2};
      },
      {x}, options);
  if (!step) {
    std::cerr << step.error().to_string() << "\n";
    return 1;
  }
  const bool same = at::equal((*step)({x})[0], torch::relu(x) * 2);
  std::cout << step->compiled().runs[0].report << ", " << step->executor().program().size() << " steps are left\n";
  return same && step->executor().program().size() == 2 ? 0 : 1;
}
