#include "tensor_memory.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <cstring>

#include "torch/arguments.h"

namespace hocket {

namespace {

bool is_plain(const at::Tensor& tensor) { return tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg(); }

std::int64_t elements_of(const char* op, const std::vector<at::Tensor>& tensors) {
  TORCH_CHECK_VALUE(!tensors.empty(), op, " got an empty list of tensors");
  std::int64_t elements = 0;
  for (const at::Tensor& tensor : tensors) {
    check_tensor(op, tensor);
    TORCH_CHECK_VALUE(tensor.scalar_type() == tensors.front().scalar_type(), op, " got tensors of ",
                      tensors.front().scalar_type(), " and of ", tensor.scalar_type(),
                      " in one list: convert them to one type");
    elements += tensor.numel();
  }
  return elements;
}

// Of one storage, each where the one before it ends.
bool lie_in_order(const std::vector<at::Tensor>& tensors) {
  std::int64_t offset = tensors.front().storage_offset();
  for (const at::Tensor& tensor : tensors) {
    if (!is_plain(tensor) || !tensor.storage().is_alias_of(tensors.front().storage())) return false;
    if (tensor.storage_offset() != offset) return false;
    offset += tensor.numel();
  }
  return true;
}

// Up to here an operator of PyTorch takes longer to be called than to copy; beyond it may use several threads.
constexpr std::size_t small_bytes = std::size_t{64} << 10;

const std::byte* element(const at::Tensor& tensor, std::int64_t index) {
  return static_cast<const std::byte*>(tensor.const_data_ptr()) + index * tensor.element_size();
}

at::Tensor over_all(const at::Tensor& first, std::int64_t elements) { return first.as_strided({elements}, {1}); }

}  // namespace

void check_tensor(const char* op, const at::Tensor& tensor) {
  TORCH_CHECK_VALUE(tensor.defined(), op, " got an undefined tensor");
  TORCH_CHECK_VALUE(tensor.device().is_cpu(), op, " got a tensor on ", tensor.device(),
                    "; hocket communicates tensors on the CPU: move it there, or give the process group a back end "
                    "for its device, as in init_process_group(\"cpu:hocket,cuda:nccl\")");
  TORCH_CHECK_VALUE(tensor.layout() == at::kStrided, op, " got a tensor of layout ", tensor.layout(),
                    "; hocket communicates dense tensors: call to_dense() on it");
}

Dtype moved_as(const at::Tensor& tensor) {
  if (const auto known = dtype_of(tensor.scalar_type())) return *known;
  switch (tensor.element_size()) {
    case 1: return Dtype::u8;
    case 2: return Dtype::u16;
    case 4: return Dtype::u32;
    case 8: return Dtype::u64;
    default: break;
  }
  C10_THROW_ERROR(ValueError, c10::str("hocket can't move elements of ", tensor.scalar_type(), ", which have ",
                                       tensor.element_size(), " bytes"));
}

void CopiesBack::copy() const {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;  // results of a communication have no history
  for (const Copy& one : copies_) {
    const std::size_t bytes = one.to.nbytes();
    if (bytes == 0) continue;
    if (bytes <= small_bytes && is_plain(one.to)) {
      std::memcpy(one.to.mutable_data_ptr(), element(one.from, one.begin), bytes);
      continue;
    }
    one.to.copy_(one.from.view(-1).narrow(0, one.begin, one.to.numel()).view_as(one.to));
  }
}

at::Tensor in_one_piece(const at::Tensor& tensor) {
  if (is_plain(tensor)) return tensor;
  return tensor.resolve_conj().resolve_neg().contiguous();
}

at::Tensor written_in_one_piece(const at::Tensor& tensor, bool read, CopiesBack& back) {
  if (is_plain(tensor)) return tensor;
  at::Tensor piece = read ? in_one_piece(tensor) : at::empty(tensor.sizes(), tensor.options());
  back.add(tensor, piece);
  return piece;
}

at::Tensor joined(const char* op, const std::vector<at::Tensor>& tensors) {
  const std::int64_t elements = elements_of(op, tensors);
  if (lie_in_order(tensors)) return over_all(tensors.front(), elements);
  at::Tensor all = at::empty({elements}, tensors.front().options());
  std::int64_t offset = 0;
  for (const at::Tensor& tensor : tensors) {
    const std::size_t bytes = tensor.nbytes();
    if (bytes > 0 && bytes <= small_bytes && is_plain(tensor)) {
      std::memcpy(const_cast<std::byte*>(element(all, offset)), tensor.const_data_ptr(), bytes);
    } else {
      all.narrow(0, offset, tensor.numel()).view(tensor.sizes()).copy_(tensor);
    }
    offset += tensor.numel();
  }
  return all;
}

at::Tensor written_joined(const char* op, const std::vector<at::Tensor>& tensors, CopiesBack& back) {
  const std::int64_t elements = elements_of(op, tensors);
  if (lie_in_order(tensors)) return over_all(tensors.front(), elements);
  at::Tensor all = at::empty({elements}, tensors.front().options());
  std::int64_t offset = 0;
  for (const at::Tensor& tensor : tensors) {
    back.add(tensor, all, offset);
    offset += tensor.numel();
  }
  return all;
}

}  // namespace hocket
