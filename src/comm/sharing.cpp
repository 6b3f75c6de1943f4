// Collectives on buffers in symmetric memory, which all ranks of the host can see: nothing is copied in.
#include <algorithm>
#include <cstring>

#include "comm/algorithms.h"
#include "comm/copy.h"
#include "comm/reduce.h"

namespace hocket {

namespace {

// Stays in the first-level cache until it is written to all.
constexpr std::int64_t fused_block = 8192;
constexpr std::int64_t pushed_block = 16384;
constexpr std::int64_t copied_block = 65536;  // so long that turning back for the next one costs nothing

// Runs use(first, count) for each block of what a rank gives. Whoever filled it began at its beginning, so that the caches have its end: what fits
// into them is gone through from there, and an all_to_all of 4 MiB takes a sixth less. What does not is read in the order that processors
// fetch ahead in; the other way round would take a tenth more.
template <class Use>
void each_block(std::int64_t count, std::int64_t block, bool from_the_end, const Use& use) {
  const std::int64_t blocks = (count + block - 1) / block;
  for (std::int64_t i = 0; i < blocks; ++i) {
    const std::int64_t first = (from_the_end ? blocks - 1 - i : i) * block;
    use(first, std::min(block, count - first));
  }
}

// The elements [first, second) that a place works on, in whole cache lines.
std::pair<std::int64_t, std::int64_t> share_of(std::int32_t place, std::int32_t ranks, std::int64_t count,
                                               std::int64_t size) {
  const std::int64_t line = cache_line / size;
  const std::int64_t lines = (count + line - 1) / line;
  const auto start = [&](std::int64_t i) { return std::min(lines * i / ranks * line, count); };
  return {start(place), start(place + 1)};
}

// Copies `count` bytes of this rank to the same offset of everybody's output, block by block, so that they are read from memory
// only once.
void push_to_all(const Rounds& rounds, const SharedBuffers& buffers, const std::byte* input, std::int64_t offset,
                 std::int64_t count, bool streaming) {
  each_block(count, pushed_block, !streaming, [&](std::int64_t first, std::int64_t now) {
    for (std::int32_t i = 0; i < rounds.size(); ++i) {
      const auto place = static_cast<std::size_t>((rounds.place() + i) % rounds.size());
      std::byte* const to = buffers.output[place] + offset + first;
      if (to != input + first) copy_unfenced(input + first, to, now, streaming);
    }
  });
  if (streaming) stream_fence();
}

}  // namespace

Status fused_all_reduce(Rounds& rounds, const GroupCall& call, const SharedBuffers& buffers) {
  const std::int64_t size = size_of(call.dtype);
  const Reduction reduction = reduction_of(rounds, call);
  SourceList sources(rounds.size());
  const auto [begin, end] = share_of(rounds.place(), rounds.size(), call.count, size);
  const std::int64_t step = fused_block / size;
  for (std::int64_t first = begin; first < end; first += step) {
    const std::int64_t count = std::min(step, end - first);
    for (std::int32_t place = 0; place < rounds.size(); ++place) {
      sources[place] = buffers.input[static_cast<std::size_t>(place)] + first * size;
    }
    std::byte* const mine = buffers.output[static_cast<std::size_t>(rounds.place())] + first * size;
    reduce(reduction, sources.span(), mine, count);
    for (std::int32_t i = 1; i < rounds.size(); ++i) {
      const auto place = static_cast<std::size_t>((rounds.place() + i) % rounds.size());
      std::memcpy(buffers.output[place] + first * size, mine, bytes(count * size));
    }
  }
  return meet(rounds);
}

Status pushing_all_gather(Rounds& rounds, const GroupCall& call, const SharedBuffers& buffers, Cut cut) {
  const std::int64_t share = call.count * size_of(call.dtype);
  const auto* const input = static_cast<const std::byte*>(call.first.input);
  push_to_all(rounds, buffers, input, rounds.place() * share, share, cut.streaming);
  return meet(rounds);
}

Status pulling_reduce_scatter(Rounds& rounds, const GroupCall& call, const SharedBuffers& buffers) {
  const std::int64_t share = call.count * size_of(call.dtype);
  SourceList sources(rounds.size());
  for (std::int32_t place = 0; place < rounds.size(); ++place) {
    sources[place] = buffers.input[static_cast<std::size_t>(place)] + rounds.place() * share;
  }
  reduce(reduction_of(rounds, call), sources.span(), static_cast<std::byte*>(call.first.output), call.count);
  return meet(rounds);
}

Status pushing_all_to_all(Rounds& rounds, const GroupCall& call, const SharedBuffers& buffers, Cut cut) {
  const std::int64_t share = call.count * size_of(call.dtype);
  const auto* const input = static_cast<const std::byte*>(call.first.input);
  each_block(rounds.size(), 1, !cut.streaming, [&](std::int64_t place, std::int64_t) {
    std::byte* const to = buffers.output[static_cast<std::size_t>(place)] + rounds.place() * share;
    each_block(share, copied_block, !cut.streaming, [&](std::int64_t first, std::int64_t now) {
      copy_unfenced(input + place * share + first, to + first, now, cut.streaming);
    });
  });
  if (cut.streaming) stream_fence();
  return meet(rounds);
}

// The source writes the beginning to all, and each takes the rest while it does: all cores move as much.
Status shared_broadcast(Rounds& rounds, const GroupCall& call, const SharedBuffers& buffers, bool source_is_shared,
                        Cut cut) {
  const std::int64_t all = call.count * size_of(call.dtype);
  const std::int64_t pushed = source_is_shared ? all / rounds.size() / cache_line * cache_line : all;
  if (rounds.place() == call.root) {
    push_to_all(rounds, buffers, static_cast<const std::byte*>(call.first.input), 0, pushed, cut.streaming);
  } else if (pushed < all) {
    copy(buffers.output[static_cast<std::size_t>(call.root)] + pushed,
         buffers.output[static_cast<std::size_t>(rounds.place())] + pushed, all - pushed, cut.streaming);
  }
  return meet(rounds);
}

}  // namespace hocket
