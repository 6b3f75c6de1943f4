#include "comm/hosts_combine.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>

#include "comm/hosts_halves.h"

namespace hocket {

namespace {

// Partial results of this many elements stay in the cache.
constexpr std::int64_t chunk = 8192;

using Buffer = std::vector<std::byte>;

}  // namespace

Combiner::Combiner(const HostsLayout& layout, const GroupCall& call)
    : layout_(&layout),
      dtype_(call.dtype),
      working_(is_half(call.dtype) ? Dtype::f32 : call.dtype),
      op_(call.reduce),
      factor_(call.factor) {}

std::int64_t Combiner::width_of(const Piece& piece) const { return size_of(travels_raw(piece) ? dtype_ : working_); }

void Combiner::combine_inputs(const Piece& piece, std::span<const std::byte* const> inputs, std::byte* output,
                              std::int64_t count) const {
  const std::int64_t size = size_of(dtype_);
  if (travels_raw(piece)) {
    std::memcpy(output, inputs[0], static_cast<std::size_t>(count * size));
    return;
  }
  if (working_ == dtype_) {
    reduce(reduction(first_op()), inputs, output, count);
    return;
  }
  std::vector<std::vector<float>> floats(inputs.size(), std::vector<float>(static_cast<std::size_t>(chunk)));
  std::vector<const std::byte*> sources;
  for (const auto& one : floats) sources.push_back(reinterpret_cast<const std::byte*>(one.data()));
  for (std::int64_t at = 0; at < count; at += chunk) {
    const std::int64_t now = std::min(chunk, count - at);
    for (std::size_t i = 0; i < inputs.size(); ++i) widen(dtype_, inputs[i] + at * size, floats[i].data(), now);
    reduce(reduction(first_op()), sources, output + at * size_of(working_), now);
  }
}

// One chunk on its way up the tree. Buffers are kept from chunk to chunk.
struct Combiner::Walk {
  std::span<const std::byte* const> pieces;
  std::int64_t at = 0;
  std::int64_t count = 0;
  std::size_t next_piece = 0;
  std::size_t used = 0;
  std::deque<Buffer> buffers{};

  std::byte* buffer() {
    if (used == buffers.size()) buffers.emplace_back(static_cast<std::size_t>(chunk) * sizeof(double) * 2);
    return buffers[used++].data();
  }
};

const std::byte* Combiner::walk(Walk& at, std::int32_t first, std::int32_t last) const {
  const Piece& piece = layout_->pieces()[at.next_piece];
  if (piece.first == first && piece.last == last) {
    const std::byte* const found = at.pieces[at.next_piece++] + at.at * width_of(piece);
    if (working_ == dtype_ || !travels_raw(piece)) return found;
    std::byte* const wide = at.buffer();
    widen(dtype_, found, reinterpret_cast<float*>(wide), at.count);
    return wide;
  }
  const std::int32_t middle = tree_middle(first, last);
  const std::byte* const left = walk(at, first, middle);
  const std::byte* const right = walk(at, middle, last);
  std::byte* const both = at.buffer();
  reduce(reduction(second_op()), std::array{left, right}, both, at.count);
  return both;
}

void Combiner::finish(const std::byte* sum, std::byte* output, std::int64_t count) const {
  if (op_ == ReduceOp::avg) {
    alignas(64) std::array<std::byte, chunk * sizeof(float)> quotient;  // of halves, in f32
    std::byte* const to = working_ == dtype_ ? output : quotient.data();
    reduce(reduction(ReduceOp::avg), std::array{sum}, to, count);
    if (working_ != dtype_) narrow(dtype_, reinterpret_cast<const float*>(to), output, count);
  } else if (working_ != dtype_) {
    narrow(dtype_, reinterpret_cast<const float*>(sum), output, count);
  } else {
    std::memcpy(output, sum, static_cast<std::size_t>(count * size_of(dtype_)));
  }
}

void Combiner::combine_pieces(std::span<const std::byte* const> pieces, std::byte* output, std::int64_t count) const {
  Walk at{pieces};
  for (; at.at < count; at.at += chunk) {
    at.count = std::min(chunk, count - at.at);
    at.next_piece = 0;
    at.used = 0;
    std::byte* const result = output + at.at * size_of(dtype_);
    if (working_ != dtype_ || layout_->pieces().size() == 1) {
      finish(walk(at, 0, layout_->size()), result, at.count);
      continue;
    }
    // The last two straight into the result.
    const std::int32_t middle = tree_middle(0, layout_->size());
    const std::byte* const left = walk(at, 0, middle);
    const std::byte* const right = walk(at, middle, layout_->size());
    reduce(reduction(op_ == ReduceOp::avg ? op_ : second_op()), std::array{left, right}, result, at.count);
  }
}

}  // namespace hocket
