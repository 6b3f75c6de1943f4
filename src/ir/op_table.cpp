#include "hocket/ir/op_table.h"

#include <algorithm>
#include <array>

#include "hocket/base/nearest.h"
#include "ir/ops.h"

namespace hocket {

namespace {

constexpr std::array<std::string_view, 6> collective_names = {"all_reduce", "all_gather", "reduce_scatter",
                                                              "all_to_all", "broadcast",  "p2p"};

std::string_view without_default(std::string_view name) {
  constexpr std::string_view suffix = ".default";
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : name;
}

}  // namespace

std::string_view name_of(CollectiveKind kind) { return collective_names[static_cast<std::size_t>(kind)]; }

std::optional<CollectiveKind> collective_kind_from_name(std::string_view name) {
  const auto found = std::find(collective_names.begin(), collective_names.end(), name);
  if (found == collective_names.end()) return std::nullopt;
  return static_cast<CollectiveKind>(found - collective_names.begin());
}

std::optional<std::size_t> output_position(const OpSpec& spec, const ArgPool& pool, std::span<const Arg> args,
                                           std::size_t index) {
  if (!spec.tensor_results.empty()) {
    const auto found = std::find(spec.tensor_results.begin(), spec.tensor_results.end(), index);
    if (found == spec.tensor_results.end()) return std::nullopt;
    return static_cast<std::size_t>(found - spec.tensor_results.begin());
  }
  if (spec.output_mask_arg < 0) return index;
  const auto mask_arg = static_cast<std::size_t>(spec.output_mask_arg);
  if (mask_arg >= args.size() || !args[mask_arg].is(ArgKind::list)) return index;
  const std::span<const Arg> mask = pool.elements(args[mask_arg]);
  const auto is_there = [](const Arg& arg) { return arg.is(ArgKind::boolean) && arg.as_bool(); };
  if (index >= mask.size() || !is_there(mask[index])) return std::nullopt;
  return static_cast<std::size_t>(
      std::count_if(mask.begin(), mask.begin() + static_cast<std::ptrdiff_t>(index), is_there));
}

const OpTable& OpTable::builtin() {
  static const OpTable table = [] {
    OpTable built;
    ops::add_pointwise_ops(built);
    ops::add_foreach_ops(built);
    ops::add_view_ops(built);
    ops::add_part_ops(built);
    ops::add_copy_ops(built);
    ops::add_creation_ops(built);
    ops::add_reduction_ops(built);
    ops::add_indexing_ops(built);
    ops::add_matmul_ops(built);
    ops::add_window_ops(built);
    ops::add_network_ops(built);
    ops::add_attention_ops(built);
    ops::add_collective_ops(built);
    ops::add_scalar_ops(built);
    return built;
  }();
  return table;
}

OpTable::OpTable(std::vector<OpSpec> rows) {
  for (OpSpec& row : rows) add(std::move(row));
}

void OpTable::add(OpSpec row) {
  const auto [entry, is_new] = index_.try_emplace(row.name, rows_.size());
  if (is_new) rows_.push_back(std::move(row));
  else rows_[entry->second] = std::move(row);
}

const OpSpec* OpTable::find(std::string_view name) const {
  const auto found = index_.find(std::string(name));
  return found == index_.end() ? nullptr : &rows_[found->second];
}

std::string_view OpTable::nearest(std::string_view name) const {
  std::vector<std::string_view> known;
  for (const OpSpec& row : rows_) known.push_back(without_default(row.name));
  const std::string_view found = hocket::nearest(without_default(name), known);
  const auto row = std::find(known.begin(), known.end(), found);
  return found.empty() ? std::string_view()
                       : std::string_view(rows_[static_cast<std::size_t>(row - known.begin())].name);
}

}  // namespace hocket
