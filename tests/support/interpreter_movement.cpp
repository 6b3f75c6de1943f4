// Operators that move elements and compute nothing: copies, concatenation, splitting, padding, and FSDP's copies.
#include <algorithm>
#include <map>

#include "support/interpreter_operators.h"

namespace hocket::interpreter {

namespace {

// The elements as they are, in another type or layout.
void copy_first(Call& call) { call.results.at(0).words = call.tensor(0).words; }

// copy_(self, source): the source, repeated to fit; the old elements are not looked at.
void copy_second(Call& call) {
  Tensor& result = call.results.at(0);
  const Tensor source = call.tensor(1, "src");
  result.words.clear();
  for (const std::size_t at : broadcast_positions(source.shape, result.shape)) result.words.push_back(source.words[at]);
}

// ---- along one dim: a tensor is `outer` blocks of `size` times `inner` elements

struct Blocks {
  std::int64_t outer = 1;
  std::int64_t inner = 1;
};

Blocks blocks_of(const Sizes& shape, std::size_t dim) {
  Blocks blocks;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i < dim) blocks.outer *= shape[i];
    if (i > dim) blocks.inner *= shape[i];
  }
  return blocks;
}

// Copies `count` entries of dim from one tensor to another, `step` entries apart in `to`.
void copy_entries(const Tensor& from, std::int64_t from_begin, Tensor& to, std::int64_t to_begin, std::int64_t count,
                  std::size_t dim, std::int64_t to_step = 1) {
  require(dim < to.shape.size() && from.shape.size() == to.shape.size(), "a part has another number of dims");
  const Blocks blocks = blocks_of(to.shape, dim);
  const Blocks from_blocks = blocks_of(from.shape, dim);
  require(from_blocks.outer == blocks.outer && from_blocks.inner == blocks.inner, "a part has other sizes");
  require(count <= 0 || (from_begin >= 0 && from_begin + count <= from.shape[dim] && to_begin >= 0 &&
                         to_begin + (count - 1) * to_step < to.shape[dim]),
          "a part does not fit into the whole");
  for (std::int64_t block = 0; block < blocks.outer; ++block) {
    for (std::int64_t entry = 0; entry < count; ++entry) {
      const std::int64_t source = (block * from.shape[dim] + from_begin + entry) * blocks.inner;
      const std::int64_t target = (block * to.shape[dim] + to_begin + entry * to_step) * blocks.inner;
      std::copy_n(from.words.begin() + source, blocks.inner, to.words.begin() + target);
    }
  }
}

void clear(Tensor& tensor) { tensor.words.assign(static_cast<std::size_t>(count_of(tensor.shape)), 0); }

void concatenate(const std::vector<Tensor>& parts, Tensor& result, std::size_t dim) {
  clear(result);
  std::int64_t begin = 0;
  for (const Tensor& part : parts) {
    if (part.shape == Sizes{0}) continue;  // cat allows an empty one among others of any rank
    require(dim < part.shape.size(), "a part has another number of dims");
    copy_entries(part, 0, result, begin, part.shape[dim], dim);
    begin += part.shape[dim];
  }
}

void cat(Call& call) {
  Tensor& result = call.results.at(0);
  concatenate(call.tensors(call.at(0)), result, wrapped_dim(call.integer(1, "dim", 0), result.shape.size()));
}

void stack(Call& call) {
  Tensor& result = call.results.at(0);
  const std::size_t dim = wrapped_dim(call.integer(1, "dim", 0), result.shape.size());
  std::vector<Tensor> parts = call.tensors(call.at(0));
  for (Tensor& part : parts) require(dim <= part.shape.size(), "a part has another number of dims");
  for (Tensor& part : parts) part.shape.insert(part.shape.begin() + static_cast<std::ptrdiff_t>(dim), 1);
  concatenate(parts, result, dim);
}

// Parts along a dim, one after the other: how much each takes is its result's shape.
void split(Call& call) {
  const Tensor whole = call.tensor(0);
  const std::size_t dim = wrapped_dim(call.integer(2, "dim", 0), whole.shape.size());
  std::int64_t begin = 0;
  for (Tensor& part : call.results) {
    Tensor slice{whole.shape, {}};
    slice.shape[dim] = count_of(part.shape) * whole.shape[dim] / std::max<std::int64_t>(1, count_of(whole.shape));
    clear(slice);
    const Blocks blocks = blocks_of(whole.shape, dim);
    require(dim < whole.shape.size() && begin + slice.shape[dim] <= whole.shape[dim], "the parts exceed the whole");
    for (std::int64_t block = 0; block < blocks.outer; ++block) {
      std::copy_n(whole.words.begin() + (block * whole.shape[dim] + begin) * blocks.inner,
                  slice.shape[dim] * blocks.inner, slice.words.begin() + block * slice.shape[dim] * blocks.inner);
    }
    begin += slice.shape[dim];
    part.words = std::move(slice.words);
  }
}

void unbind(Call& call) {
  const Tensor whole = call.tensor(0);
  const std::size_t dim = wrapped_dim(call.integer(1, "dim", 0), whole.shape.size());
  const Blocks blocks = blocks_of(whole.shape, dim);
  require(static_cast<std::int64_t>(call.results.size()) <= whole.shape.at(dim), "the parts exceed the whole");
  for (std::size_t k = 0; k < call.results.size(); ++k) {
    call.results[k].words.clear();
    for (std::int64_t block = 0; block < blocks.outer; ++block) {
      const auto begin = whole.words.begin() + (block * whole.shape[dim] + static_cast<std::int64_t>(k)) * blocks.inner;
      call.results[k].words.insert(call.results[k].words.end(), begin, begin + blocks.inner);
    }
  }
}

// Each tensor, padded with zeros along dim 0 to `chunks` equal parts, one part after the other in a row of the result.
void chunk_cat(Call& call) {
  const std::int64_t chunks = call.integer(2, "num_chunks", 1);
  std::vector<Tensor> parts = call.tensors(call.at(0));
  if (call.integer(1, "dim", 0) != 0) throw Halt("chunk_cat along another dim than 0");
  for (Tensor& part : parts) {
    require(!part.shape.empty() && chunks > 0, "a tensor without dims, or no chunks");
    const std::int64_t row = part.shape[0] == 0 ? 0 : count_of(part.shape) / part.shape[0];
    const std::int64_t rows = (part.shape[0] + chunks - 1) / chunks * chunks;
    part.words.resize(static_cast<std::size_t>(rows * row), 0);
    part.shape = {chunks, rows * row / chunks};
  }
  Tensor result{{chunks, 0}, {}};
  for (const Tensor& part : parts) result.shape[1] += part.shape[1];
  concatenate(parts, result, 1);
  call.results.at(0).words = std::move(result.words);
}

void pad(Call& call) {
  Tensor& result = call.results.at(0);
  const Sizes amounts = call.integers(1, "pad");
  Tensor padded = call.tensor(0);
  const Word value = call.number(2, "value", 0);
  for (std::size_t i = 0; i < amounts.size() / 2; ++i) {
    require(i < padded.shape.size(), "pads more dims than there are");
    const std::size_t dim = padded.shape.size() - 1 - i;
    const std::int64_t before = amounts[2 * i];
    Tensor next{padded.shape, {}};
    next.shape[dim] += before + amounts[2 * i + 1];
    require(next.shape[dim] >= 0, "cuts more than there is");
    next.words.assign(static_cast<std::size_t>(count_of(next.shape)), value);
    const std::int64_t kept = std::min(padded.shape[dim] + std::min<std::int64_t>(before, 0),
                                       next.shape[dim] - std::max<std::int64_t>(before, 0));
    copy_entries(padded, std::max<std::int64_t>(-before, 0), next, std::max<std::int64_t>(before, 0), kept, dim);
    padded = std::move(next);
  }
  result.words = std::move(padded.words);
}

// ---- a part put back into the whole

struct Slice {
  std::int64_t begin = 0;
  std::int64_t step = 1;
};

Slice slice_of(const Call& call, std::size_t position, std::int64_t size) {
  std::int64_t begin = call.integer(position, "start", 0);
  if (begin < 0) begin += size;
  return {std::clamp<std::int64_t>(begin, 0, size), call.integer(position + 2, "step", 1)};
}

void slice_scatter(Call& call) {
  Tensor& result = call.results.at(0);
  result.words = call.tensor(0).words;
  const Tensor part = call.tensor(1, "src");
  const std::size_t dim = wrapped_dim(call.integer(2, "dim", 0), result.shape.size());
  const Slice slice = slice_of(call, 3, result.shape.at(dim));
  copy_entries(part, 0, result, slice.begin, part.shape.at(dim), dim, slice.step);
}

void select_scatter(Call& call) {
  Tensor& result = call.results.at(0);
  result.words = call.tensor(0).words;
  Tensor part = call.tensor(1, "src");
  const std::size_t dim = wrapped_dim(call.integer(2, "dim", 0), result.shape.size());
  require(dim <= part.shape.size(), "a part has another number of dims");
  part.shape.insert(part.shape.begin() + static_cast<std::ptrdiff_t>(dim), 1);
  const std::int64_t at = call.integer(3, "index", 0);
  copy_entries(part, 0, result, at < 0 ? at + result.shape.at(dim) : at, 1, dim);
}

void slice_backward(Call& call) {
  Tensor& result = call.results.at(0);
  clear(result);
  const Tensor part = call.tensor(0);
  const std::size_t dim = wrapped_dim(call.integer(2, "dim", 0), result.shape.size());
  const Slice slice = slice_of(call, 3, result.shape.at(dim));
  copy_entries(part, 0, result, slice.begin, part.shape.at(dim), dim, slice.step);
}

void select_backward(Call& call) {
  Tensor& result = call.results.at(0);
  clear(result);
  Tensor part = call.tensor(0);
  const std::size_t dim = wrapped_dim(call.integer(2, "dim", 0), result.shape.size());
  require(dim <= part.shape.size(), "a part has another number of dims");
  part.shape.insert(part.shape.begin() + static_cast<std::ptrdiff_t>(dim), 1);
  const std::int64_t at = call.integer(3, "index", 0);
  copy_entries(part, 0, result, at < 0 ? at + result.shape.at(dim) : at, 1, dim);
}

// (inputs, buffer, sizes, elements of one rank, rank): the inputs, flat, at this rank's place of the buffer.
void all_gather_copy_in(Call& call) {
  Tensor& result = call.results.at(0);
  result.words = call.tensor(1).words;
  std::int64_t at = call.integer(3, "all_gather_input_numel", 0) * call.integer(4, "rank", 0);
  for (const Tensor& input : call.tensors(call.at(0))) {
    require(
        at >= 0 && at + static_cast<std::int64_t>(input.words.size()) <= static_cast<std::int64_t>(result.words.size()),
        "the inputs exceed the buffer");
    std::copy(input.words.begin(), input.words.end(), result.words.begin() + at);
    at += static_cast<std::int64_t>(input.words.size());
  }
}

const std::map<std::string_view, void (*)(Call&)>& rules() {
  static const std::map<std::string_view, void (*)(Call&)> all = {{"clone", copy_first},
                                                                  {"_to_copy", copy_first},
                                                                  {"convert_element_type", copy_first},
                                                                  {"to", copy_first},
                                                                  {"contiguous", copy_first},
                                                                  {"reshape", copy_first},
                                                                  {"flatten", copy_first},
                                                                  {"alias", copy_first},
                                                                  {"detach", copy_first},
                                                                  {"alias_copy", copy_first},
                                                                  {"detach_copy", copy_first},
                                                                  {"lift_fresh_copy", copy_first},
                                                                  {"device_put", copy_first},
                                                                  {"view_copy", copy_first},
                                                                  {"squeeze_copy", copy_first},
                                                                  {"unsqueeze_copy", copy_first},
                                                                  {"type_as", copy_first},
                                                                  {"reshape_as", copy_first},
                                                                  {"view", copy_first},
                                                                  {"_unsafe_view", copy_first},
                                                                  {"wait_tensor", copy_first},
                                                                  {"resolve_conj", copy_first},
                                                                  {"resolve_neg", copy_first},
                                                                  {"inductor_force_stride_order", copy_first},
                                                                  {"copy", copy_second},
                                                                  {"copy_to", copy_second},
                                                                  {"cat", cat},
                                                                  {"concat", cat},
                                                                  {"concatenate", cat},
                                                                  {"stack", stack},
                                                                  {"split_with_sizes_copy", split},
                                                                  {"split_copy", split},
                                                                  {"unbind_copy", unbind},
                                                                  {"_chunk_cat", chunk_cat},
                                                                  {"chunk_cat", chunk_cat},
                                                                  {"constant_pad_nd", pad},
                                                                  {"slice_scatter", slice_scatter},
                                                                  {"select_scatter", select_scatter},
                                                                  {"slice_backward", slice_backward},
                                                                  {"select_backward", select_backward},
                                                                  {"all_gather_copy_in", all_gather_copy_in}};
  return all;
}

}  // namespace

Rule movement_rule(std::string_view base) {
  const auto found = rules().find(base);
  return found == rules().end() ? Rule{} : Rule{found->second, true};
}

}  // namespace hocket::interpreter
