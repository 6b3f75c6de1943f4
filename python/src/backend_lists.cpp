// Collectives on lists of tensors.
#include "distributed_backend.h"
#include "torch/arguments.h"

namespace hocket {

namespace {

using c10d::OpType;

const at::Tensor& only(const char* op, const char* which, const std::vector<at::Tensor>& tensors) {
  TORCH_CHECK_VALUE(tensors.size() == 1, op, " got ", tensors.size(), " ", which, " tensors, expected one");
  check_tensor(op, tensors.front());
  return tensors.front();
}

const std::vector<at::Tensor>& only(const char* op, const char* which,
                                    const std::vector<std::vector<at::Tensor>>& lists) {
  TORCH_CHECK_VALUE(lists.size() == 1, op, " got ", lists.size(), " lists of ", which, " tensors, expected one");
  return lists.front();
}

// A list with one tensor for each rank, all as large as the one.
void check_list(const char* op, const std::vector<at::Tensor>& list, const at::Tensor& one, int size) {
  TORCH_CHECK_VALUE(list.size() == static_cast<std::size_t>(size), op, " got a list of ", list.size(),
                    " tensors, expected one for each of the ", size, " ranks of the group");
  for (const at::Tensor& tensor : list) {
    check_tensor(op, tensor);
    TORCH_CHECK_VALUE(tensor.numel() == one.numel() && tensor.scalar_type() == one.scalar_type(), op,
                      " got a tensor of ", tensor.sizes(), " and ", tensor.scalar_type(),
                      " in its list, expected one of ", one.sizes(), " and ", one.scalar_type(),
                      " as it has on each rank");
  }
}

void check_same_length(const char* op, std::size_t outputs, std::size_t inputs) {
  TORCH_CHECK_VALUE(outputs == inputs && inputs > 0, op, " got ", inputs, " inputs and ", outputs,
                    " outputs, expected as many of both, and one at least");
}

std::vector<std::int64_t> counts_of(const std::vector<at::Tensor>& tensors) {
  std::vector<std::int64_t> counts;
  for (const at::Tensor& tensor : tensors) counts.push_back(tensor.numel());
  return counts;
}

// So many elements for one of the ranks, none for the others.
std::vector<std::int64_t> counts_for(std::int32_t rank, std::int64_t count, int size) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(size), 0);
  counts[static_cast<std::size_t>(rank)] = count;
  return counts;
}

// From here on it pays to write each tensor of a list by a broadcast of its own, and not all by way of one large tensor.
constexpr std::int64_t large_part = 256 << 10;  // bytes

// So many for every rank.
std::vector<std::int64_t> counts_for_all(std::int64_t count, int size) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(size), count);
}

}  // namespace

DistributedBackend::WorkHandle DistributedBackend::allgather(TensorLists& outputs, Tensors& inputs,
                                                             const c10d::AllgatherOptions& opts) {
  const char* op = "all_gather";
  const at::Tensor& input = only(op, "input", inputs);
  const Tensors& list = only(op, "output", outputs);
  check_list(op, list, input, size_);
  Started started = start(OpType::ALLGATHER, "hocket:all_gather", inputs, list, opts);
  std::vector<Work> works;
  add_gather(op, started, input, list, works);
  return finish(started, std::move(works));
}

void DistributedBackend::add_gather(const char* op, Started& started, const at::Tensor& input, const Tensors& list,
                                    std::vector<Work>& works) {
  const at::Tensor from = in_one_piece(input);
  if (static_cast<std::int64_t>(from.nbytes()) < large_part) {
    const at::Tensor to = written_joined(op, list, started.back);
    works.push_back(communicator().all_gather(from.const_data_ptr(), to.mutable_data_ptr(), from.numel(),
                                              moved_as(from), options_with(started, {from, to})));
    return;
  }
  for (std::int32_t source = 0; source < size_; ++source) {
    const at::Tensor to = written_in_one_piece(list[static_cast<std::size_t>(source)], false, started.back);
    const void* const data = source == rank_ ? from.const_data_ptr() : nullptr;
    works.push_back(communicator().broadcast(data, to.mutable_data_ptr(), from.numel(), moved_as(from), source,
                                             options_with(started, {from, to})));
  }
}

// Here a list of outputs has one tensor for each rank, and there is one such list for each input.
DistributedBackend::WorkHandle DistributedBackend::allgather_coalesced(TensorLists& outputs, Tensors& inputs,
                                                                       const c10d::AllgatherOptions& opts) {
  const char* op = "all_gather_coalesced";
  TORCH_CHECK_VALUE(outputs.size() == static_cast<std::size_t>(size_), op, " got ", outputs.size(),
                    " lists of outputs, expected one for each of the ", size_, " ranks of the group");
  Tensors all;
  for (const Tensors& list : outputs) {
    check_same_length(op, list.size(), inputs.size());
    all.insert(all.end(), list.begin(), list.end());
  }
  Started started = start(OpType::ALLGATHER_COALESCED, "hocket:all_gather", inputs, all, opts);
  std::vector<Work> works;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Tensors list;
    for (const Tensors& of_rank : outputs) list.push_back(of_rank[i]);
    check_list(op, list, inputs[i], size_);
    add_gather(op, started, inputs[i], list, works);
  }
  return finish(started, std::move(works));
}

DistributedBackend::WorkHandle DistributedBackend::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                                                   const c10d::AllgatherOptions& opts) {
  const char* op = "all_gather_into_tensor_coalesced";
  check_same_length(op, outputs.size(), inputs.size());
  Started started =
      start(OpType::ALLGATHER_COALESCED, "hocket:all_gather_into_tensor_coalesced", inputs, outputs, opts);
  std::vector<Work> works;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check_tensor(op, inputs[i]);
    check_tensor(op, outputs[i]);
    TORCH_CHECK_VALUE(outputs[i].numel() == inputs[i].numel() * size_, op, " got an output of ", outputs[i].numel(),
                      " elements for an input of ", inputs[i].numel(), " and ", size_, " ranks");
    const at::Tensor from = in_one_piece(inputs[i]);
    const at::Tensor to = written_in_one_piece(outputs[i], false, started.back);
    works.push_back(communicator().all_gather(from.const_data_ptr(), to.mutable_data_ptr(), from.numel(),
                                              moved_as(from), options_with(started, {from, to})));
  }
  return finish(started, std::move(works));
}

DistributedBackend::WorkHandle DistributedBackend::reduce_scatter(Tensors& outputs, TensorLists& inputs,
                                                                  const c10d::ReduceScatterOptions& opts) {
  const char* op = "reduce_scatter";
  const at::Tensor& output = only(op, "output", outputs);
  const Tensors& list = only(op, "input", inputs);
  check_list(op, list, output, size_);
  const C10dReduction by = reduction_of(op, opts.reduceOp);
  Started started = start(OpType::REDUCE_SCATTER, "hocket:reduce_scatter", list, outputs, opts);
  const at::Tensor from = reducible(op, joined(op, list), by);
  const at::Tensor to = reducible(op, written_in_one_piece(output, false, started.back), by);
  started.options.factor = by.factor;
  return finish(started,
                communicator().reduce_scatter(from.const_data_ptr(), to.mutable_data_ptr(), to.numel(),
                                              *dtype_of(to.scalar_type()), by.op, options_with(started, {from, to})));
}

DistributedBackend::WorkHandle DistributedBackend::reduce_scatter_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& opts) {
  const char* op = "reduce_scatter_tensor_coalesced";
  check_same_length(op, outputs.size(), inputs.size());
  const C10dReduction by = reduction_of(op, opts.reduceOp);
  Started started =
      start(OpType::REDUCE_SCATTER_TENSOR_COALESCED, "hocket:reduce_scatter_tensor_coalesced", inputs, outputs, opts);
  started.options.factor = by.factor;
  std::vector<Work> works;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check_tensor(op, inputs[i]);
    check_tensor(op, outputs[i]);
    TORCH_CHECK_VALUE(inputs[i].numel() == outputs[i].numel() * size_, op, " got an input of ", inputs[i].numel(),
                      " elements for an output of ", outputs[i].numel(), " and ", size_, " ranks");
    const at::Tensor from = reducible(op, in_one_piece(inputs[i]), by);
    const at::Tensor to = reducible(op, written_in_one_piece(outputs[i], false, started.back), by);
    works.push_back(communicator().reduce_scatter(from.const_data_ptr(), to.mutable_data_ptr(), to.numel(),
                                                  *dtype_of(to.scalar_type()), by.op,
                                                  options_with(started, {from, to})));
  }
  return finish(started, std::move(works));
}

// Everyone sends all that it has to one rank.
DistributedBackend::WorkHandle DistributedBackend::gather(TensorLists& outputs, Tensors& inputs,
                                                          const c10d::GatherOptions& opts) {
  const char* op = "gather";
  const at::Tensor& input = only(op, "input", inputs);
  const std::int32_t to_rank = root(op, opts.rootRank);
  const bool receives = to_rank == rank_;
  TORCH_CHECK_VALUE(receives || outputs.empty(), op, " got outputs on rank ", rank_, ", which gets nothing: rank ",
                    to_rank, " does");
  Tensors list;
  if (receives) {
    list = only(op, "output", outputs);
    check_list(op, list, input, size_);
  }
  Started started = start(OpType::GATHER, "hocket:gather", inputs, list, opts);
  const at::Tensor from = in_one_piece(input);
  const at::Tensor to = receives ? written_joined(op, list, started.back) : at::empty({0}, from.options());
  return finish(started,
                communicator().all_to_all(from.const_data_ptr(), counts_for(to_rank, from.numel(), size_),
                                          to.mutable_data_ptr(), counts_for_all(receives ? from.numel() : 0, size_),
                                          moved_as(from), options_with(started, {from, to})));
}

DistributedBackend::WorkHandle DistributedBackend::scatter(Tensors& outputs, TensorLists& inputs,
                                                           const c10d::ScatterOptions& opts) {
  const char* op = "scatter";
  const at::Tensor& output = only(op, "output", outputs);
  const std::int32_t from_rank = root(op, opts.rootRank);
  const bool sends = from_rank == rank_;
  TORCH_CHECK_VALUE(sends || inputs.empty(), op, " got inputs on rank ", rank_, ", which sends nothing: rank ",
                    from_rank, " does");
  Tensors list;
  if (sends) {
    list = only(op, "input", inputs);
    check_list(op, list, output, size_);
  }
  Started started = start(OpType::SCATTER, "hocket:scatter", list, outputs, opts);
  const at::Tensor from = sends ? joined(op, list) : at::empty({0}, output.options());
  const at::Tensor to = written_in_one_piece(output, false, started.back);
  return finish(started, communicator().all_to_all(from.const_data_ptr(), counts_for_all(sends ? to.numel() : 0, size_),
                                                   to.mutable_data_ptr(), counts_for(from_rank, to.numel(), size_),
                                                   moved_as(to), options_with(started, {from, to})));
}

DistributedBackend::WorkHandle DistributedBackend::alltoall(Tensors& outputs, Tensors& inputs,
                                                            const c10d::AllToAllOptions& opts) {
  const char* op = "all_to_all";
  for (const Tensors* list : {&outputs, &inputs}) {
    TORCH_CHECK_VALUE(list->size() == static_cast<std::size_t>(size_), op, " got a list of ", list->size(),
                      " tensors, expected one for each of the ", size_, " ranks of the group");
  }
  Started started = start(OpType::ALLTOALL, "hocket:all_to_all", inputs, outputs, opts);
  const at::Tensor from = joined(op, inputs);
  const at::Tensor to = written_joined(op, outputs, started.back);
  TORCH_CHECK_VALUE(from.scalar_type() == to.scalar_type(), op, " got inputs of ", from.scalar_type(),
                    " and outputs of ", to.scalar_type(), ", expected the same type");
  return finish(started,
                communicator().all_to_all(from.const_data_ptr(), counts_of(inputs), to.mutable_data_ptr(),
                                          counts_of(outputs), moved_as(from), options_with(started, {from, to})));
}

}  // namespace hocket
