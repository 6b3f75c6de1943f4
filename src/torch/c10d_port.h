// Messages of a fixed size over a c10d back end, with tags that no other user of it has, and errors instead of exceptions.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <cstdint>

#include "hocket/base/error.h"

namespace hocket {

// What an exception of libtorch or gloo says, without its advice and where in the source it comes from.
std::string short_words(const std::exception& thrown);

class C10dPort {
 public:
  using Message = c10::intrusive_ptr<c10d::Work>;
  // Indices that messages are told apart by. Those of one index, from one rank to another, come in order.
  static constexpr std::int32_t indices = 1 << 18;

  // Ports of other numbers have other tags: what was sent or awaited there is not met here.
  C10dPort(c10::intrusive_ptr<c10d::Backend> backend, std::uint32_t number);

  std::int32_t rank() const { return backend_->getRank(); }
  std::int32_t size() const { return backend_->getSize(); }

  // Return at once; the tensors stay until the message is complete. Any thread.
  Result<Message> send(at::Tensor bytes, std::int32_t rank, std::int32_t index) const;
  Result<Message> receive(at::Tensor bytes, std::int32_t rank, std::int32_t index) const;
  Result<Message> receive_from_any(at::Tensor bytes, std::int32_t index) const;

  // Sleeps until it is complete. False if somebody has called abort() on the message.
  static Result<bool> wait(const Message& message);

 private:
  std::int32_t tag_of(std::int32_t index) const { return first_tag_ + index; }

  c10::intrusive_ptr<c10d::Backend> backend_;
  std::int32_t first_tag_;
};

}  // namespace hocket
