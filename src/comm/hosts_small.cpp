#include "comm/hosts_small.h"

#include <cstring>

#include "comm/parts.h"
#include "comm/reduce.h"

namespace hocket {

namespace {

// How many times `count` elements a part's input has.
std::int64_t inputs_in(const GroupCall& call, const HostsLayout& layout) {
  if (call.op == Operator::barrier) return 0;
  if (call.op == Operator::broadcast) return call.root == layout.place() ? 1 : 0;
  return gives_shares(call.op) ? layout.size() : 1;
}

void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

// `skip` bytes into each rank's input.
void reduce_cards(const GroupCall& call, const HostsLayout& layout, const Greeting& greeting, std::int64_t skip,
                  const Transfer& part) {
  std::vector<const std::byte*> sources;
  for (std::int32_t place = 0; place < layout.size(); ++place) sources.push_back(greeting.input_of(place) + skip);
  const Reduction reduction{call.dtype, call.reduce, call.factor, layout.size()};
  if (part.count > 0) reduce(reduction, sources, output_at(part, 0), part.count);
}

}  // namespace

std::int64_t input_bytes(const GroupCall& call, const HostsLayout& layout) {
  return inputs_in(call, layout) * call.count * size_of(call.dtype);
}

std::vector<std::byte> packed_input(const GroupCall& call, const HostsLayout& layout) {
  std::vector<std::byte> packed(static_cast<std::size_t>(input_bytes(call, layout)));
  std::byte* to = packed.data();
  for (const Transfer& part : call.parts()) {
    const std::int64_t bytes = inputs_in(call, layout) * part.count * size_of(call.dtype);
    copy_bytes(to, input_at(part, 0), bytes);
    to += bytes;
  }
  return packed;
}

void finish_small(const GroupCall& call, const HostsLayout& layout, const Greeting& greeting) {
  const std::int64_t size = size_of(call.dtype);
  std::int64_t skip = 0;
  for (const Transfer& part : call.parts()) {
    const std::int64_t bytes = part.count * size;
    const std::int64_t own = layout.place() * bytes;
    switch (call.op) {
      case Operator::all_reduce: reduce_cards(call, layout, greeting, skip, part); break;
      case Operator::reduce_scatter: reduce_cards(call, layout, greeting, skip + own, part); break;
      case Operator::broadcast: copy_bytes(output_at(part, 0), greeting.input_of(call.root) + skip, bytes); break;
      case Operator::all_gather:
      case Operator::all_to_all:
        for (std::int32_t place = 0; place < layout.size(); ++place) {
          const std::int64_t there = call.op == Operator::all_to_all ? own : 0;
          copy_bytes(output_at(part, place * bytes), greeting.input_of(place) + skip + there, bytes);
        }
        break;
      default: break;
    }
    skip += inputs_in(call, layout) * bytes;
  }
}

}  // namespace hocket
