// The sum of sparse tensors: DistributedDataParallel has such gradients for embeddings.
#include "distributed_backend.h"

namespace hocket {

namespace {

// One behind the other, the parts of all ranks, of which each has so many that count.
at::Tensor counted_parts(const at::Tensor& all, const at::Tensor& counts, std::int64_t dim) {
  std::vector<at::Tensor> parts;
  for (std::int64_t rank = 0; rank < counts.numel(); ++rank) {
    parts.push_back(all[rank].narrow(dim, 0, counts[rank].item<std::int64_t>()));
  }
  return at::cat(parts, dim);
}

}  // namespace

at::Tensor DistributedBackend::gather_now(const at::Tensor& mine, const CallOptions& options) {
  std::vector<std::int64_t> sizes = mine.sizes().vec();
  sizes.insert(sizes.begin(), size_);
  at::Tensor all = at::empty(sizes, mine.options());
  const Status status =
      communicator()
          .all_gather(mine.const_data_ptr(), all.mutable_data_ptr(), mine.numel(), moved_as(mine), options)
          .wait();
  if (!status) throw_error(status.error());
  return all;
}

// Ranks have different elements, so they gather the indices and values of all, filled up to the length of the longest, and every
// one adds them up. In the caller's thread: the sizes of one step are what another has gathered.
DistributedBackend::WorkHandle DistributedBackend::allreduce_sparse(Tensors& tensors,
                                                                    const c10d::AllreduceOptions& opts) {
  const char* op = "all_reduce";
  TORCH_CHECK_VALUE(tensors.size() == 1 && tensors.front().layout() == at::kSparse, op,
                    " of sparse tensors got something else than one sparse tensor");
  TORCH_CHECK_VALUE(reduction_of(op, opts.reduceOp).op == ReduceOp::sum, op,
                    " of sparse tensors can only add them up: use ReduceOp.SUM, or call to_dense() on it");
  Started started = start(c10d::OpType::_ALLREDUCE_SPARSE, "hocket:sparse_all_reduce", tensors, tensors, opts);
  started.options.blocking = true;
  const at::Tensor mine = tensors.front().coalesce();
  const std::int64_t own = mine._nnz();
  const at::Tensor counts = gather_now(at::full({}, own, at::kLong), started.options);
  const std::int64_t most = counts.max().item<std::int64_t>();
  at::Tensor indices = at::zeros({mine.sparse_dim(), most}, at::kLong);
  indices.narrow(1, 0, own).copy_(mine.indices());
  std::vector<std::int64_t> sizes = mine.values().sizes().vec();
  sizes.front() = most;
  at::Tensor values = at::zeros(sizes, mine.values().options());
  values.narrow(0, 0, own).copy_(mine.values());
  const at::Tensor all_indices = counted_parts(gather_now(indices, started.options), counts, 1);
  const at::Tensor all_values = counted_parts(gather_now(values, started.options), counts, 0);
  tensors.front().copy_(at::sparse_coo_tensor(all_indices, all_values, mine.sizes()).coalesce());
  return finish(started, Work());
}

}  // namespace hocket
