// The result of a collective, which may still be on its way.
//
//   AsyncTensor sum = all_reduce(gradient, "sum", "dp");
//   AsyncTensor flat = sum.view({-1});     // doesn't wait
//   at::Tensor scaled = at::mul(sum, 0.1); // waits: it becomes an at::Tensor
//
// A value; copies and views are of the same communication and may be used from several threads. Who reads the data waits, the
// first time; who asks for sizes or takes a view doesn't. A failed communication throws at the wait and at every later use.
// What the communication reads and writes stays until it is complete, whatever the program lets go of.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <vector>

#include "hocket/base/error.h"

struct DLManagedTensor;

namespace hocket {

class Communication;

// What wrong calls and failed communications throw.
class CollectiveError : public c10::Error {
 public:
  explicit CollectiveError(hocket::Error error);
  ErrorKind kind() const { return error_.kind; }
  const hocket::Error& error() const { return error_; }

 private:
  hocket::Error error_;
};

class AsyncTensor {
 public:
  AsyncTensor() = default;
  // A tensor on which nobody works.
  explicit AsyncTensor(at::Tensor tensor) : tensor_(std::move(tensor)) {}
  AsyncTensor(at::Tensor tensor, std::shared_ptr<Communication> communication)
      : tensor_(std::move(tensor)), communication_(std::move(communication)) {}

  // ---- What waits
  at::Tensor wait() const;
  operator at::Tensor() const { return wait(); }
  const at::Tensor* operator->() const;  // any other member of at::Tensor: sum->relu()
  at::Scalar item() const;
  template <class T>
  T item() const {
    return wait().template item<T>();
  }
  template <class T>
  T* data_ptr() const {
    return wait().template data_ptr<T>();
  }
  DLManagedTensor* to_dlpack() const;
  friend std::ostream& operator<<(std::ostream& stream, const AsyncTensor& tensor);
  // With a tensor on the left, libtorch's own operators do.
  template <class Other>
  friend at::Tensor operator+(const AsyncTensor& a, const Other& b) {
    return a.wait() + b;
  }
  template <class Other>
  friend at::Tensor operator-(const AsyncTensor& a, const Other& b) {
    return a.wait() - b;
  }
  template <class Other>
  friend at::Tensor operator*(const AsyncTensor& a, const Other& b) {
    return a.wait() * b;
  }
  template <class Other>
  friend at::Tensor operator/(const AsyncTensor& a, const Other& b) {
    return a.wait() / b;
  }

  // ---- What doesn't
  bool done() const;  // a wait would return, or throw, at once
  bool defined() const { return tensor_.defined(); }
  std::int64_t dim() const { return tensor_.dim(); }
  at::IntArrayRef sizes() const { return tensor_.sizes(); }
  std::int64_t size(std::int64_t dim) const { return tensor_.size(dim); }
  at::IntArrayRef strides() const { return tensor_.strides(); }
  std::int64_t stride(std::int64_t dim) const { return tensor_.stride(dim); }
  std::int64_t storage_offset() const { return tensor_.storage_offset(); }
  std::int64_t numel() const { return tensor_.numel(); }
  at::ScalarType scalar_type() const { return tensor_.scalar_type(); }
  caffe2::TypeMeta dtype() const { return tensor_.dtype(); }
  at::Device device() const { return tensor_.device(); }
  at::TensorOptions options() const { return tensor_.options(); }
  bool is_contiguous() const { return tensor_.is_contiguous(); }
  bool requires_grad() const { return tensor_.requires_grad(); }
  // The tensor as it is, perhaps with nothing in it yet: for those who learn in another way when it is complete.
  const at::Tensor& unwaited() const { return tensor_; }
  const std::shared_ptr<Communication>& communication() const { return communication_; }  // null: nothing was under way

  AsyncTensor view(at::IntArrayRef sizes) const;
  AsyncTensor view_as(const at::Tensor& other) const { return view(other.sizes()); }
  AsyncTensor reshape(at::IntArrayRef sizes) const;  // waits where it has to copy
  AsyncTensor flatten(std::int64_t first = 0, std::int64_t last = -1) const;
  AsyncTensor unflatten(std::int64_t dim, at::IntArrayRef sizes) const;
  AsyncTensor transpose(std::int64_t first, std::int64_t second) const;
  AsyncTensor t() const;
  AsyncTensor permute(at::IntArrayRef dims) const;
  AsyncTensor movedim(std::int64_t from, std::int64_t to) const;
  AsyncTensor narrow(std::int64_t dim, std::int64_t start, std::int64_t length) const;
  AsyncTensor slice(std::int64_t dim, std::int64_t start, std::int64_t end, std::int64_t step = 1) const;
  AsyncTensor select(std::int64_t dim, std::int64_t index) const;
  AsyncTensor operator[](std::int64_t index) const { return select(0, index); }
  AsyncTensor squeeze() const;
  AsyncTensor squeeze(std::int64_t dim) const;
  AsyncTensor unsqueeze(std::int64_t dim) const;
  AsyncTensor expand(at::IntArrayRef sizes) const;
  AsyncTensor as_strided(at::IntArrayRef sizes, at::IntArrayRef strides, std::int64_t offset = 0) const;
  AsyncTensor detach() const;
  AsyncTensor alias() const;
  std::vector<AsyncTensor> split(std::int64_t size, std::int64_t dim = 0) const;
  std::vector<AsyncTensor> split_with_sizes(at::IntArrayRef sizes, std::int64_t dim = 0) const;
  std::vector<AsyncTensor> chunk(std::int64_t count, std::int64_t dim = 0) const;
  std::vector<AsyncTensor> unbind(std::int64_t dim = 0) const;

 private:
  AsyncTensor with(at::Tensor view) const { return {std::move(view), communication_}; }
  std::vector<AsyncTensor> with(std::vector<at::Tensor> views) const;

  at::Tensor tensor_;
  std::shared_ptr<Communication> communication_;
};

// How many communications this process let go of without waiting for them. They were completed all the same, but nobody would have
// heard of a failure. At exit the number is logged, if there are any.
std::int64_t never_waited_results();

// While one lives, a compiled step that this thread calls takes asynchronous tensors as they are and waits for them where it
// needs them; otherwise it waits when it begins.
class AllowInflightInputs {
 public:
  AllowInflightInputs();
  ~AllowInflightInputs();
  AllowInflightInputs(const AllowInflightInputs&) = delete;
  AllowInflightInputs& operator=(const AllowInflightInputs&) = delete;
  static bool allowed();
};

}  // namespace hocket
