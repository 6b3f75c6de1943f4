// Communication: what is sent among the ranks of a group, and the waits for it. G is the group's size.
#include <algorithm>
#include <array>
#include <cctype>

#include "ir/ops.h"

namespace hocket::ops {

namespace {

// ---- reduce operations

constexpr std::array<std::string_view, 9> reduce_names = {"sum",  "avg", "product", "min",       "max",
                                                          "band", "bor", "bxor",    "premul_sum"};

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool is_bitwise(std::string_view name) { return name == "band" || name == "bor" || name == "bxor"; }

bool is_float8(Dtype dtype) { return dtype == Dtype::f8e4m3 || dtype == Dtype::f8e5m2; }

// Can the reduce operation named at this position reduce this dtype?
Status check_reduce(const Call& call, std::size_t position, Dtype dtype) {
  HOCKET_TRY(const std::string_view given, call.string({position, "reduce_op"}));
  const std::string name = lower_case(given);
  if (std::find(reduce_names.begin(), reduce_names.end(), name) == reduce_names.end()) {
    return fail(ErrorKind::input, "argument {} (reduce_op) is '{}', expected one of {}", position, given,
                fmt::join(reduce_names, ", "));
  }
  if (is_float8(dtype)) {
    return fail(ErrorKind::input, "{} cannot be reduced: convert to f16, bf16 or f32 first, or gather instead",
                short_name(dtype));
  }
  if (is_bitwise(name) && !is_integral(dtype)) {
    return fail(ErrorKind::input, "the bitwise reduce operation '{}' works on integers only, got {}", given,
                short_name(dtype));
  }
  return {};
}

// ---- group sizes

Result<std::int64_t> checked_group_size(const Call& call, std::size_t size_position, std::size_t group_position) {
  HOCKET_TRY(const std::int64_t members, call.group_size({group_position, "group_name"}));
  HOCKET_TRY(const std::int64_t given, call.integer({size_position, "group_size"}));
  if (given != members)
    return fail(ErrorKind::input, "argument {} (group_size) is {}, but the group has {} ranks", size_position, given,
                members);
  return members;
}

// ---- shapes

Result<InferredType> gathered(const Call& call, const TypeView& input, std::int64_t members, std::size_t dim = 0) {
  Sizes shape = copy_of(input.shape);
  if (shape.empty()) shape.emplace_back(1);
  HOCKET_TRY(shape[dim], times(call, shape[dim], Dim(members)));
  return dense(call, input.dtype, std::move(shape));
}

Result<InferredType> scattered(const Call& call, const TypeView& input, std::int64_t members, std::size_t dim = 0) {
  if (input.shape.empty())
    return fail(ErrorKind::input, "a tensor without dims cannot be scattered over {} ranks", members);
  Sizes shape = copy_of(input.shape);
  const auto part = divided(call, shape[dim], members, fmt::format("dim {}", dim));
  if (!part && !is_cannot_infer(part.error())) {
    return fail(ErrorKind::input, "dim {} of size {} does not divide by the group's size {}", dim,
                call.symbols().to_string(shape[dim]), members);
  }
  HOCKET_TRY(shape[dim], part);
  return dense(call, input.dtype, std::move(shape));
}

Result<InferredType> reduced(const Call& call, const TypeView& input) {
  return dense(call, input.dtype, copy_of(input.shape));
}

enum class Place { fresh, in_place, out };

// (input, reduce_op, group)
template <Place place>
Result<Outputs> all_reduce(const Call& call) {
  HOCKET_TRY(const TypeView input, call.tensor({0, "input"}));
  HOCKET_CHECK(check_reduce(call, 1, input.dtype));
  HOCKET_CHECK(call.group_size({2, "group_name"}).map([](std::int64_t) {}));
  if (place == Place::in_place) return one(same(input));
  HOCKET_TRY(InferredType type, reduced(call, input));
  return one(std::move(type));
}

template <Place place>
Result<Outputs> all_reduce_coalesced(const Call& call) {
  HOCKET_TRY(const std::vector<TypeView> inputs, call.tensors({0, "inputs"}));
  HOCKET_CHECK(call.group_size({2, "group_name"}).map([](std::int64_t) {}));
  Outputs outputs;
  for (const TypeView& input : inputs) {
    HOCKET_CHECK(check_reduce(call, 1, input.dtype));
    HOCKET_TRY(InferredType type, reduced(call, input));
    outputs.push_back(place == Place::in_place ? same(input) : std::move(type));
  }
  return outputs;
}

// The `out` tensor, if it is as the result should be.
Result<Outputs> into_out(const Call& call, const Arg* out, const InferredType& result) {
  if (out == nullptr) return fail(ErrorKind::input, "argument out is missing, expected a tensor");
  HOCKET_TRY(const TypeView type, call.tensor(*out, "argument out"));
  if (type.dtype != result.dtype || copy_of(type.shape) != result.shape.dims) {
    return fail(ErrorKind::input, "argument out is {}{}, but the result is {}{}", short_name(type.dtype),
                to_string(call, type.shape), short_name(result.dtype), to_string(call, result.shape.dims));
  }
  return one(same(type));
}

// (input, group_size, group)
template <Place place>
Result<Outputs> all_gather(const Call& call) {
  HOCKET_TRY(const TypeView input, call.tensor({0, "input"}));
  HOCKET_TRY(const std::int64_t members, checked_group_size(call, 1, 2));
  HOCKET_TRY(InferredType type, gathered(call, input, members));
  if (place == Place::out) return into_out(call, call.keyword("out"), type);
  return one(std::move(type));
}

Result<Outputs> all_gather_coalesced(const Call& call) {
  HOCKET_TRY(const std::vector<TypeView> inputs, call.tensors({0, "inputs"}));
  HOCKET_TRY(const std::int64_t members, checked_group_size(call, 1, 2));
  Outputs outputs;
  for (const TypeView& input : inputs) {
    HOCKET_TRY(InferredType type, gathered(call, input, members));
    outputs.push_back(std::move(type));
  }
  return outputs;
}

// (input, reduce_op, group_size, group)
template <Place place>
Result<Outputs> reduce_scatter(const Call& call) {
  HOCKET_TRY(const TypeView input, call.tensor({0, "input"}));
  HOCKET_CHECK(check_reduce(call, 1, input.dtype));
  HOCKET_TRY(const std::int64_t members, checked_group_size(call, 2, 3));
  HOCKET_TRY(InferredType type, scattered(call, input, members));
  if (place == Place::out) return into_out(call, call.keyword("out"), type);
  return one(std::move(type));
}

Result<Outputs> reduce_scatter_coalesced(const Call& call) {
  HOCKET_TRY(const std::vector<TypeView> inputs, call.tensors({0, "inputs"}));
  HOCKET_TRY(const std::int64_t members, checked_group_size(call, 2, 3));
  Outputs outputs;
  for (const TypeView& input : inputs) {
    HOCKET_CHECK(check_reduce(call, 1, input.dtype));
    HOCKET_TRY(InferredType type, scattered(call, input, members));
    outputs.push_back(std::move(type));
  }
  return outputs;
}

// (input, gather_dim, group_size, group)
Result<Outputs> all_gather_along(const Call& call) {
  HOCKET_TRY(const TypeView input, call.tensor({0, "input"}));
  HOCKET_TRY(const std::int64_t dim, call.integer({1, "gather_dim"}));
  HOCKET_TRY(const std::int64_t members, checked_group_size(call, 2, 3));
  HOCKET_TRY(const std::size_t along, wrap_dim(dim, input.shape.size()));
  return gathered(call, input, members, along).map(one);
}

// (input, reduce_op, scatter_dim, group_size, group)
Result<Outputs> reduce_scatter_along(const Call& call) {
  HOCKET_TRY(const TypeView input, call.tensor({0, "input"}));
  HOCKET_CHECK(check_reduce(call, 1, input.dtype));
  HOCKET_TRY(const std::int64_t dim, call.integer({2, "scatter_dim"}));
  HOCKET_TRY(const std::int64_t members, checked_group_size(call, 3, 4));
  HOCKET_TRY(const std::size_t along, wrap_dim(dim, input.shape.size()));
  HOCKET_TRY(InferredType type, scattered(call, input, members, along));
  return one(std::move(type));
}

// ---- all-to-all

bool has_splits(const Call& call, Param param) {
  const Arg* list = call.find(param);
  return list != nullptr && !(list->is(ArgKind::list) && list->as_range().count == 0);
}

// The sum of a split list, one number for each rank.
Result<Dim> split_sum(const Call& call, Param param, std::int64_t members) {
  const Arg* list = call.find(param);
  if (list->is(ArgKind::list) && list->as_range().count != static_cast<std::uint64_t>(members)) {
    return fail(ErrorKind::input, "argument {} ({}) has {} sizes, expected one for each of the group's {} ranks",
                param.index, param.name, list->as_range().count, members);
  }
  HOCKET_TRY(const Sizes splits, call.dims(param));
  Dim sum = 0;
  for (const Dim split : splits) {
    HOCKET_TRY(sum, plus(call, sum, split));
  }
  return sum;
}

// (input, output_split_sizes, input_split_sizes, group)
Result<Outputs> all_to_all(const Call& call) {
  HOCKET_TRY(const TypeView input, call.tensor({0, "input"}));
  HOCKET_TRY(const std::int64_t members, call.group_size({3, "group_name"}));
  if (input.shape.empty())
    return fail(ErrorKind::input, "a tensor without dims cannot be split among {} ranks", members);
  const Param out_param(1, "output_split_sizes");
  const Param in_param(2, "input_split_sizes");
  if (has_splits(call, out_param) != has_splits(call, in_param)) {
    return fail(ErrorKind::input, "only {} is given: give both split lists or neither",
                has_splits(call, out_param) ? out_param.name : in_param.name);
  }
  Sizes shape = copy_of(input.shape);
  if (!has_splits(call, out_param)) {
    if (shape[0].is_static() && shape[0].value() % members != 0) {
      return fail(ErrorKind::input, "dim 0 of size {} does not divide by the group's size {}; give split sizes",
                  shape[0].value(), members);
    }
  } else {
    const auto sent = split_sum(call, in_param, members);
    if (!sent && !is_cannot_infer(sent.error())) return fail(sent.error());
    if (sent && sent->is_static() && shape[0].is_static() && *sent != shape[0]) {
      return fail(ErrorKind::input, "argument 2 (input_split_sizes) adds up to {}, but dim 0 has size {}",
                  sent->value(), shape[0].value());
    }
    HOCKET_TRY(shape[0], split_sum(call, out_param, members));
  }
  HOCKET_TRY(InferredType type, dense(call, input.dtype, std::move(shape)));
  return one(std::move(type));
}

// (input, gather_dim, shard_dim, group): sharded along another dim than before.
Result<Outputs> shard_dim_alltoall(const Call& call) {
  HOCKET_TRY(const TypeView input, call.tensor({0, "input"}));
  HOCKET_TRY(const std::int64_t gather, call.integer({1, "gather_dim"}));
  HOCKET_TRY(const std::int64_t shard, call.integer({2, "shard_dim"}));
  HOCKET_TRY(const std::int64_t members, call.group_size({3, "group_name"}));
  if (input.shape.empty()) return fail(ErrorKind::input, "a tensor without dims cannot be sharded");
  HOCKET_TRY(const std::size_t gather_dim, wrap_dim(gather, input.shape.size()));
  HOCKET_TRY(const std::size_t shard_dim, wrap_dim(shard, input.shape.size()));
  Sizes shape = copy_of(input.shape);
  HOCKET_TRY(shape[gather_dim], times(call, shape[gather_dim], Dim(members)));
  const auto part = divided(call, shape[shard_dim], members, "");
  if (!part && !is_cannot_infer(part.error())) {
    return fail(ErrorKind::input, "dim {} of size {} does not divide by the group's size {}", shard_dim,
                shape[shard_dim].value(), members);
  }
  HOCKET_TRY(shape[shard_dim], part);
  HOCKET_TRY(InferredType type, dense(call, input.dtype, std::move(shape)));
  return one(std::move(type));
}

// Rows that the caller brings go behind those of the result, in the same memory: `tail`, the last argument. What was exchanged is then in rows
// like the tail's.
Result<Outputs> before_tail(const Call& call, Result<Outputs> exchanged) {
  const Param param(4, "tail");
  if (!exchanged || call.find(param) == nullptr) return exchanged;
  HOCKET_TRY(const TypeView tail, call.tensor(param));
  const InferredType& type = exchanged->front();
  if (tail.dtype != type.dtype || tail.shape.empty()) {
    return fail(ErrorKind::input, "argument 4 (tail) is {}{}, expected rows of {}", short_name(tail.dtype),
                to_string(call, tail.shape), short_name(type.dtype));
  }
  Sizes shape = copy_of(tail.shape);
  const auto same_row = [&] {
    return type.shape.dims.size() == shape.size() &&
           std::equal(shape.begin() + 1, shape.end(), type.shape.dims.begin() + 1);
  };
  Dim rows = type.shape.dims[0];
  if (!same_row()) {
    Dim elements = 1;
    for (const Dim size : type.shape.dims) {
      HOCKET_TRY(elements, times(call, elements, size));
    }
    Dim row = 1;
    for (std::size_t d = 1; d < shape.size(); ++d) {
      HOCKET_TRY(row, times(call, row, shape[d]));
    }
    if (!elements.is_static() || !row.is_static()) return fail(cannot_infer("the tail has other rows"));
    if (row.value() == 0 || elements.value() % row.value() != 0) {
      return fail(ErrorKind::input, "{} elements can't be cut into rows of {} as argument 4 (tail) has them",
                  elements.value(), row.value());
    }
    rows = elements.value() / row.value();
  }
  HOCKET_TRY(shape[0], plus(call, rows, shape[0]));
  return dense(call, type.dtype, std::move(shape)).map(one);
}

// (input, output_split_sizes, input_split_sizes, group, tail)
Result<Outputs> all_to_all_before_tail(const Call& call) { return before_tail(call, all_to_all(call)); }

// (input, gather_dim, shard_dim, group, tail or nothing)
Result<Outputs> all_to_all_along(const Call& call) { return before_tail(call, shard_dim_alltoall(call)); }

// ---- broadcast, point to point

// (input, src, group)
template <Place place>
Result<Outputs> broadcast_from(const Call& call) {
  HOCKET_TRY(const TypeView input, call.tensor({0, "input"}));
  HOCKET_CHECK(call.group_size({2, "group_name"}).map([](std::int64_t) {}));
  if (place == Place::in_place) return one(same(input));
  HOCKET_TRY(InferredType type, dense(call, input.dtype, copy_of(input.shape)));
  return one(std::move(type));
}

// What a send results in: nothing but something to wait for.
InferredType sent(Dtype dtype) { return typed(dtype, {Dim(0)}, {Dim(1)}); }

Result<Outputs> isend(const Call& call) {
  HOCKET_TRY(const TypeView tensor, call.tensor({0, "tensor"}));
  return one(sent(tensor.dtype));
}

// (op_list, peer_list, tag_list, tensors, group)
Result<Outputs> batch_p2p(const Call& call) {
  const Arg* operations = call.find({0, "op_list"});
  HOCKET_TRY(const std::vector<TypeView> tensors, call.tensors({3, "tensors"}));
  HOCKET_TRY(const auto peers, call.integers({1, "peer_list"}));
  HOCKET_TRY(const auto tags, call.integers({2, "tag_list"}));
  if (operations == nullptr || !operations->is(ArgKind::list))
    return fail(ErrorKind::input, "argument 0 (op_list) is missing or no list");
  const std::span<const Arg> names = call.pool().elements(*operations);
  if (names.size() != tensors.size() || peers.size() != tensors.size() || tags.size() != tensors.size()) {
    return fail(ErrorKind::input, "{} operations, {} peers, {} tags and {} tensors: the lists must be equally long",
                names.size(), peers.size(), tags.size(), tensors.size());
  }
  Outputs outputs;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string_view name = names[i].is(ArgKind::string) ? call.pool().text(names[i]) : std::string_view();
    if (name != "isend" && name != "irecv")
      return fail(ErrorKind::input, "element {} of argument 0 (op_list) is '{}', expected isend or irecv", i, name);
    outputs.push_back(name == "irecv" ? same(tensors[i]) : sent(tensors[i].dtype));
  }
  return outputs;
}

// (symm_buffer, local_input, reduce_op, group): the input is copied to the buffer first.
Result<Outputs> one_shot_copy(const Call& call) {
  HOCKET_TRY(const TypeView input, call.tensor({1, "local_input"}));
  HOCKET_CHECK(check_reduce(call, 2, input.dtype));
  HOCKET_TRY(InferredType type, reduced(call, input));
  return one(std::move(type));
}

// (input, reduce_op, group, out), where out is no keyword-only parameter
Result<Outputs> all_reduce_to_fourth(const Call& call) {
  HOCKET_TRY(const Outputs result, all_reduce<Place::fresh>(call));
  return into_out(call, call.find({3, "out"}), result[0]);
}

// ---- rows

// A fresh result; positions as in CommSpec.
OpSpec communicates(CollectiveKind kind, ShapeFunction shape, int group_arg, int reduce_arg = -1,
                    int group_size_arg = -1) {
  OpSpec row = fresh(shape);
  row.effects.comm = CommSpec{kind, group_arg, reduce_arg, group_size_arg, false};
  return row;
}

OpSpec on_first(OpSpec row) {
  row.effects.alias = Alias::first;
  row.effects.mutates = 1;
  return row;
}

OpSpec to_out(OpSpec row) {
  row.effects.alias = Alias::out;
  row.effects.mutates_out = true;
  return row;
}

// Writes and returns the positional argument `position`.
OpSpec to_argument(OpSpec row, std::uint8_t position) {
  row.effects.alias = Alias::first;
  row.effects.alias_arg = position;
  row.effects.mutates = 1U << position;
  return row;
}

OpSpec blocking(OpSpec row) {
  row.effects.comm->blocking = true;
  return row;
}

// Those that have a form which autograd sees through.
void add_differentiable(OpTable& table, std::string_view space) {
  add_rows(table, space, {"all_gather_into_tensor"},
           communicates(CollectiveKind::all_gather, all_gather<Place::fresh>, 2, -1, 1));
  add_rows(table, space, {"reduce_scatter_tensor"},
           communicates(CollectiveKind::reduce_scatter, reduce_scatter<Place::fresh>, 3, 1, 2));
  add_rows(table, space, {"all_to_all_single"}, communicates(CollectiveKind::all_to_all, all_to_all, 3));
}

void add_c10d(OpTable& table) {
  constexpr std::string_view space = "_c10d_functional";
  add_differentiable(table, space);
  add_differentiable(table, "_c10d_functional_autograd");
  add_rows(table, space, {"all_reduce"}, communicates(CollectiveKind::all_reduce, all_reduce<Place::fresh>, 2, 1));
  add_rows(table, space, {"all_reduce_"},
           on_first(communicates(CollectiveKind::all_reduce, all_reduce<Place::in_place>, 2, 1)));
  add_rows(table, space, {"all_reduce_coalesced"},
           listed(communicates(CollectiveKind::all_reduce, all_reduce_coalesced<Place::fresh>, 2, 1)));
  add_rows(table, space, {"all_reduce_coalesced_"},
           listed(on_first(communicates(CollectiveKind::all_reduce, all_reduce_coalesced<Place::in_place>, 2, 1))));
  add_rows(table, space, {"all_gather_into_tensor_out"},
           to_out(communicates(CollectiveKind::all_gather, all_gather<Place::out>, 2, -1, 1)));
  add_rows(table, space, {"all_gather_into_tensor_coalesced"},
           listed(communicates(CollectiveKind::all_gather, all_gather_coalesced, 2, -1, 1)));
  add_rows(table, space, {"reduce_scatter_tensor_out"},
           to_out(communicates(CollectiveKind::reduce_scatter, reduce_scatter<Place::out>, 3, 1, 2)));
  add_rows(table, space, {"reduce_scatter_tensor_coalesced"},
           listed(communicates(CollectiveKind::reduce_scatter, reduce_scatter_coalesced, 3, 1, 2)));
  add_rows(table, space, {"broadcast"}, communicates(CollectiveKind::broadcast, broadcast_from<Place::fresh>, 2));
  add_rows(table, space, {"broadcast_"},
           on_first(communicates(CollectiveKind::broadcast, broadcast_from<Place::in_place>, 2)));
  add_rows(table, "_dtensor", {"shard_dim_alltoall"},
           blocking(communicates(CollectiveKind::all_to_all, shard_dim_alltoall, 3)));

  // Sends and receives pair up with a peer's: neither may be dropped, and their order is part of the protocol.
  add_rows(table, space, {"isend"}, with_side_effect(communicates(CollectiveKind::p2p, isend, 3)));
  OpSpec receive = communicates(CollectiveKind::p2p, unchanged, 3);
  receive.effects.alias =
      Alias::either;  // PyTorch receives into the argument and returns it, but captures show a fresh result
  receive.effects.mutates = 1;
  add_rows(table, space, {"irecv"}, with_side_effect(receive));
  // What is received is written to its tensor in the list, which is also the result; what a send gives is fresh.
  OpSpec batch = to_argument(communicates(CollectiveKind::p2p, batch_p2p, 4), 3);
  batch.effects.alias = Alias::either;
  add_rows(table, space, {"batch_p2p_ops"}, listed(with_side_effect(batch)));

  OpSpec wait = view(unchanged);
  wait.effects.waits = true;
  add_rows(table, space, {"wait_tensor"}, wait);
  add_rows(table, space, {"_wrap_tensor_autograd"}, view(unchanged));
}

// hocket's own: along any dim as one collective, row by row of what lies before it. PyTorch has no operator for that and copies.
void add_along(OpTable& table) {
  add_rows(table, "hocket", {"all_gather_along"}, communicates(CollectiveKind::all_gather, all_gather_along, 3, -1, 2));
  add_rows(table, "hocket", {"reduce_scatter_along"},
           communicates(CollectiveKind::reduce_scatter, reduce_scatter_along, 4, 1, 3));
  add_rows(table, "hocket", {"all_to_all_along"}, communicates(CollectiveKind::all_to_all, all_to_all_along, 3));
  add_rows(table, "hocket", {"all_to_all_single"}, communicates(CollectiveKind::all_to_all, all_to_all_before_tail, 3));
}

// Kernels on symmetric memory run to their end: their results need no wait.
void add_symmetric(OpTable& table) {
  constexpr std::string_view space = "symm_mem";
  const OpSpec reduce = blocking(communicates(CollectiveKind::all_reduce, all_reduce<Place::fresh>, 2, 1));
  const OpSpec reduce_here = blocking(communicates(CollectiveKind::all_reduce, all_reduce<Place::in_place>, 2, 1));
  const OpSpec reduce_to = blocking(communicates(CollectiveKind::all_reduce, all_reduce_to_fourth, 2, 1));
  add_rows(table, space, {"one_shot_all_reduce", "multimem_one_shot_all_reduce"}, reduce);
  add_rows(table, space, {"one_shot_all_reduce_out", "multimem_one_shot_all_reduce_out"}, to_argument(reduce_to, 3));
  add_rows(table, space, {"two_shot_all_reduce_", "multimem_all_reduce_"}, on_first(reduce_here));
  OpSpec two_shot_to = to_argument(blocking(communicates(CollectiveKind::all_reduce, nullptr, 2, 1)), 3);
  two_shot_to.effects.mutates |= 1;  // the input is its scratch space
  add_rows(table, space, {"two_shot_all_reduce_out"}, two_shot_to);
  OpSpec copied = blocking(communicates(CollectiveKind::all_reduce, one_shot_copy, 3, 2));
  copied.effects.mutates = 1;
  add_rows(table, space, {"one_shot_all_reduce_copy"}, copied);
  OpSpec copied_to = to_argument(blocking(communicates(CollectiveKind::all_reduce, nullptr, 3, 2)), 4);
  copied_to.effects.mutates |= 1;
  add_rows(table, space, {"one_shot_all_reduce_copy_out"}, copied_to);
  add_rows(table, space, {"multimem_all_gather_out"},
           to_argument(blocking(communicates(CollectiveKind::all_gather, nullptr, 1)), 2));
  add_rows(table, space, {"_low_contention_all_gather"}, communicates(CollectiveKind::all_gather, nullptr, 1));
  add_rows(table, space, {"_low_contention_reduce_scatter"},
           communicates(CollectiveKind::reduce_scatter, nullptr, 2, 1));

  OpSpec gather_matmul = blocking(communicates(CollectiveKind::all_gather, nullptr, 3));
  gather_matmul.effects.gemm = true;
  add_rows(table, space, {"fused_all_gather_matmul"}, listed(gather_matmul));
  OpSpec matmul_scatter = blocking(communicates(CollectiveKind::reduce_scatter, nullptr, 4, 2));
  matmul_scatter.effects.gemm = true;
  add_rows(table, space, {"fused_matmul_reduce_scatter"}, matmul_scatter);
}

}  // namespace

void add_collective_ops(OpTable& table) {
  add_c10d(table);
  add_along(table);
  add_symmetric(table);
}

}  // namespace hocket::ops
