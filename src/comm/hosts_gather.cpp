#include <algorithm>
#include <cstring>

#include "comm/hosts_copying.h"
#include "comm/parts.h"

namespace hocket {

namespace {

constexpr std::int64_t most_blocks = 1024;  // overlap gains little beyond

// The inputs of this host's ranks to where they belong in everyone's output.
Status gather_locals(HostsContext& context, const GroupCall& call, const Transfer& part) {
  const HostsLayout& layout = context.layout();
  const std::int64_t bytes = part.count * size_of(call.dtype);
  GroupCall gather;
  gather.op = Operator::all_gather;
  gather.count = bytes;
  if (layout.locals_are_neighbours()) {
    gather.first = {part.input, output_at(part, layout.locals().front() * bytes), bytes};
    return context.run_local(std::move(gather), call);
  }
  std::vector<std::byte> all(layout.locals().size() * static_cast<std::size_t>(bytes));
  gather.first = {part.input, all.data(), bytes};
  HOCKET_CHECK(context.run_local(std::move(gather), call));
  const std::byte* from = all.data();
  for (const std::int32_t place : layout.locals()) {
    std::memcpy(output_at(part, place * bytes), from, static_cast<std::size_t>(bytes));
    from += bytes;
  }
  return {};
}

// Calls visit(place, first byte, bytes) for each block of each place, in the order in which both ends of a message know it.
template <class Visit>
Status each_block(const HostsContext& context, std::int32_t host, std::int64_t bytes, const Visit& visit) {
  const std::int64_t block = block_for(context.options(), bytes);
  for (std::int64_t first = 0; first < bytes; first += block) {
    for (const std::int32_t place : context.layout().members(host)) {
      HOCKET_CHECK(visit(place, first, std::min(block, bytes - first)));
    }
  }
  return {};
}

// All messages of one part, begun at once. `incoming` in the order of each_block for the hosts in turn.
Status begin_part(HostsContext& context, const Transfer& part, std::int64_t bytes, std::vector<RequestHandle>& sends,
                  std::vector<RequestHandle>& incoming) {
  const HostsLayout& layout = context.layout();
  for (std::int32_t host = 0; host < layout.hosts(); ++host) {
    if (host == layout.host()) continue;
    const std::int32_t leader = layout.leader(host);
    HOCKET_CHECK(each_block(context, host, bytes, [&](std::int32_t place, std::int64_t first, std::int64_t size) {
      return context.receive(incoming, output_at(part, place * bytes + first), size, leader, tag_data);
    }));
    HOCKET_CHECK(
        each_block(context, layout.host(), bytes, [&](std::int32_t place, std::int64_t first, std::int64_t size) {
          return context.send(sends, output_at(part, place * bytes + first), size, leader, tag_data);
        }));
  }
  return {};
}

}  // namespace

std::int64_t block_for(const HostsOptions& options, std::int64_t bytes) {
  return std::max(options.block, (bytes + most_blocks - 1) / most_blocks);
}

Status hosts_all_gather(HostsContext& context, const GroupCall& call) {
  const HostsLayout& layout = context.layout();
  const std::int64_t size = size_of(call.dtype);
  std::vector<RequestHandle> sends;
  std::vector<RequestHandle> incoming;
  for (const Transfer& part : call.parts()) {
    HOCKET_CHECK(gather_locals(context, call, part));
    if (layout.leads()) HOCKET_CHECK(begin_part(context, part, part.count * size, sends, incoming));
  }
  std::size_t next = 0;
  for (const Transfer& part : call.parts()) {
    for (std::int32_t host = 0; host < layout.hosts(); ++host) {
      if (host == layout.host()) continue;
      const std::int64_t bytes = part.count * size;
      const auto hand_on = [&](std::int32_t place, std::int64_t first, std::int64_t length) -> Status {
        if (layout.leads()) {
          Status came = context.wait_for({&incoming[next++], 1}, call);
          if (!came) return came;
        }
        if (layout.locals().size() == 1) return {};
        std::byte* const at = output_at(part, place * bytes + first);
        return context.broadcast_local(at, at, length, 0, call);
      };
      HOCKET_CHECK(each_block(context, host, bytes, hand_on));
    }
  }
  return context.wait(sends, call);
}

}  // namespace hocket
