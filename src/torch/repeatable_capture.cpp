#include "torch/repeatable_capture.h"

#include <sstream>

#include "hocket/ir/text.h"

namespace hocket {

namespace {

// Graphs are printed with the times and places of nothing else than what they do, so equal steps are equal texts.
Status check_same(const Graph& first, const Graph& second) {
  if (first == second) return {};
  std::istringstream before(print(first)), after(print(second));
  std::string was, is;
  do {
    was.clear(), is.clear();
    std::getline(before, was);
    std::getline(after, is);
  } while (was == is && (before || after));
  const auto trimmed = [](const std::string& line) {
    const std::size_t begin = line.find_first_not_of(' ');
    return begin == std::string::npos ? std::string("nothing") : line.substr(begin);
  };
  return fail(ErrorKind::usage,
              "the step is not the same every time: captured once more it has `{}` where it had `{}`. A compiled step "
              "repeats what it was captured as: numbers that the host changes (Adam's count of steps, a learning rate) "
              "belong into tensors, as hocket::Adam has them, and the state of an optimizer (momentum) has to be there "
              "before: run one step as it is",
              trimmed(is), trimmed(was));
}

}  // namespace

Result<Capture> capture_repeatable(const StepFunction& step, const std::vector<at::Tensor>& example_inputs,
                                   const CaptureOptions& options) {
  // A step may turn its inputs around, as t_() does: the second time it gets them as they were.
  std::vector<at::Tensor> same_memory;
  for (const at::Tensor& input : example_inputs) {
    same_memory.push_back(input.defined() && !input.requires_grad() ? input.detach() : input);
  }
  HOCKET_TRY(const Capture first, capture(step, same_memory, options));
  HOCKET_TRY(Capture second, capture(step, example_inputs, options));
  HOCKET_CHECK(check_same(first.graph, second.graph));
  return second;
}

}  // namespace hocket
