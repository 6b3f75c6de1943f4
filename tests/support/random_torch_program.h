// Random programs of views, writes through views, lists, plain operators and sums over ranks.
#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "hocket/torch/collectives.h"
#include "support/random.h"

namespace hocket {

// Decides by the seed and by shapes, never by data: with one seed it is one program.
class RandomProgram {
 public:
  // Without a group, an all_reduce among one rank is written as the copy that it is.
  RandomProgram(std::uint64_t seed, Tensors inputs, Ranks group)
      : random_(seed), tensors_(std::move(inputs)), group_(std::move(group)) {}

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
      case 18: return add(group_.empty() ? x.clone(at::MemoryFormat::Contiguous) : all_reduce(x, "sum", group_).wait());
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
  Ranks group_;
};

inline Tensors random_inputs(std::uint64_t seed) {
  at::manual_seed(seed);
  return {at::randn({3, 4}), at::randn({4, 3}).t(), at::randn({2, 3, 2}), at::randn({4}), at::randn({})};
}

}  // namespace hocket
