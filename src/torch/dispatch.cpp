#include "torch/dispatch.h"

#include <torch/library.h>

#include "torch/attention.h"
#include "torch/run_op.h"
#include "torch/schema.h"

namespace hocket {

namespace {

thread_local Recorder* recorder_of_thread = nullptr;
thread_local int meta_scopes = 0;

// Tensors that are made without naming a device go where the others are. In a step, fresh memory stays where it is:
// at::tensor({1, 2}) writes its numbers into it without an operator.
void make_on_meta(const c10::FunctionSchema& schema, torch::jit::Stack& stack) {
  const std::size_t first = stack.size() - schema.arguments().size();
  const auto position = schema.argumentIndexWithName("device");
  if (!position) return;
  bool has_tensor = false;  // then no device means: the tensor's
  for (std::size_t i = first; i < stack.size(); ++i) {
    for_each_tensor(stack[i], [&](const at::Tensor&) { has_tensor = true; });
  }
  c10::IValue& device = stack[first + static_cast<std::size_t>(*position)];
  if (device.isNone() && !has_tensor) device = c10::Device(at::kMeta);
}

void listen(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  Recorder* recorder = recorder_of_thread;
  const bool captures_meta = recorder != nullptr && recorder->on_meta();
  if (meta_scopes > 0 || (captures_meta && !returns_uninitialised(op.schema()))) make_on_meta(op.schema(), *stack);
  if (recorder != nullptr) {
    recorder->call(op, keys, *stack);
    return;
  }
  TORCH_CHECK(meta_scopes > 0, graph_name(op.operator_name()),
              " was called on another thread than the one that captures; a captured step must stay on its thread");
  const auto count = static_cast<std::ptrdiff_t>(op.schema().arguments().size());
  const std::vector<c10::IValue> args(stack->end() - count, stack->end());
  run_below_capture(op, keys, *stack, args, nullptr);
}

// Once, at the first capture. A fallback on a key that is off costs nothing.
void register_listener() {
  static const torch::Library library = [] {
    torch::Library made(torch::Library::IMPL, "_", c10::DispatchKey::Fake, __FILE__, __LINE__);
    made.fallback(torch::CppFunction::makeFromBoxedFunction<&listen>());
    return made;
  }();
}

c10::DispatchKeySet registered_key() {
  register_listener();
  register_attention();
  return c10::DispatchKeySet(c10::DispatchKey::Fake);
}

}  // namespace

Recorder* current_recorder() { return recorder_of_thread; }

CaptureScope::CaptureScope(Recorder& recorder) : listen_(registered_key()) { recorder_of_thread = &recorder; }

CaptureScope::~CaptureScope() { recorder_of_thread = nullptr; }

struct OnMeta::Guard {
  c10::impl::IncludeDispatchKeyGuard listen{registered_key()};
};

OnMeta::OnMeta() : guard_(std::make_unique<Guard>()) { ++meta_scopes; }

OnMeta::~OnMeta() { --meta_scopes; }

}  // namespace hocket
