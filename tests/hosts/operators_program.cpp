// A rank of the tests across hosts: every operator, with some dtypes and sizes, against what one rank alone computes from the
// inputs of all. Prints a line from rank 0 if all ranks agree that all was right.
#include <fmt/format.h>

#include <cstring>
#include <functional>
#include <random>

#include "comm/reduce.h"
#include "hocket/comm/world.h"
#include "rank_program.h"

namespace hocket {
namespace {

using Buffer = std::vector<std::byte>;

// Small numbers, so that halves don't all become infinite; the same wherever they are asked for.
Buffer input_of(Dtype dtype, std::int32_t place, std::int64_t count) {
  std::mt19937 random(static_cast<unsigned>(place) * 7919U + 13U);
  Buffer buffer(static_cast<std::size_t>(count * size_of(dtype)));
  if (dtype == Dtype::f32) {
    for (std::int64_t i = 0; i < count; ++i) {
      const float value = static_cast<float>(random() % 20001) / 9973.0F - 1.0F;
      std::memcpy(buffer.data() + i * 4, &value, sizeof value);
    }
    return buffer;
  }
  for (std::byte& byte : buffer) byte = static_cast<std::byte>(random() % 64);  // a half below 2
  return buffer;
}

class Checks {
 public:
  Checks(Communicator group, Dtype dtype) : group_(std::move(group)), dtype_(dtype), size_(size_of(dtype)) {
    options_.blocking = true;
  }

  Status all(std::int64_t count) {
    const std::int32_t ranks = group_.group().size();
    std::vector<Buffer> inputs;
    for (std::int32_t place = 0; place < ranks; ++place) inputs.push_back(input_of(dtype_, place, count * ranks));
    const Buffer& mine = inputs[static_cast<std::size_t>(group_.group().place())];
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::avg, ReduceOp::max, ReduceOp::premul_sum}) {
      HOCKET_CHECK(reductions(op, inputs, mine, count));
    }
    return copies(inputs, mine, count);
  }

 private:
  Status same(const char* what, const Buffer& got, const Buffer& expected) const {
    if (got == expected) return {};
    return fail(ErrorKind::internal, "rank {}: wrong result of {} of {} {}", group_.group().place(), what,
                short_name(dtype_), expected.size() / static_cast<std::size_t>(size_));
  }
  Buffer blank(std::int64_t count) const { return Buffer(static_cast<std::size_t>(count * size_), std::byte{0xee}); }

  Status reductions(ReduceOp op, const std::vector<Buffer>& inputs, const Buffer& mine, std::int64_t count) {
    const auto ranks = static_cast<std::int32_t>(inputs.size());
    options_.factor = 2.0;
    std::vector<const std::byte*> sources;
    for (const Buffer& input : inputs) sources.push_back(input.data());
    Buffer expected = blank(count * ranks);
    if (count > 0) reduce({dtype_, op, options_.factor, ranks}, sources, expected.data(), count * ranks);
    Buffer output = blank(count * ranks);
    HOCKET_CHECK(group_.all_reduce(mine.data(), output.data(), count * ranks, dtype_, op, options_).wait());
    HOCKET_CHECK(same("all_reduce", output, expected));
    const auto share = expected.begin() + group_.group().place() * count * size_;
    output = blank(count);
    HOCKET_CHECK(group_.reduce_scatter(mine.data(), output.data(), count, dtype_, op, options_).wait());
    return same("reduce_scatter", output, Buffer(share, share + count * size_));
  }

  Status copies(const std::vector<Buffer>& inputs, const Buffer& mine, std::int64_t count) {
    const auto ranks = static_cast<std::int32_t>(inputs.size());
    const std::int64_t bytes = count * size_;
    Buffer gathered;
    Buffer exchanged;
    for (const Buffer& input : inputs) {
      gathered.insert(gathered.end(), input.begin(), input.begin() + bytes);
      const auto share = input.begin() + group_.group().place() * bytes;
      exchanged.insert(exchanged.end(), share, share + bytes);
    }
    Buffer output = blank(count * ranks);
    HOCKET_CHECK(group_.all_gather(mine.data(), output.data(), count, dtype_, options_).wait());
    HOCKET_CHECK(same("all_gather", output, gathered));
    output = blank(count * ranks);
    HOCKET_CHECK(group_.all_to_all(mine.data(), output.data(), count, dtype_, options_).wait());
    HOCKET_CHECK(same("all_to_all", output, exchanged));
    const std::vector<std::int64_t> splits(inputs.size(), count);
    output = blank(count * ranks);
    HOCKET_CHECK(group_.all_to_all(mine.data(), splits, output.data(), splits, dtype_, options_).wait());
    HOCKET_CHECK(same("all_to_all with splits", output, exchanged));
    for (std::int32_t source = 0; source < ranks; ++source) {
      output = blank(count * ranks);
      HOCKET_CHECK(group_.broadcast(mine.data(), output.data(), count * ranks, dtype_, source, options_).wait());
      HOCKET_CHECK(same("broadcast", output, inputs[static_cast<std::size_t>(source)]));
    }
    return group_.barrier(options_).wait();
  }

  Communicator group_;
  Dtype dtype_;
  std::int64_t size_;
  CallOptions options_;
};

Status check_all() {
  HOCKET_TRY(const World world, World::join());
  HOCKET_TRY(const Communicator group, world.communicator());
  std::int64_t calls = 0;
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::i32, Dtype::u8}) {
    Checks checks(group, dtype);
    for (const std::int64_t count : {0, 1, 7, 4097, 300'007}) {
      HOCKET_CHECK(checks.all(count));
      ++calls;
    }
  }
  // A group of one rank on each host, too.
  HOCKET_TRY(const Communicator pair, world.communicator(world.rank() % 2 == 0 ? Ranks{0, 2} : Ranks{1, 3}));
  HOCKET_CHECK(Checks(pair, Dtype::f32).all(5003));
  HOCKET_CHECK(group.barrier().wait());
  if (world.rank() == 0) fmt::print("{} cases right on {} ranks\n", calls + 1, world.size());
  return {};
}

}  // namespace
}  // namespace hocket

int main() { return hocket::exit_code_of(hocket::check_all()); }
