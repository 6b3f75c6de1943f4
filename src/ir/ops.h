// The rows of the built-in operator table, one function for each family of operators.
// To add an operator: put its name into the list of those that behave alike, or write a row with its own shape function.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/ir/op_table.h"
#include "ir/layout.h"

namespace hocket::ops {

void add_pointwise_ops(OpTable& table);  // arithmetic, comparisons, activations and their backward, with in-place forms
void add_foreach_ops(OpTable& table);    // the same over lists of tensors, and fused optimizers
void add_view_ops(OpTable& table);       // results that share the argument's storage
void add_part_ops(OpTable& table);       // views of a part: slice, select, split
void add_copy_ops(OpTable& table);       // clone, cat, copy_, pad, FSDP's copies
void add_creation_ops(OpTable& table);   // full, arange, rand, …_like, new_…
void add_reduction_ops(OpTable& table);  // sum, max, softmax, cumsum, sort
void add_indexing_ops(OpTable& table);   // index, gather, scatter, embedding
void add_matmul_ops(OpTable& table);     // mm, bmm, addmm, grouped and scaled forms
void add_window_ops(OpTable& table);     // convolution, pooling
void add_network_ops(OpTable& table);    // normalisation, dropout, losses
void add_attention_ops(OpTable& table);  // scaled dot-product and flex attention
void add_collective_ops(OpTable& table);  // communication and waits
void add_scalar_ops(OpTable& table);      // getitem, integers, assertions

// "aten.mm.default" of ("aten", "mm"); a name that has an overload keeps it.
std::string full_name(std::string_view space, std::string_view name);

// One row for each name, alike in all but the name.
void add_rows(OpTable& table, std::string_view space, std::initializer_list<std::string_view> names,
              const OpSpec& alike);
void add_aten(OpTable& table, std::initializer_list<std::string_view> names, const OpSpec& alike);

// Rows by what they do. `shape` may be absent: then types come from the capture.
OpSpec fresh(ShapeFunction shape = nullptr);     // new results
OpSpec view(ShapeFunction shape);                // shares the first argument's storage
OpSpec view_or_copy(ShapeFunction shape);        // as the layout demands
OpSpec in_place(ShapeFunction shape = nullptr);  // writes and returns its first argument
OpSpec with_side_effect(OpSpec row);
OpSpec matmul(ShapeFunction shape, FlopFunction flops = nullptr);
OpSpec masked(OpSpec row, int output_mask_arg);  // its mask says which of its results are there
OpSpec listed(OpSpec row);                       // results in a list

// Shape functions of many operators.
Result<Outputs> unchanged(const Call& call);         // the first argument itself
Result<Outputs> like_first(const Call& call);        // as empty_like of it
Result<Outputs> clone_of_first(const Call& call);    // as a clone of it
Result<Outputs> dense_like_first(const Call& call);  // with its shape, contiguous
Result<Outputs> no_tensors(const Call& call);        // an integer, or nothing

// An argument that must be a dtype.
Result<Dtype> dtype_argument(const Call& call, Param param);

// Which results a mask of booleans asks for, and those alone.
Result<std::vector<bool>> output_mask(const Call& call, Param param);
Outputs keep_masked(Outputs all, const std::vector<bool>& mask);

}  // namespace hocket::ops
