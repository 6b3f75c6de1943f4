#include "hocket/torch/async_tensor.h"

#include <ATen/ATen.h>
#include <ATen/DLConvertor.h>
#include <ATen/InferSize.h>
#include <ATen/TensorUtils.h>

#include <ostream>
#include <utility>

#include "torch/communication.h"

namespace hocket {

namespace {

thread_local int scopes_with_inflight_inputs = 0;

}  // namespace

at::Tensor AsyncTensor::wait() const {
  if (communication_) communication_->wait();
  return tensor_;
}

const at::Tensor* AsyncTensor::operator->() const {
  if (communication_) communication_->wait();
  return &tensor_;
}

bool AsyncTensor::done() const { return !communication_ || communication_->done(); }

at::Scalar AsyncTensor::item() const { return wait().item(); }

DLManagedTensor* AsyncTensor::to_dlpack() const { return at::toDLPack(wait()); }

std::ostream& operator<<(std::ostream& stream, const AsyncTensor& tensor) { return stream << tensor.wait(); }

std::vector<AsyncTensor> AsyncTensor::with(std::vector<at::Tensor> views) const {
  std::vector<AsyncTensor> results;
  for (at::Tensor& view : views) results.push_back(with(std::move(view)));
  return results;
}

AsyncTensor AsyncTensor::view(at::IntArrayRef sizes) const { return with(tensor_.view(sizes)); }

AsyncTensor AsyncTensor::reshape(at::IntArrayRef sizes) const {
  const at::DimVector inferred = at::infer_size_dv(sizes, tensor_.numel());
  if (!at::detail::computeStride(tensor_.sizes(), tensor_.strides(), inferred))
    return AsyncTensor(wait().reshape(sizes));
  return view(sizes);
}

AsyncTensor AsyncTensor::flatten(std::int64_t first, std::int64_t last) const {
  if (dim() == 0) return reshape({1});
  first = c10::maybe_wrap_dim(first, dim());
  last = c10::maybe_wrap_dim(last, dim());
  TORCH_CHECK(first <= last, "flatten: dim ", first, " is behind dim ", last);
  std::vector<std::int64_t> flat(sizes().begin(), sizes().begin() + first);
  flat.push_back(c10::multiply_integers(
      sizes().slice(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first + 1))));
  flat.insert(flat.end(), sizes().begin() + last + 1, sizes().end());
  return reshape(flat);
}

AsyncTensor AsyncTensor::unflatten(std::int64_t dim, at::IntArrayRef sizes) const {
  return with(tensor_.unflatten(dim, sizes));
}
AsyncTensor AsyncTensor::transpose(std::int64_t first, std::int64_t second) const {
  return with(tensor_.transpose(first, second));
}
AsyncTensor AsyncTensor::t() const { return with(tensor_.t()); }
AsyncTensor AsyncTensor::permute(at::IntArrayRef dims) const { return with(tensor_.permute(dims)); }
AsyncTensor AsyncTensor::movedim(std::int64_t from, std::int64_t to) const { return with(tensor_.movedim(from, to)); }
AsyncTensor AsyncTensor::narrow(std::int64_t dim, std::int64_t start, std::int64_t length) const {
  return with(tensor_.narrow(dim, start, length));
}
AsyncTensor AsyncTensor::slice(std::int64_t dim, std::int64_t start, std::int64_t end, std::int64_t step) const {
  return with(tensor_.slice(dim, start, end, step));
}
AsyncTensor AsyncTensor::select(std::int64_t dim, std::int64_t index) const { return with(tensor_.select(dim, index)); }
AsyncTensor AsyncTensor::squeeze() const { return with(tensor_.squeeze()); }
AsyncTensor AsyncTensor::squeeze(std::int64_t dim) const { return with(tensor_.squeeze(dim)); }
AsyncTensor AsyncTensor::unsqueeze(std::int64_t dim) const { return with(tensor_.unsqueeze(dim)); }
AsyncTensor AsyncTensor::expand(at::IntArrayRef sizes) const { return with(tensor_.expand(sizes)); }
AsyncTensor AsyncTensor::as_strided(at::IntArrayRef sizes, at::IntArrayRef strides, std::int64_t offset) const {
  return with(tensor_.as_strided(sizes, strides, offset));
}
AsyncTensor AsyncTensor::detach() const { return with(tensor_.detach()); }
AsyncTensor AsyncTensor::alias() const { return with(at::alias(tensor_)); }

std::vector<AsyncTensor> AsyncTensor::split(std::int64_t size, std::int64_t dim) const {
  return with(tensor_.split(size, dim));
}
std::vector<AsyncTensor> AsyncTensor::split_with_sizes(at::IntArrayRef sizes, std::int64_t dim) const {
  return with(tensor_.split_with_sizes(sizes, dim));
}
std::vector<AsyncTensor> AsyncTensor::chunk(std::int64_t count, std::int64_t dim) const {
  return with(tensor_.chunk(count, dim));
}
std::vector<AsyncTensor> AsyncTensor::unbind(std::int64_t dim) const { return with(tensor_.unbind(dim)); }

AllowInflightInputs::AllowInflightInputs() { ++scopes_with_inflight_inputs; }
AllowInflightInputs::~AllowInflightInputs() { --scopes_with_inflight_inputs; }
bool AllowInflightInputs::allowed() { return scopes_with_inflight_inputs > 0; }

}  // namespace hocket
