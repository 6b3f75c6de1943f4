#include "ir/ops.h"

namespace hocket::ops {

std::string full_name(std::string_view space, std::string_view name) {
  const bool has_overload = name.find('.') != std::string_view::npos;
  return fmt::format("{}.{}{}", space, name, has_overload ? "" : ".default");
}

void add_rows(OpTable& table, std::string_view space, std::initializer_list<std::string_view> names,
              const OpSpec& alike) {
  for (const std::string_view name : names) {
    OpSpec row = alike;
    row.name = full_name(space, name);
    table.add(std::move(row));
  }
}

void add_aten(OpTable& table, std::initializer_list<std::string_view> names, const OpSpec& alike) {
  add_rows(table, "aten", names, alike);
}

OpSpec fresh(ShapeFunction shape) {
  OpSpec row;
  row.shape = shape;
  return row;
}

OpSpec view(ShapeFunction shape) {
  OpSpec row = fresh(shape);
  row.effects.alias = Alias::first;
  return row;
}

OpSpec view_or_copy(ShapeFunction shape) {
  OpSpec row = fresh(shape);
  row.effects.alias = Alias::either;
  return row;
}

OpSpec in_place(ShapeFunction shape) {
  OpSpec row = view(shape != nullptr ? shape : unchanged);
  row.effects.mutates = 1;
  return row;
}

OpSpec with_side_effect(OpSpec row) {
  row.effects.side_effect = true;
  return row;
}

OpSpec matmul(ShapeFunction shape, FlopFunction flops) {
  OpSpec row = fresh(shape);
  row.flops = flops;
  row.effects.gemm = true;
  return row;
}

OpSpec masked(OpSpec row, int output_mask_arg) {
  row.output_mask_arg = output_mask_arg;
  return listed(std::move(row));
}

OpSpec listed(OpSpec row) {
  row.list_result = true;
  return row;
}

Result<Outputs> unchanged(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  return one(same(self));
}

Result<Outputs> like_first(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(InferredType type, like(call, self, self.dtype));
  return one(std::move(type));
}

Result<Outputs> clone_of_first(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(InferredType type, cloned(call, self, self.dtype));
  return one(std::move(type));
}

Result<Outputs> dense_like_first(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(InferredType type, dense(call, self.dtype, copy_of(self.shape)));
  return one(std::move(type));
}

Result<Outputs> no_tensors(const Call&) { return Outputs{}; }

Result<Dtype> dtype_argument(const Call& call, Param param) {
  const Arg* arg = call.find(param);
  if (arg != nullptr && arg->is(ArgKind::dtype)) return arg->as_dtype();
  return fail(ErrorKind::input, "argument {} ({}) is missing or no dtype", param.index, param.name);
}

Result<std::vector<bool>> output_mask(const Call& call, Param param) {
  const Arg* list = call.find(param);
  if (list == nullptr || !list->is(ArgKind::list))
    return fail(ErrorKind::input, "argument {} (output_mask) is missing or no list", param.index);
  std::vector<bool> mask;
  for (const Arg& element : call.pool().elements(*list))
    mask.push_back(element.is(ArgKind::boolean) && element.as_bool());
  return mask;
}

Outputs keep_masked(Outputs all, const std::vector<bool>& mask) {
  Outputs kept;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i < mask.size() && mask[i]) kept.push_back(std::move(all[i]));
  }
  return kept;
}

}  // namespace hocket::ops
