#include "hocket/torch/point_to_point.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include "torch/arguments.h"
#include "torch/check.h"
#include "torch/differentiable.h"
#include "torch/dispatch.h"
#include "torch/in_flight.h"
#include "torch/record.h"
#include "torch/resolved_group.h"

namespace hocket {

namespace {

using Direction = PeerTransfer::Direction;
using Transfers = std::vector<PeerTransfer>;

void check(const char* op, const PeerTransfer& transfer, const ResolvedGroup& group) {
  const bool receives = transfer.direction == Direction::receive;
  if (transfer.peer < 0 || transfer.peer >= group.size) {
    fail_call(op, "{} place {}, expected 0 to {} in {}", receives ? "from" : "to", transfer.peer, group.size - 1,
              group.name);
  }
  if (receives && !transfer.tensor.is_contiguous()) {
    fail_call(op, "receives into memory that must be contiguous, got strides [{}]",
              fmt::join(transfer.tensor.strides(), ","));
  }
  if (need_gradient({transfer.tensor})) {
    fail_call(op, "has no backward: give it tensor.detach(), or call it under torch::NoGradGuard");
  }
}

// One communication for each dtype, as the communicator takes them.
void communicate(const Transfers& transfers, const ResolvedGroup& group, Communication& communication) {
  auto kept = std::make_shared<std::vector<c10::Storage>>();
  std::vector<Message> messages;
  for (const PeerTransfer& transfer : transfers) {
    const bool sends = transfer.direction == Direction::send;
    const at::Tensor tensor = transfer.tensor.contiguous().resolve_conj().resolve_neg();
    kept->push_back(tensor.storage());
    messages.push_back({sends ? Message::Direction::send : Message::Direction::receive,
                        sends ? const_cast<void*>(tensor.const_data_ptr()) : tensor.mutable_data_ptr(), tensor.numel(),
                        transfer.peer, transfer.tag});
  }
  CallOptions options;
  options.keep_alive = std::move(kept);
  options.site = group.site;
  std::vector<bool> started(transfers.size());
  for (std::size_t first = 0; first < transfers.size(); ++first) {
    if (started[first]) continue;
    const at::ScalarType dtype = transfers[first].tensor.scalar_type();
    std::vector<Message> alike;
    for (std::size_t i = first; i < transfers.size(); ++i) {
      if (transfers[i].tensor.scalar_type() != dtype) continue;
      alike.push_back(messages[i]);
      started[i] = true;
    }
    communication.add(group.communicator->batch(alike, *dtype_of(dtype), options));
  }
}

Tensors results_of(const Transfers& transfers) {
  Tensors results;
  for (const PeerTransfer& transfer : transfers) {
    const bool receives = transfer.direction == Direction::receive;
    results.push_back(receives ? transfer.tensor : at::empty({0}, transfer.tensor.options()));
  }
  return results;
}

AsyncTensors transfer_all(const char* op, const Transfers& transfers, const ResolvedGroup& group) {
  const Tensors results = results_of(transfers);
  std::shared_ptr<Communication> communication;
  if (group.communicator && !transfers.empty()) {
    communication = std::make_shared<Communication>(op, group.handle);
    communicate(transfers, group, *communication);
  }
  AsyncTensors asynchronous;
  for (std::size_t i = 0; i < results.size(); ++i) {
    asynchronous.emplace_back(results[i], communication);
    if (transfers[i].direction == Direction::send) continue;
    if (!results[i].is_inference()) results[i].unsafeGetTensorImpl()->bump_version();
    if (communication) note_in_flight(results[i], communication);
  }
  return asynchronous;
}

ResolvedGroup checked_group(const char* op, const Transfers& transfers, const GroupArg& group) {
  Tensors tensors;
  for (const PeerTransfer& transfer : transfers) tensors.push_back(transfer.tensor);
  ResolvedGroup resolved = resolve_group(op, group, check_tensors(op, tensors));
  for (const PeerTransfer& transfer : transfers) check(op, transfer, resolved);
  return resolved;
}

AsyncTensor transfer_one(const char* op, const PeerTransfer& transfer, const GroupArg& group) {
  const ResolvedGroup resolved = checked_group(op, {transfer}, group);
  const at::NoGradGuard no_gradients;
  if (current_recorder() == nullptr) return transfer_all(op, {transfer}, resolved)[0];
  const std::string name = fmt::format("_c10d_functional::{}", op);
  const Tensors recorded = record_call(
      name.c_str(), {transfer.tensor, std::int64_t{transfer.peer}, std::int64_t{transfer.tag}, resolved.name});
  return AsyncTensor(record_waits(recorded)[0]);
}

AsyncTensors record_batch(const Transfers& transfers, const std::string& group) {
  std::vector<std::string> operations;
  std::vector<std::int64_t> peers;
  std::vector<std::int64_t> tags;
  Tensors tensors;
  for (const PeerTransfer& transfer : transfers) {
    operations.emplace_back(transfer.direction == Direction::send ? "isend" : "irecv");
    peers.push_back(transfer.peer);
    tags.push_back(transfer.tag);
    tensors.push_back(transfer.tensor);
  }
  AsyncTensors results;
  for (const at::Tensor& result :
       record_waits(record_call("_c10d_functional::batch_p2p_ops", {operations, peers, tags, tensors, group}))) {
    results.emplace_back(result);
  }
  return results;
}

}  // namespace

AsyncTensor isend(const at::Tensor& tensor, std::int32_t destination, const GroupArg& group, std::int32_t tag) {
  return transfer_one("isend", {Direction::send, tensor, destination, tag}, group);
}

AsyncTensor irecv(const at::Tensor& tensor, std::int32_t source, const GroupArg& group, std::int32_t tag) {
  return transfer_one("irecv", {Direction::receive, tensor, source, tag}, group);
}

AsyncTensors batch_p2p_ops(const std::vector<PeerTransfer>& transfers, const GroupArg& group) {
  const char* op = "batch_p2p_ops";
  const ResolvedGroup resolved = checked_group(op, transfers, group);
  const at::NoGradGuard no_gradients;
  if (current_recorder() != nullptr) return record_batch(transfers, resolved.name);
  return transfer_all(op, transfers, resolved);
}

}  // namespace hocket
