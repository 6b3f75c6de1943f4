// Tensors from one rank to another. Messages between two ranks arrive in order, each at the first receive with its tag; they wait
// neither for collectives nor for each other.
//
//   AsyncTensor sent = isend(activations, next, "pp");
//   AsyncTensor received = irecv(at::empty({32, 512}), previous, "pp");
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "hocket/torch/collectives.h"

namespace hocket {

// To and from a place of the group. The result of a send is empty: something to wait for.
AsyncTensor isend(const at::Tensor& tensor, std::int32_t destination, const GroupArg& group = "world",
                  std::int32_t tag = 0);
// The result is the tensor itself, which must be contiguous.
AsyncTensor irecv(const at::Tensor& tensor, std::int32_t source, const GroupArg& group = "world", std::int32_t tag = 0);

struct PeerTransfer {
  enum class Direction { send, receive };
  Direction direction = Direction::send;
  at::Tensor tensor;
  std::int32_t peer = 0;
  std::int32_t tag = 0;
};

// One result for each transfer, as above; who waits for one waits for all.
AsyncTensors batch_p2p_ops(const std::vector<PeerTransfer>& transfers, const GroupArg& group = "world");

}  // namespace hocket
