#include "torch/saved_tensors.h"

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>

#include <mutex>

namespace hocket {

namespace {

using torch::autograd::Engine;

thread_local SavedTensorKeeper* keeper_of_thread = nullptr;

class SavedTensor final : public torch::autograd::SavedVariableHooks {
 public:
  void call_pack_hook(const at::Tensor& tensor) override {
    restore_ = keeper_of_thread != nullptr ? keeper_of_thread->let_go_of(tensor) : nullptr;
    if (!restore_) kept_ = tensor;
  }
  at::Tensor call_unpack_hook() override { return restore_ ? restore_() : kept_; }

 private:
  at::Tensor kept_;
  Restore restore_;
};

// libtorch asks its engine for hooks; Python's engine has some, the plain one has none.
class EngineWithHooks final : public Engine {
 public:
  static Engine& instance() {
    static EngineWithHooks& engine = *new EngineWithHooks;  // never destroyed: threads may still compute at exit
    return engine;
  }
  std::unique_ptr<torch::autograd::SavedVariableHooks> get_default_saved_variable_hooks() override {
    return keeper_of_thread != nullptr ? std::make_unique<SavedTensor>() : nullptr;
  }
};

bool install() {
  if (&Engine::get_default_engine() != &Engine::get_base_engine()) return false;
  torch::autograd::set_default_engine_stub(&EngineWithHooks::instance);
  return true;
}

}  // namespace

bool KeepSavedTensors::possible() {
  static const bool installed = install();
  return installed;
}

KeepSavedTensors::KeepSavedTensors(SavedTensorKeeper* keeper) : before_(keeper_of_thread) {
  keeper_of_thread = possible() ? keeper : nullptr;
}

KeepSavedTensors::~KeepSavedTensors() { keeper_of_thread = before_; }

}  // namespace hocket
