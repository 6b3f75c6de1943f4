#include "torch/c10d_gather.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstring>

#include "torch/c10d_port.h"

namespace hocket {

namespace {

// One tensor from each rank, all of the same size.
std::vector<at::Tensor> gather(c10d::Backend& backend, at::Tensor mine, std::chrono::milliseconds timeout) {
  std::vector<at::Tensor> inputs{std::move(mine)};
  std::vector<std::vector<at::Tensor>> outputs(1);
  for (int rank = 0; rank < backend.getSize(); ++rank) outputs[0].push_back(at::empty_like(inputs[0]));
  c10d::AllgatherOptions options;
  options.timeout = timeout;
  backend.allgather(outputs, inputs, options)->wait();
  return outputs[0];
}

std::vector<std::string> gather_all(c10d::Backend& backend, const std::string& text,
                                    std::chrono::milliseconds timeout) {
  at::Tensor length = at::empty({1}, at::kLong);
  *length.data_ptr<std::int64_t>() = static_cast<std::int64_t>(text.size());
  const std::vector<at::Tensor> lengths = gather(backend, length, timeout);
  std::int64_t longest = 1;
  for (const at::Tensor& one : lengths) longest = std::max(longest, *one.data_ptr<std::int64_t>());
  const at::Tensor mine = at::zeros({longest}, at::kByte);
  if (!text.empty()) std::memcpy(mine.data_ptr(), text.data(), text.size());
  std::vector<std::string> texts;
  const std::vector<at::Tensor> all = gather(backend, mine, timeout);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const auto* const begin = static_cast<const char*>(all[rank].data_ptr());
    texts.emplace_back(begin, begin + *lengths[rank].data_ptr<std::int64_t>());
  }
  return texts;
}

}  // namespace

Result<std::vector<std::string>> gather_texts(c10d::Backend& backend, const std::string& text, Deadline deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  try {
    return gather_all(backend, text, std::max(left, std::chrono::milliseconds(1)));
  } catch (const std::exception& thrown) {
    return fail(ErrorKind::peer,
                "the {} ranks of the process group could not tell each other where they are: one of them has died or "
                "has not come in time ({})",
                backend.getSize(), short_words(thrown));
  }
}

}  // namespace hocket
