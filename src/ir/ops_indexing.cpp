// Operators that read or write at places that another tensor names.
#include <algorithm>

#include "ir/ops.h"
#include "ir/pointwise.h"

namespace hocket::ops {

namespace {

// ---- index: one optional index tensor for each of the first dims

struct Indices {
  std::vector<std::optional<TypeView>> of_dim;  // as long as the tensor has dims
  Sizes shape;                                  // what they broadcast to
  std::size_t first = 0;                        // the first indexed dim
  std::size_t count = 0;                        // how many dims are indexed
  bool adjacent = true;                         // no unindexed dim in between
};

Result<Indices> indices_of(const Call& call, Param param, std::size_t rank) {
  const Arg* list = call.find(param);
  if (list == nullptr || !list->is(ArgKind::list))
    return fail(ErrorKind::input, "argument {} (indices) is missing or no list", param.index);
  Indices indices;
  for (const Arg& element : call.pool().elements(*list)) {
    const std::size_t dim = indices.of_dim.size();
    if (dim >= rank)
      return fail(ErrorKind::input, "argument {} (indices) has more indices than the tensor has dims, {}", param.index,
                  rank);
    indices.of_dim.emplace_back();
    if (element.is(ArgKind::none)) continue;
    HOCKET_TRY(const TypeView index,
               call.tensor(element, fmt::format("element {} of argument {} (indices)", dim, param.index)));
    if (index.dtype == Dtype::boolean || index.dtype == Dtype::u8)
      return fail(cannot_infer("how many elements a mask selects depends on the data"));
    HOCKET_TRY(indices.shape, broadcast(call, indices.shape, index.shape));
    if (indices.count == 0) indices.first = dim;
    else if (dim != indices.first + indices.count) indices.adjacent = false;
    ++indices.count;
    indices.of_dim.back() = index;
  }
  indices.of_dim.resize(rank);
  return indices;
}

// The indexed dims go; the indices' dims stand in their place, or in front where they are not adjacent.
Sizes with_indices(Dims dims, const Indices& indices, const Sizes& in_their_place) {
  Sizes result;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (!indices.of_dim[i]) result.push_back(dims[i]);
  }
  const std::size_t at = indices.adjacent ? indices.first : 0;
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(at), in_their_place.begin(), in_their_place.end());
  return result;
}

template <std::size_t indices_position>
Result<Outputs> index(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const Indices indices, indices_of(call, {indices_position, "indices"}, self.shape.size()));
  // Laid out as a pointwise result of the tensor, which has nothing to say about the indexed dims.
  const Sizes shape = with_indices(self.shape, indices, indices.shape);
  const Sizes strides = with_indices(self.strides, indices, Sizes(indices.shape.size(), Dim(0)));
  HOCKET_TRY(InferredType type, like(call, TypeView{self.dtype, shape, strides, Dim(0)}, self.dtype));
  return one(std::move(type));
}

// ---- along one dim

Result<Outputs> gather(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const std::int64_t dim, call.integer({1, "dim"}));
  HOCKET_TRY(const TypeView index, call.tensor({2, "index"}));
  HOCKET_CHECK(wrap_dim(dim, self.shape.size()).map([](std::size_t) {}));
  HOCKET_TRY(InferredType type, dense(call, self.dtype, copy_of(index.shape)));
  return one(std::move(type));
}

Result<Outputs> index_select(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const std::int64_t given, call.integer({1, "dim"}));
  HOCKET_TRY(const TypeView index, call.tensor({2, "index"}));
  HOCKET_TRY(const std::size_t dim, wrap_dim(given, self.shape.size()));
  Sizes shape = copy_of(self.shape);
  if (!shape.empty()) shape[dim] = index.shape.empty() ? Dim(1) : index.shape[0];
  HOCKET_TRY(InferredType type, dense(call, self.dtype, std::move(shape)));
  return one(std::move(type));
}

Result<Outputs> take(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const TypeView index, call.tensor({1, "index"}));
  HOCKET_TRY(InferredType type, dense(call, self.dtype, copy_of(index.shape)));
  return one(std::move(type));
}

Result<Outputs> masked_scatter(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const TypeView mask, call.tensor({1, "mask"}));
  HOCKET_TRY(Sizes shape, broadcast(call, self.shape, mask.shape));
  HOCKET_TRY(InferredType type, dense(call, self.dtype, std::move(shape)));
  return one(std::move(type));
}

// ---- embeddings

Result<Outputs> embedding(const Call& call) {
  HOCKET_TRY(const TypeView weight, call.tensor({0, "weight"}));
  HOCKET_TRY(const TypeView indices, call.tensor({1, "indices"}));
  if (weight.shape.size() != 2)
    return fail(ErrorKind::input, "argument 0 (weight) has shape {}, expected two dims", to_string(call, weight.shape));
  Sizes shape = copy_of(indices.shape);
  shape.push_back(weight.shape[1]);
  HOCKET_TRY(InferredType type, dense(call, weight.dtype, std::move(shape)));
  return one(std::move(type));
}

Result<Outputs> embedding_backward(const Call& call) {
  HOCKET_TRY(const TypeView grad, call.tensor(0));
  HOCKET_TRY(const Dim rows, call.dim({2, "num_weights"}));
  if (grad.shape.empty())
    return fail(ErrorKind::input, "argument 0 has no dims, expected the gradient of an embedding");
  HOCKET_TRY(InferredType type, dense(call, grad.dtype, {rows, grad.shape.back()}));
  return one(std::move(type));
}

Result<Outputs> one_hot(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const std::int64_t classes, call.integer_or({1, "num_classes"}, -1));
  if (classes < 0) return fail(cannot_infer("the number of classes depends on the data"));
  Sizes shape = copy_of(self.shape);
  shape.emplace_back(classes);
  HOCKET_TRY(InferredType type, dense(call, Dtype::i64, std::move(shape)));
  return one(std::move(type));
}

template <std::size_t position>
Result<Outputs> buckets(const Call& call) {
  const Arg* narrow = call.keyword("out_int32");
  const Dtype dtype = narrow != nullptr && narrow->is(ArgKind::boolean) && narrow->as_bool() ? Dtype::i32 : Dtype::i64;
  HOCKET_TRY(const Operand places, operand(call, position));
  HOCKET_TRY(InferredType type, dense(call, dtype, places.tensor ? copy_of(places.tensor->shape) : Sizes{}));
  return one(std::move(type));
}

}  // namespace

void add_indexing_ops(OpTable& table) {
  add_aten(table, {"index.Tensor", "_unsafe_index.Tensor"}, fresh(index<1>));
  add_aten(table, {"_unsafe_masked_index"}, fresh(index<2>));
  add_aten(table, {"index_put", "_unsafe_index_put", "_unsafe_masked_index_put_accumulate"}, fresh(clone_of_first));
  add_aten(table, {"index_put_", "_index_put_impl_"}, in_place());

  add_aten(table, {"gather"}, fresh(gather));
  add_aten(
      table,
      {"scatter.src", "scatter.value", "scatter.reduce", "scatter.value_reduce", "scatter_add", "scatter_reduce.two"},
      fresh(dense_like_first));
  add_aten(table,
           {"scatter_.src", "scatter_.value", "scatter_.reduce", "scatter_.value_reduce", "scatter_add_",
            "scatter_reduce_.two"},
           in_place());
  add_aten(table, {"index_select"}, fresh(index_select));
  add_aten(table, {"index_add", "index_copy", "index_reduce"}, fresh(dense_like_first));
  add_aten(table, {"index_fill.int_Scalar", "index_fill.int_Tensor", "put"}, fresh(clone_of_first));
  add_aten(table,
           {"index_add_", "index_copy_", "index_reduce_", "index_fill_.int_Scalar", "index_fill_.int_Tensor", "put_",
            "masked_scatter_"},
           in_place());
  add_aten(table, {"take"}, fresh(take));
  add_aten(table, {"masked_scatter"}, fresh(masked_scatter));

  add_aten(table, {"embedding"}, fresh(embedding));
  add_aten(table, {"embedding_dense_backward"}, fresh(embedding_backward));
  add_aten(table, {"embedding_renorm_"}, in_place());
  add_aten(table, {"one_hot"}, fresh(one_hot));
  add_aten(table, {"bucketize.Tensor", "bucketize.Scalar"}, fresh(buckets<0>));
  add_aten(table, {"searchsorted.Tensor", "searchsorted.Scalar"}, fresh(buckets<1>));
  // How much they select depends on the data.
  add_aten(table,
           {"masked_select", "nonzero", "_unique2", "unique_dim", "unique_consecutive", "_embedding_bag",
            "_embedding_bag_dense_backward"},
           fresh());
}

}  // namespace hocket::ops
