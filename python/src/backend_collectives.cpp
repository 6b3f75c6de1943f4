// Collectives on single tensors.
#include <map>

#include "distributed_backend.h"
#include "torch/arguments.h"

namespace hocket {

namespace {

using c10d::OpType;

const at::Tensor& only(const char* op, const std::vector<at::Tensor>& tensors) {
  TORCH_CHECK_VALUE(tensors.size() == 1, op, " got ", tensors.size(), " tensors, expected one for each rank");
  check_tensor(op, tensors.front());
  return tensors.front();
}

void check_same_type(const char* op, const at::Tensor& output, const at::Tensor& input) {
  check_tensor(op, output);
  check_tensor(op, input);
  TORCH_CHECK_VALUE(output.scalar_type() == input.scalar_type(), op, " got an input of ", input.scalar_type(),
                    " and an output of ", output.scalar_type(), ", expected the same type");
}

// One of the two is as large as those of all ranks together.
void check_sizes(const char* op, const char* large_name, const at::Tensor& large, const at::Tensor& small, int size) {
  TORCH_CHECK_VALUE(large.numel() == small.numel() * size, op, " got an ", large_name, " of ", large.numel(),
                    " elements, expected ", small.numel(), " for each of the ", size, " ranks of the group");
}

std::vector<std::int64_t> in_elements(const char* op, const char* which, const std::vector<std::int64_t>& splits,
                                      const at::Tensor& tensor, int size) {
  const std::int64_t rows = tensor.dim() == 0 ? 1 : tensor.size(0);
  TORCH_CHECK_VALUE(splits.size() == static_cast<std::size_t>(size), op, " got ", splits.size(), " ", which,
                    " splits, expected one for each of the ", size, " ranks of the group");
  std::int64_t sum = 0;
  for (const std::int64_t split : splits) sum += split;
  TORCH_CHECK_VALUE(sum == rows, op, " got ", which, " splits that add up to ", sum, ", but the tensor has ", rows,
                    " rows");
  std::vector<std::int64_t> elements;
  for (const std::int64_t split : splits) elements.push_back(rows == 0 ? 0 : split * (tensor.numel() / rows));
  return elements;
}

// Of the tensor, for each rank.
std::int64_t equal_rows(const char* op, const char* which, const at::Tensor& tensor, int size) {
  const std::int64_t rows = tensor.dim() == 0 ? 1 : tensor.size(0);
  TORCH_CHECK_VALUE(rows % size == 0, op, " got an ", which, " of ", rows, " rows, which can't be divided among the ",
                    size, " ranks of the group: give splits");
  return rows / size;
}

void fill_splits(std::vector<std::int64_t>& splits, const char* op, const char* which, const at::Tensor& tensor,
                 int size) {
  if (splits.empty()) splits.assign(static_cast<std::size_t>(size), equal_rows(op, which, tensor, size));
}

}  // namespace

DistributedBackend::WorkHandle DistributedBackend::broadcast(Tensors& tensors, const c10d::BroadcastOptions& opts) {
  const char* op = "broadcast";
  const at::Tensor& tensor = only(op, tensors);
  Started started = start(OpType::BROADCAST, "hocket:broadcast", tensors, tensors, opts);
  const std::int32_t source = root(op, opts.rootRank);
  const at::Tensor piece = written_in_one_piece(tensor, source == rank_, started.back);
  void* const data = piece.mutable_data_ptr();
  return finish(started, communicator().broadcast(data, data, piece.numel(), moved_as(piece), source,
                                                  options_with(started, {piece})));
}

DistributedBackend::WorkHandle DistributedBackend::allreduce(Tensors& tensors, const c10d::AllreduceOptions& opts) {
  const char* op = "all_reduce";
  if (tensors.size() == 1 && tensors.front().layout() == at::kSparse) return allreduce_sparse(tensors, opts);
  const at::Tensor& tensor = only(op, tensors);
  const C10dReduction by = reduction_of(op, opts.reduceOp);
  Started started = start(OpType::ALLREDUCE, "hocket:all_reduce", tensors, tensors, opts);
  const at::Tensor piece = reducible(op, written_in_one_piece(tensor, true, started.back), by);
  started.options.factor = by.factor;
  void* const data = piece.mutable_data_ptr();
  return finish(started, communicator().all_reduce(data, data, piece.numel(), *dtype_of(piece.scalar_type()), by.op,
                                                   options_with(started, {piece})));
}

// One communication for the tensors of each type.
DistributedBackend::WorkHandle DistributedBackend::allreduce_coalesced(Tensors& tensors,
                                                                       const c10d::AllreduceCoalescedOptions& opts) {
  const char* op = "all_reduce_coalesced";
  TORCH_CHECK_VALUE(!tensors.empty(), op, " got no tensors");
  const C10dReduction by = reduction_of(op, opts.reduceOp);
  Started started = start(OpType::ALLREDUCE_COALESCED, "hocket:all_reduce", tensors, tensors, opts);
  started.options.factor = by.factor;
  auto pieces = std::make_shared<Tensors>();
  std::map<Dtype, std::vector<Transfer>> transfers;
  for (const at::Tensor& tensor : tensors) {
    check_tensor(op, tensor);
    const at::Tensor piece = reducible(op, written_in_one_piece(tensor, true, started.back), by);
    void* const data = piece.mutable_data_ptr();
    transfers[*dtype_of(piece.scalar_type())].push_back({data, data, piece.numel()});
    pieces->push_back(piece);
  }
  started.options.keep_alive = std::move(pieces);
  std::vector<Work> works;
  for (const auto& [dtype, parts] : transfers) {
    works.push_back(communicator().all_reduce_coalesced(parts, dtype, by.op, started.options));
  }
  return finish(started, std::move(works));
}

// As an all_reduce whose result the others drop: in shared memory it takes no longer, and their tensors stay as they are.
DistributedBackend::WorkHandle DistributedBackend::reduce(Tensors& tensors, const c10d::ReduceOptions& opts) {
  const char* op = "reduce";
  const at::Tensor& tensor = only(op, tensors);
  const C10dReduction by = reduction_of(op, opts.reduceOp);
  Started started = start(OpType::REDUCE, "hocket:reduce", tensors, tensors, opts);
  const bool receives = root(op, opts.rootRank) == rank_;
  const at::Tensor input =
      reducible(op, receives ? written_in_one_piece(tensor, true, started.back) : in_one_piece(tensor), by);
  const at::Tensor output = receives ? input : at::empty_like(input);
  started.options.factor = by.factor;
  return finish(started, communicator().all_reduce(input.const_data_ptr(), output.mutable_data_ptr(), input.numel(),
                                                   *dtype_of(input.scalar_type()), by.op,
                                                   options_with(started, {input, output})));
}

DistributedBackend::WorkHandle DistributedBackend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                                   const c10d::AllgatherOptions& opts) {
  const char* op = "all_gather_into_tensor";
  check_same_type(op, output, input);
  check_sizes(op, "output", output, input, size_);
  Started started = start(OpType::_ALLGATHER_BASE, "hocket:_all_gather_base", {input}, {output}, opts);
  const at::Tensor from = in_one_piece(input);
  const at::Tensor to = written_in_one_piece(output, false, started.back);
  return finish(started, communicator().all_gather(from.const_data_ptr(), to.mutable_data_ptr(), from.numel(),
                                                   moved_as(from), options_with(started, {from, to})));
}

DistributedBackend::WorkHandle DistributedBackend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                                        const c10d::ReduceScatterOptions& opts) {
  const char* op = "reduce_scatter_tensor";
  check_same_type(op, output, input);
  check_sizes(op, "input", input, output, size_);
  const C10dReduction by = reduction_of(op, opts.reduceOp);
  Started started = start(OpType::_REDUCE_SCATTER_BASE, "hocket:_reduce_scatter_base", {input}, {output}, opts);
  const at::Tensor from = reducible(op, in_one_piece(input), by);
  const at::Tensor to = reducible(op, written_in_one_piece(output, false, started.back), by);
  started.options.factor = by.factor;
  return finish(started,
                communicator().reduce_scatter(from.const_data_ptr(), to.mutable_data_ptr(), to.numel(),
                                              *dtype_of(to.scalar_type()), by.op, options_with(started, {from, to})));
}

DistributedBackend::WorkHandle DistributedBackend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                                 std::vector<std::int64_t>& output_splits,
                                                                 std::vector<std::int64_t>& input_splits,
                                                                 const c10d::AllToAllOptions& opts) {
  const char* op = "all_to_all_single";
  check_same_type(op, output, input);
  Started started = start(OpType::ALLTOALL_BASE, "hocket:all_to_all", {input}, {output}, opts);
  const at::Tensor from = in_one_piece(input);
  const at::Tensor to = written_in_one_piece(output, false, started.back);
  if (input_splits.empty() && output_splits.empty() && from.numel() == to.numel()) {
    equal_rows(op, "input", input, size_);
    equal_rows(op, "output", output, size_);
    return finish(started, communicator().all_to_all(from.const_data_ptr(), to.mutable_data_ptr(), from.numel() / size_,
                                                     moved_as(from), options_with(started, {from, to})));
  }
  fill_splits(input_splits, op, "input", input, size_);
  fill_splits(output_splits, op, "output", output, size_);
  return finish(
      started, communicator().all_to_all(from.const_data_ptr(), in_elements(op, "input", input_splits, input, size_),
                                         to.mutable_data_ptr(), in_elements(op, "output", output_splits, output, size_),
                                         moved_as(from), options_with(started, {from, to})));
}

DistributedBackend::WorkHandle DistributedBackend::barrier(const c10d::BarrierOptions& opts) {
  Started started = start(OpType::BARRIER, "hocket:barrier", {}, {}, opts);
  return finish(started, communicator().barrier(options_with(started, {})));
}

}  // namespace hocket
