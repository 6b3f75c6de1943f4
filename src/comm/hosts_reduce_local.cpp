#include "comm/hosts_reduce_local.h"

#include <cstring>

#include "comm/hosts_halves.h"

namespace hocket {

namespace {

// This host's transport combines, all ranks at once: where the host is one piece and nothing needs to be widened.
Status combine_by_transport(HostsContext& context, const Combiner& combiner, Flight& flight, const GroupCall& call) {
  const std::int64_t size = size_of(call.dtype);
  std::byte* const output = flight.combined.reserve(flight.count() * size);
  GroupCall own;
  own.op = Operator::all_reduce;
  own.dtype = call.dtype;
  own.reduce = combiner.first_op();
  own.factor = combiner.factor();
  own.count = flight.count();
  std::int64_t at = 0;
  for (const Stripe& stripe : flight.inputs) {
    own.many.push_back({stripe.data, output + at * size, stripe.count});
    at += stripe.count;
  }
  if (own.many.size() == 1) {
    own.first = own.many.front();
    own.many.clear();
  }
  flight.own = {output};
  return context.run_local(std::move(own), call);
}

const std::byte* packed(Flight& flight, std::int64_t size) {
  if (flight.inputs.size() == 1) return flight.inputs.front().data;
  std::byte* const begin = flight.packed.reserve(flight.count() * size);
  std::byte* to = begin;
  for (const Stripe& stripe : flight.inputs) {
    std::memcpy(to, stripe.data, static_cast<std::size_t>(stripe.count * size));
    to += stripe.count * size;
  }
  return begin;
}

// An all_to_all in which only the leader gives (`from_leader`) or gets.
Status with_leader(HostsContext& context, const GroupCall& call, bool from_leader, std::int64_t count,
                   const std::byte* input, std::byte* output) {
  const HostsLayout& layout = context.layout();
  const std::size_t locals = layout.locals().size();
  std::vector<std::int64_t> with_all(locals, layout.leads() ? count : 0);
  std::vector<std::int64_t> with_first(locals, 0);
  with_first.front() = count;
  GroupCall own;
  own.op = Operator::all_to_all;
  own.dtype = call.dtype;
  own.first = {input, output, 0};
  own.input_splits = from_leader ? with_all : with_first;
  own.output_splits = from_leader ? with_first : with_all;
  return context.run_local(std::move(own), call);
}

// The leader gets all inputs and combines them piece by piece.
Status combine_by_leader(HostsContext& context, const Combiner& combiner, Flight& flight, const GroupCall& call) {
  const HostsLayout& layout = context.layout();
  const std::int64_t size = size_of(call.dtype);
  const std::int64_t count = flight.count();
  const auto locals = static_cast<std::int64_t>(layout.locals().size());
  std::byte* const gathered = layout.leads() ? flight.gathered.reserve(locals * count * size) : nullptr;
  HOCKET_CHECK(with_leader(context, call, false, count, packed(flight, size), gathered));
  if (!layout.leads()) return {};
  std::int64_t bytes = 0;
  for (const Piece& piece : layout.pieces()) {
    if (piece.host == layout.host()) bytes += count * combiner.width_of(piece);
  }
  std::byte* to = flight.combined.reserve(bytes);
  flight.own.clear();
  for (const Piece& piece : layout.pieces()) {
    if (piece.host != layout.host()) continue;
    std::vector<const std::byte*> inputs;
    for (std::int32_t place = piece.first; place < piece.last; ++place) {
      inputs.push_back(gathered + layout.local_index(place) * count * size);
    }
    combiner.combine_inputs(piece, inputs, to, count);
    flight.own.push_back(to);
    to += count * combiner.width_of(piece);
  }
  return {};
}

void land(const Flight& flight, const std::byte* from, std::int64_t size) {
  for (const Landing& landing : flight.outputs) {
    const auto bytes = static_cast<std::size_t>(landing.count * size);
    if (landing.data != from) std::memcpy(landing.data, from, bytes);
    from += bytes;
  }
}

}  // namespace

Status combine_on_host(HostsContext& context, const Combiner& combiner, Flight& flight, const GroupCall& call) {
  const HostsLayout& layout = context.layout();
  const bool one_piece = layout.pieces_of(layout.host()) == 1;
  if (layout.locals().size() == 1 && call.reduce != ReduceOp::premul_sum) {  // nobody to combine with
    flight.own = {packed(flight, size_of(call.dtype))};
    return {};
  }
  if (one_piece && !is_half(call.dtype)) return combine_by_transport(context, combiner, flight, call);
  return combine_by_leader(context, combiner, flight, call);
}

Status deliver_on_host(HostsContext& context, Flight& flight, const GroupCall& call) {
  const HostsLayout& layout = context.layout();
  const std::int64_t size = size_of(call.dtype);
  const bool alone = layout.locals().size() == 1;
  if (call.op == Operator::all_reduce) {
    if (!alone) {
      HOCKET_CHECK(context.broadcast_local(flight.result, flight.result, flight.count() * size, 0, call));
    }
    land(flight, flight.result, size);
    return {};
  }
  const std::int64_t share = flight.count() / layout.size();
  std::byte* const output =
      flight.outputs.size() == 1 ? flight.outputs.front().data : flight.packed.reserve(flight.count() * size);
  HOCKET_CHECK(with_leader(context, call, true, share, flight.result, output));
  land(flight, output, size);
  return {};
}

}  // namespace hocket
