#include "hocket/torch/collectives.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <string>

#include "torch/dispatch.h"

namespace hocket {

namespace {

constexpr std::string_view reduce_ops[] = {"sum", "avg", "product", "min", "max", "band", "bor", "bxor"};

std::string known_reduce_op(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  TORCH_CHECK(std::find(std::begin(reduce_ops), std::end(reduce_ops), lower) != std::end(reduce_ops),
              "unknown reduce operation ", name, "; known: ", fmt::format("{}", fmt::join(reduce_ops, ", ")));
  return lower;
}

// Calls the functional operator and waits for its result. The recorder sees both and carries out neither.
template <class... Args>
at::Tensor call(const char* name, const at::Tensor& input, const GroupSpec& group, Args... args) {
  Recorder* recorder = current_recorder();
  TORCH_CHECK(
      recorder != nullptr, name,
      " was called outside of capture(): this version of hocket records collectives and can't carry them out yet; "
      "call it inside a captured step");
  TORCH_CHECK(!(input.requires_grad() && at::GradMode::is_enabled()), name,
              " of a tensor that requires grad: collectives have no backward yet; give it input.detach(), "
              "or call it under torch::NoGradGuard");
  const auto declared = recorder->group(group);
  TORCH_CHECK(declared, name, ": ", declared.error().to_string());
  auto& dispatcher = c10::Dispatcher::singleton();
  torch::jit::Stack stack{input, args..., group.name};
  dispatcher.findSchemaOrThrow((std::string("_c10d_functional::") + name).c_str(), "").callBoxed(stack);
  dispatcher.findSchemaOrThrow("_c10d_functional::wait_tensor", "").callBoxed(stack);
  return stack.at(0).toTensor();
}

std::int64_t size_of(const GroupSpec& group) { return static_cast<std::int64_t>(group.ranks.size()); }

}  // namespace

at::Tensor all_reduce(const at::Tensor& input, std::string_view reduce_op, const GroupSpec& group) {
  return call("all_reduce", input, group, known_reduce_op(reduce_op));
}

at::Tensor all_gather_into_tensor(const at::Tensor& input, const GroupSpec& group) {
  return call("all_gather_into_tensor", input, group, size_of(group));
}

at::Tensor reduce_scatter_tensor(const at::Tensor& input, std::string_view reduce_op, const GroupSpec& group) {
  return call("reduce_scatter_tensor", input, group, known_reduce_op(reduce_op), size_of(group));
}

}  // namespace hocket
