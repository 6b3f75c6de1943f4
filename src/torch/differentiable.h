// Gradients of what is no operator of libtorch.
#pragma once

#include <functional>

#include "hocket/torch/collectives.h"

namespace hocket {

// Is autograd on for this thread, and does one of them want a gradient?
bool need_gradient(const Tensors& inputs);

// One gradient for each result, defined; gives one for each input. Called with autograd on where its own gradient is wanted.
using Backward = std::function<Tensors(const Tensors& gradients)>;

// From now on the results, which nothing knew of before, are made of the inputs. `name` is what autograd calls it.
void set_backward(const Tensors& inputs, const Tensors& results, const char* name, Backward backward);

}  // namespace hocket
