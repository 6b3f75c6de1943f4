#include "torch/replace_arguments.h"

#include <ATen/core/List.h>
#include <torch/library.h>

namespace hocket {

namespace {

constexpr c10::DispatchKey key = c10::DispatchKey::TESTING_ONLY_GenericMode;  // nobody else's, and above autograd

thread_local ArgumentReplacer* replacer_of_thread = nullptr;

void replace(c10::IValue& argument, ArgumentReplacer& replacer) {
  if (argument.isTensor()) {
    if (replacer.replaces(argument.toTensor())) argument = replacer.instead_of(argument.toTensor());
  } else if (argument.isTensorList()) {
    c10::List<at::Tensor> list = argument.toTensorList().copy();
    for (std::size_t i = 0; i < list.size(); ++i) {
      const at::Tensor given = list.get(i);
      if (replacer.replaces(given)) list.set(i, replacer.instead_of(given));
    }
    argument = std::move(list);
  } else if (argument.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list = argument.toOptionalTensorList().copy();
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::optional<at::Tensor> given = list.get(i);
      if (given && replacer.replaces(*given)) list.set(i, replacer.instead_of(*given));
    }
    argument = std::move(list);
  }
}

void replace_arguments(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard not_again(key);
  if (replacer_of_thread != nullptr) {
    for (std::size_t i = stack->size() - op.schema().arguments().size(); i < stack->size(); ++i) {
      replace((*stack)[i], *replacer_of_thread);
    }
  }
  op.callBoxed(*stack);
}

// Once, at the first scope. A fallback on a key that is off costs nothing.
c10::DispatchKeySet registered_key() {
  static const torch::Library library = [] {
    torch::Library made(torch::Library::IMPL, "_", key, __FILE__, __LINE__);
    made.fallback(torch::CppFunction::makeFromBoxedFunction<&replace_arguments>());
    return made;
  }();
  return c10::DispatchKeySet(key);
}

}  // namespace

ReplaceArguments::ReplaceArguments(ArgumentReplacer& replacer)
    : before_(replacer_of_thread), listen_(registered_key()) {
  replacer_of_thread = &replacer;
}

ReplaceArguments::~ReplaceArguments() { replacer_of_thread = before_; }

}  // namespace hocket
