#include "lower/algorithm.h"

#include <algorithm>
#include <cctype>

namespace hocket {

namespace {

bool is_sum(std::string_view reduce) {
  constexpr std::string_view sum = "sum";
  return std::equal(reduce.begin(), reduce.end(), sum.begin(), sum.end(),
                    [](unsigned char given, char wanted) { return std::tolower(given) == wanted; });
}

bool on_one_host(const Group& group, int ranks_per_host) {
  if (ranks_per_host <= 0) return true;
  return std::all_of(group.ranks.begin(), group.ranks.end(), [&](Rank rank) {
    return rank.value / ranks_per_host == group.ranks.front().value / ranks_per_host;
  });
}

bool has_symmetric_memory(const Group& group, const LowerOptions& options) {
  const auto& ordinary = options.ordinary_groups;
  return options.symmetric && std::find(ordinary.begin(), ordinary.end(), group.name) == ordinary.end();
}

}  // namespace

AlgorithmChoice choose_algorithm(const TypeView& type, std::string_view reduce, const Group& group,
                                 const LowerOptions& options) {
  constexpr auto pipelined = ReduceAlgorithm::pipelined;
  if (options.force == pipelined) return {pipelined, AlgorithmReason::forced};
  if (!is_sum(reduce)) return {pipelined, AlgorithmReason::not_a_sum};
  if (!all_static(type.shape)) return {pipelined, AlgorithmReason::symbolic_size};
  if (!on_one_host(group, options.ranks_per_host)) return {pipelined, AlgorithmReason::spans_hosts};
  if (!has_symmetric_memory(group, options)) return {pipelined, AlgorithmReason::not_communicable};
  if (options.force) return {*options.force, AlgorithmReason::forced};
  const Bytes bytes = tensor_bytes(type);
  if (bytes <= options.one_shot_limit) return {ReduceAlgorithm::one_shot, AlgorithmReason::small};
  if (bytes <= options.two_shot_limit) return {ReduceAlgorithm::two_shot, AlgorithmReason::medium};
  return {pipelined, AlgorithmReason::large};
}

}  // namespace hocket
