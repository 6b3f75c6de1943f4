#include "support/naive_collectives.h"

#include <numeric>

namespace hocket::naive {

namespace {

void append(Buffer& to, const Buffer& more) { to.insert(to.end(), more.begin(), more.end()); }

}  // namespace

Input Input::random(Dtype dtype, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Buffer pattern(static_cast<std::size_t>(period * size_of(dtype)));
  fill(random, dtype, pattern.data(), static_cast<std::size_t>(period));
  return {dtype, std::move(pattern)};
}

Buffer Input::part(std::int64_t first, std::int64_t count) const {
  const std::int64_t size = size_of(dtype_);
  Buffer out;
  out.reserve(static_cast<std::size_t>(count * size));
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t inside = (first + done) % period;
    const std::int64_t here = std::min(period - inside, count - done);
    out.insert(out.end(), pattern_.begin() + inside * size, pattern_.begin() + (inside + here) * size);
    done += here;
  }
  return out;
}

Input reduced(const Reduction& reduction, const Inputs& inputs) {
  std::vector<const std::byte*> sources;
  for (const Input& input : inputs) sources.push_back(input.pattern().data());
  return {reduction.dtype, reduce(reduction, sources, static_cast<std::size_t>(Input::period))};
}

Buffer all_reduce(const Input& reduced, std::int64_t count) { return reduced.part(0, count); }

Buffer reduce_scatter(const Input& reduced, std::int64_t count, std::int32_t place) {
  return reduced.part(place * count, count);
}

Buffer all_gather(const Inputs& inputs, std::int64_t count) {
  Buffer out;
  for (const Input& input : inputs) append(out, input.part(0, count));
  return out;
}

Buffer all_to_all(const Inputs& inputs, std::int64_t count, std::int32_t place) {
  Buffer out;
  for (const Input& input : inputs) append(out, input.part(place * count, count));
  return out;
}

Buffer all_to_all(const Inputs& inputs, const std::vector<std::vector<std::int64_t>>& splits, std::int32_t place) {
  Buffer out;
  for (std::size_t from = 0; from < inputs.size(); ++from) {
    const std::vector<std::int64_t>& to = splits[from];
    const std::int64_t first = std::accumulate(to.begin(), to.begin() + place, std::int64_t{0});
    append(out, inputs[from].part(first, to[static_cast<std::size_t>(place)]));
  }
  return out;
}

Buffer broadcast(const Inputs& inputs, std::int64_t count, std::int32_t source) {
  return inputs[static_cast<std::size_t>(source)].part(0, count);
}

}  // namespace hocket::naive
