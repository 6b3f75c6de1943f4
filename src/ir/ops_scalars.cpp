// Operators on lists and integers, and assertions.
#include "ir/ops.h"

namespace hocket::ops {

namespace {

// Element `index` of the list that a node results in, or the only result under a name.
Result<Outputs> getitem(const Call& call) {
  const Arg* list = call.find(0);
  const Arg* key = call.find(1);
  if (list == nullptr || !list->is(ArgKind::value))
    return fail(ErrorKind::input, "argument 0 is missing or no value, expected a list of tensors");
  const std::size_t count = call.values().output_count(*list);
  if (count == 0) return Outputs{};  // a list of integers
  if (key != nullptr && key->is(ArgKind::string)) {
    if (count == 1) return one(same(call.values().output(*list, 0)));
    return fail(
        cannot_infer(fmt::format("which of {} results has the name '{}' is not known", count, call.pool().text(*key))));
  }
  HOCKET_TRY(const std::int64_t index, call.integer(1));
  if (index < 0) return fail(ErrorKind::input, "argument 1 is {}, expected the number of a result", index);
  const auto position = call.values().position(*list, static_cast<std::size_t>(index));
  if (!position || *position >= count)
    return fail(cannot_infer(fmt::format("result {} of {} may be absent", index, count)));
  return one(same(call.values().output(*list, *position)));
}

}  // namespace

void add_scalar_ops(OpTable& table) {
  OpSpec item = view(getitem);
  item.name = "getitem";
  table.add(item);

  // Integers: computed on the host.
  OpSpec integer = fresh(no_tensors);
  for (const std::string_view name :
       {"add", "sub", "mul",  "floordiv", "truediv", "mod", "pow", "neg", "pos", "abs", "and_",
        "or_", "xor", "not_", "lshift",   "rshift",  "eq",  "ne",  "lt",  "le",  "gt",  "ge"}) {
    integer.name = fmt::format("_operator.{}", name);
    table.add(integer);
  }
  for (const std::string_view name :
       {"sym_sum", "sym_max", "sym_min", "sym_int", "sym_float", "sym_not", "sym_ite", "sym_sqrt", "_sym_sqrt"}) {
    integer.name = fmt::format("torch.{}", name);
    table.add(integer);
  }
  for (const std::string_view name : {"ceil", "floor", "trunc", "pow"}) {
    integer.name = fmt::format("math.{}", name);
    table.add(integer);
  }

  OpSpec metadata = fresh(no_tensors);
  metadata.metadata_only = true;
  add_aten(table,
           {"sym_size.int", "sym_size", "sym_stride.int", "sym_stride", "sym_numel", "sym_storage_offset",
            "sym_is_contiguous", "size.int", "size", "stride.int", "stride", "numel", "is_same_size"},
           metadata);

  // An element brought to the host.
  add_aten(table, {"_local_scalar_dense", "item", "equal"}, fresh(no_tensors));
  add_rows(table, "prims", {"item"}, fresh(no_tensors));

  add_aten(table,
           {"_assert_scalar", "_assert_async", "_assert_async.msg", "_assert_tensor_metadata", "sym_constrain_range",
            "sym_constrain_range_for_size", "record_stream"},
           with_side_effect(fresh(no_tensors)));
  add_aten(
      table,
      {"_functional_assert_async.msg", "_functional_sym_constrain_range", "_functional_sym_constrain_range_for_size"},
      with_side_effect(fresh()));
  add_rows(table, "prims", {"_sink_tokens"}, with_side_effect(fresh(no_tensors)));
  add_rows(table, "prims", {"_make_token"}, fresh());

  // Functional: it clones the tensors that the kernel writes.
  OpSpec triton = fresh();
  triton.name = "hop.triton_kernel_wrapper_functional";
  table.add(triton);
  // It writes some of its tensors, and only its constants tell which.
  OpSpec mutating = with_side_effect(fresh());
  mutating.effects.opaque = true;
  mutating.name = "hop.triton_kernel_wrapper_mutation";
  table.add(mutating);
}

}  // namespace hocket::ops
