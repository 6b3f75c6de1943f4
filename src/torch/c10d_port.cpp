#include "torch/c10d_port.h"

namespace hocket {

namespace {

constexpr std::int32_t tags_begin = 1 << 30;  // programs that number their messages begin at 0
constexpr std::uint32_t numbers = 1 << 12;

// A wait that ends by its timeout closes the connections to all ranks, so none of ours does.
constexpr std::chrono::hours ten_years{10 * 365 * 24};

template <class Function>
auto caught(const Function& function) -> Result<decltype(function())> {
  try {
    return function();
  } catch (const std::exception& thrown) {
    return fail(ErrorKind::peer, "{}", short_words(thrown));
  }
}

}  // namespace

std::string short_words(const std::exception& thrown) {
  const auto* const error = dynamic_cast<const c10::Error*>(&thrown);
  std::string words = error != nullptr ? error->what_without_backtrace() : thrown.what();
  if (words.starts_with('[')) {  // [file:line]
    if (const std::size_t end = words.find("] "); end != std::string::npos) words.erase(0, end + 2);
  }
  words.resize(std::min(words.find(". This is typically"), words.size()));
  words.resize(std::min(words.find('\n'), words.size()));
  return words;
}

C10dPort::C10dPort(c10::intrusive_ptr<c10d::Backend> backend, std::uint32_t number)
    : backend_(std::move(backend)), first_tag_(tags_begin + static_cast<std::int32_t>(number % numbers) * indices) {}

Result<C10dPort::Message> C10dPort::send(at::Tensor bytes, std::int32_t rank, std::int32_t index) const {
  return caught([&] {
    std::vector<at::Tensor> tensors{std::move(bytes)};
    return backend_->send(tensors, rank, tag_of(index));
  });
}

Result<C10dPort::Message> C10dPort::receive(at::Tensor bytes, std::int32_t rank, std::int32_t index) const {
  return caught([&] {
    std::vector<at::Tensor> tensors{std::move(bytes)};
    return backend_->recv(tensors, rank, tag_of(index));
  });
}

Result<C10dPort::Message> C10dPort::receive_from_any(at::Tensor bytes, std::int32_t index) const {
  return caught([&] {
    std::vector<at::Tensor> tensors{std::move(bytes)};
    return backend_->recvAnysource(tensors, tag_of(index));
  });
}

Result<bool> C10dPort::wait(const Message& message) {
  return caught([&] { return message->wait(ten_years); });
}

}  // namespace hocket
