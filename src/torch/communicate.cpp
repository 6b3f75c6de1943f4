// Collectives on tensors, carried out: memory, counts and dtypes for the communicator.
#include <algorithm>

#include "torch/arguments.h"
#include "torch/tensor_collective.h"

namespace hocket {

namespace {

using Kind = TensorCollective::Kind;

// Memory that stays until the communication is complete; without the tensors, whose history need not.
struct KeptMemory {
  std::vector<c10::Storage> storages;
};

CallOptions options_of(const TensorCollective& collective, const Tensors& inputs, const Tensors& results) {
  auto kept = std::make_shared<KeptMemory>();
  kept->storages.reserve(inputs.size() + results.size());
  for (const at::Tensor& tensor : inputs) kept->storages.push_back(tensor.storage());
  for (const at::Tensor& tensor : results) kept->storages.push_back(tensor.storage());
  CallOptions options;
  options.blocking = collective.blocking;
  options.algorithm = collective.algorithm;
  options.factor = collective.by.factor;
  options.keep_alive = std::move(kept);
  options.site = collective.group.site;
  return options;
}

// Elements of one row of dim 0.
std::int64_t row_of(const at::Tensor& tensor) {
  std::int64_t elements = 1;
  for (std::int64_t dim = 1; dim < tensor.dim(); ++dim) elements *= tensor.size(dim);
  return elements;
}

Splits in_elements(Splits rows, std::int64_t row) {
  for (std::int64_t& split : rows) split *= row;
  return rows;
}

// What the communicator counts: a reduce_scatter counts its output, an all_to_all what goes to one rank.
std::int64_t count_of(const TensorCollective& collective, const at::Tensor& input, const at::Tensor& result) {
  if (collective.kind == Kind::reduce_scatter) return result.numel();
  if (collective.kind == Kind::all_to_all) return input.numel() / collective.group.size;
  return input.numel();
}

Work call_one(const TensorCollective& collective, const at::Tensor& input, const at::Tensor& result,
              const CallOptions& options) {
  const Communicator& group = *collective.group.communicator;
  const Dtype dtype = *dtype_of(input.scalar_type());
  const std::int64_t count = count_of(collective, input, result);
  const void* from = input.const_data_ptr();
  void* to = result.mutable_data_ptr();
  switch (collective.kind) {
    case Kind::all_reduce: return group.all_reduce(from, to, count, dtype, collective.by.op, options);
    case Kind::all_gather: return group.all_gather(from, to, count, dtype, options);
    case Kind::reduce_scatter: return group.reduce_scatter(from, to, count, dtype, collective.by.op, options);
    case Kind::broadcast: return group.broadcast(from, to, count, dtype, collective.source, options);
    case Kind::all_to_all: break;
  }
  if (!collective.has_splits) return group.all_to_all(from, to, count, dtype, options);
  const std::int64_t row = row_of(input);
  return group.all_to_all(from, in_elements(collective.input_splits, row), to,
                          in_elements(collective.output_splits, row), dtype, options);
}

Work call_many(const TensorCollective& collective, Dtype dtype, const std::vector<Transfer>& parts,
               const CallOptions& options) {
  const Communicator& group = *collective.group.communicator;
  if (collective.kind == Kind::all_gather) return group.all_gather_coalesced(parts, dtype, options);
  if (collective.kind == Kind::all_reduce) {
    return group.all_reduce_coalesced(parts, dtype, collective.by.op, options);
  }
  return group.reduce_scatter_coalesced(parts, dtype, collective.by.op, options);
}

}  // namespace

std::shared_ptr<Communication> communicate(const TensorCollective& collective, const Tensors& inputs,
                                           const Tensors& results) {
  auto communication = std::make_shared<Communication>(collective.name(), collective.group.handle);
  const CallOptions options = options_of(collective, inputs, results);
  if (!collective.coalesced) {
    communication->add(call_one(collective, inputs[0], results[0], options));
    return communication;
  }
  // The communicator takes one dtype at a time; ranks agree on the order, which is that of the first tensors.
  std::vector<bool> sent(inputs.size());
  for (std::size_t first = 0; first < inputs.size(); ++first) {
    if (sent[first]) continue;
    std::vector<Transfer> parts;
    for (std::size_t i = first; i < inputs.size(); ++i) {
      if (inputs[i].scalar_type() != inputs[first].scalar_type()) continue;
      parts.push_back(
          {inputs[i].const_data_ptr(), results[i].mutable_data_ptr(), count_of(collective, inputs[i], results[i])});
      sent[i] = true;
    }
    communication->add(call_many(collective, *dtype_of(inputs[first].scalar_type()), parts, options));
  }
  return communication;
}

}  // namespace hocket
