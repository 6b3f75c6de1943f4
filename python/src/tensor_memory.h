// Tensors as the communicator takes them: memory of the CPU in one piece, with an element type that it knows.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "hocket/base/dtype.h"

namespace hocket {

// Throws ValueError if `op` can't be called on it: no tensor, not on the CPU, sparse.
void check_tensor(const char* op, const at::Tensor& tensor);

// What its elements are called when they are only moved: their own type, or for types that only PyTorch has an integer of their size.
Dtype moved_as(const at::Tensor& tensor);

// Results that were written elsewhere and belong into tensors that are not in one piece.
class CopiesBack {
 public:
  // `from` is in one piece, and what belongs into `to` begins at this element.
  void add(at::Tensor to, at::Tensor from, std::int64_t begin = 0) {
    copies_.push_back({std::move(to), std::move(from), begin});
  }
  void copy() const;

 private:
  struct Copy {
    at::Tensor to;
    at::Tensor from;
    std::int64_t begin;
  };
  std::vector<Copy> copies_;
};

// The tensor itself if its elements lie one behind the other, else a copy.
at::Tensor in_one_piece(const at::Tensor& tensor);
// The same for a tensor that is written; what lies in a copy goes back. `read`: its content counts, too.
at::Tensor written_in_one_piece(const at::Tensor& tensor, bool read, CopiesBack& back);

// The tensors one behind the other as one: without a copy if that is how they lie.
at::Tensor joined(const char* op, const std::vector<at::Tensor>& tensors);
at::Tensor written_joined(const char* op, const std::vector<at::Tensor>& tensors, CopiesBack& back);

}  // namespace hocket
