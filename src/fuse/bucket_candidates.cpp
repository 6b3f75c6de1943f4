#include "fuse/bucket_candidates.h"

#include <algorithm>
#include <limits>

#include "fuse/ddp_filter.h"
#include "ir/node_facts.h"

namespace hocket::fuse {

namespace {

Result<Candidate> candidate(const Graph& graph, const Users& users, const std::vector<NodeId>& last_write, NodeId id) {
  HOCKET_TRY(CommBlock block, find_block(graph, users, id));
  HOCKET_CHECK(check_only_read(graph, last_write, block));
  if (!block.getitems.empty() || graph.outputs(id).size() != 1 || block.inputs.size() != 1)
    return fail(ErrorKind::input, "it has several tensors");
  const Output& result = graph.outputs(id)[0];
  const TypeView input = graph.type(graph.outputs(block.input())[0]);
  if (!all_static(input.shape) || !all_static(graph.type(result).shape))
    return fail(ErrorKind::input, "its size is symbolic");
  const Collective& collective = *graph.collective(id);
  return Candidate{std::move(block),
                   {collective.group, input.dtype, reduce_operation(graph, id), result.device},
                   collective.bytes_in,
                   collective.bytes_out};
}

}  // namespace

std::vector<NodeId> Candidates::waits() const {
  std::vector<NodeId> nodes;
  for (const Candidate& candidate : list) nodes.push_back(candidate.block.wait());
  return nodes;
}

std::vector<std::uint32_t> wait_positions(const std::vector<const Candidate*>& members, const Windows& windows,
                                          std::uint32_t position) {
  std::uint32_t first_kept = std::numeric_limits<std::uint32_t>::max();
  for (const Candidate* member : members) {
    if (member->wait_position() > position) first_kept = std::min(first_kept, member->wait_position());
  }
  std::vector<std::uint32_t> positions;
  for (const Candidate* member : members) {
    const bool stays = member->wait_position() > position;
    positions.push_back(stays ? member->wait_position() : std::min(first_kept, windows.needed(member->block)));
  }
  return positions;
}

Candidates find_candidates(const Graph& graph, std::string_view op) {
  const Users users(graph);
  const std::vector<NodeId> last_write = last_writes(graph);
  Candidates found;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const NodeId id(i);
    if (graph.collective(id) == nullptr || graph.op_name(id) != op) continue;
    Result<Candidate> one = candidate(graph, users, last_write, id);
    if (one) found.list.push_back(std::move(*one));
    else found.notes.push_back(fmt::format("{}: {}", graph.name(id), one.error().message));
  }
  return found;
}

}  // namespace hocket::fuse
