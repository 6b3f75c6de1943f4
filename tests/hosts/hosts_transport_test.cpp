#include "comm/hosts_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hosts/thread_hosts.h"
#include "support/naive_collectives.h"

namespace hocket {
namespace {

using naive::Buffer;
using naive::Input;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

using Hosts = std::vector<std::int32_t>;
// Side by side, in turn, of unequal size, alone, and three of which none is a whole subtree.
const std::vector<Hosts> layouts = {{0, 0, 1, 1}, {0, 1, 0, 1}, {0, 0, 0, 1}, {0, 1}, {0, 1, 2}, {0, 1, 1, 2, 2, 0, 0}};
// On a card, in one small block, in several blocks.
const std::vector<std::int64_t> counts = {0, 1, 7, 300, 5003};
const HostsOptions small_blocks{.block = 4096, .message = 2048, .depth = 3};

class Calls {
 public:
  Calls(HostsTransport& transport, const naive::Inputs& inputs, std::int32_t place)
      : transport_(transport), inputs_(inputs), place_(place) {}

  Status expect(GroupCall call, Buffer input, const Buffer& expected) {
    Buffer output(expected.size(), std::byte{0x5a});
    call.number = ++number_;
    call.dtype = inputs_.front().dtype();
    call.timeout = std::chrono::seconds(20);
    call.first.input = input.data();
    call.first.output = output.data();
    const Buffer before = input;
    HOCKET_CHECK(transport_.run(call));
    if (output != expected) return fail(ErrorKind::internal, "place {}: wrong result of {}", place_, call.to_string());
    if (input != before) return fail(ErrorKind::internal, "place {}: {} changed its input", place_, call.to_string());
    return {};
  }
  Status expect_in_place(GroupCall call, Buffer buffer, const Buffer& expected) {
    call.number = ++number_;
    call.dtype = inputs_.front().dtype();
    call.timeout = std::chrono::seconds(20);
    call.first.input = call.first.output = buffer.data();
    HOCKET_CHECK(transport_.run(call));
    if (buffer == expected) return {};
    return fail(ErrorKind::internal, "place {}: wrong result of {} in place", place_, call.to_string());
  }
  GroupCall call(Operator op, std::int64_t count) const {
    GroupCall made;
    made.op = op;
    made.count = count;
    made.first.count = count;
    return made;
  }
  const Input& mine() const { return inputs_[static_cast<std::size_t>(place_)]; }

  Status copying(std::int64_t count) {
    const auto ranks = static_cast<std::int64_t>(inputs_.size());
    HOCKET_CHECK(expect(call(Operator::all_gather, count), mine().part(0, count), naive::all_gather(inputs_, count)));
    HOCKET_CHECK(expect(call(Operator::all_to_all, count), mine().part(0, count * ranks),
                        naive::all_to_all(inputs_, count, place_)));
    for (std::int32_t root = 0; root < ranks; ++root) {
      GroupCall broadcast = call(Operator::broadcast, count);
      broadcast.root = root;
      HOCKET_CHECK(expect(broadcast, mine().part(0, count), naive::broadcast(inputs_, count, root)));
    }
    return expect(call(Operator::barrier, 0), {}, {});
  }
  Status reducing(ReduceOp op, const Input& reduced, std::int64_t count) {
    const auto ranks = static_cast<std::int64_t>(inputs_.size());
    GroupCall all = call(Operator::all_reduce, count);
    GroupCall scatter = call(Operator::reduce_scatter, count);
    all.reduce = scatter.reduce = op;
    all.factor = scatter.factor = 3.0;
    HOCKET_CHECK(expect(all, mine().part(0, count), naive::all_reduce(reduced, count)));
    HOCKET_CHECK(expect_in_place(all, mine().part(0, count), naive::all_reduce(reduced, count)));
    return expect(scatter, mine().part(0, count * ranks), naive::reduce_scatter(reduced, count, place_));
  }

 private:
  HostsTransport& transport_;
  const naive::Inputs& inputs_;
  std::int32_t place_;
  std::uint64_t number_ = 0;
};

naive::Inputs inputs_of(Dtype dtype, std::size_t ranks) {
  naive::Inputs inputs;
  for (std::size_t place = 0; place < ranks; ++place) inputs.push_back(Input::random(dtype, 17 * place + 5));
  return inputs;
}

TEST(HostsTransport, copies_arrive_whatever_the_layout) {
  for (const Hosts& hosts : layouts) {
    for (const Dtype dtype : {Dtype::f32, Dtype::u8, Dtype::f8e4m3}) {
      const naive::Inputs inputs = inputs_of(dtype, hosts.size());
      const auto said = run_on_hosts(hosts, small_blocks, [&](HostsTransport& transport, std::int32_t place) -> Status {
        Calls calls(transport, inputs, place);
        for (const std::int64_t count : counts) HOCKET_CHECK(calls.copying(count));
        return {};
      });
      EXPECT_THAT(said, Each(IsEmpty())) << testing::PrintToString(hosts) << short_name(dtype);
    }
  }
}

TEST(HostsTransport, sums_have_the_bits_of_one_tree_over_all_ranks) {
  for (const Hosts& hosts : layouts) {
    for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f16, Dtype::f64, Dtype::i32, Dtype::i8, Dtype::boolean}) {
      const naive::Inputs inputs = inputs_of(dtype, hosts.size());
      std::vector<std::pair<ReduceOp, Input>> cases;
      for (int op = 0; op < reduce_op_count; ++op) {
        const auto reduce = static_cast<ReduceOp>(op);
        if (!check_reducible(dtype, reduce)) continue;
        cases.emplace_back(reduce,
                           naive::reduced({dtype, reduce, 3.0, static_cast<std::int32_t>(hosts.size())}, inputs));
      }
      const auto said = run_on_hosts(hosts, small_blocks, [&](HostsTransport& transport, std::int32_t place) -> Status {
        Calls calls(transport, inputs, place);
        for (const auto& [op, reduced] : cases) {
          for (const std::int64_t count : {0, 7, 300, 2503}) HOCKET_CHECK(calls.reducing(op, reduced, count));
        }
        return {};
      });
      EXPECT_THAT(said, Each(IsEmpty())) << testing::PrintToString(hosts) << short_name(dtype);
    }
  }
}

TEST(HostsTransport, different_calls_are_named_on_all_ranks_before_a_buffer_is_written) {
  const auto said = run_on_hosts({0, 0, 1, 1}, {}, [](HostsTransport& transport, std::int32_t place) -> Status {
    std::vector<float> data(9000, 1.0F);
    GroupCall call;
    call.op = Operator::all_reduce;
    call.dtype = Dtype::f32;
    call.count = call.first.count = place == 3 ? 9000 : 8000;
    call.first.input = call.first.output = data.data();
    call.number = 1;
    call.timeout = std::chrono::seconds(5);
    Status status = transport.run(call);
    for (const float value : data) {
      if (value != 1.0F) return fail(ErrorKind::internal, "written");
    }
    return status;
  });
  EXPECT_THAT(said, Each(HasSubstr("rank 100 called all_reduce(f32[8000], sum) as call 1")));
  EXPECT_THAT(said, Each(HasSubstr("but rank 103 called all_reduce(f32[9000], sum)")));
}

TEST(HostsTransport, splits_that_do_not_fit_are_named_on_all_ranks) {
  const auto said = run_on_hosts({0, 1, 1}, {}, [](HostsTransport& transport, std::int32_t place) -> Status {
    std::vector<float> input(30);
    std::vector<float> output(30);
    GroupCall call;
    call.op = Operator::all_to_all;
    call.dtype = Dtype::f32;
    call.input_splits = {3, 3, 3};
    call.output_splits = {3, 3, 3};
    if (place == 2) call.output_splits[0] = 4;
    call.first = {input.data(), output.data(), 0};
    call.number = 1;
    call.timeout = std::chrono::seconds(5);
    return transport.run(call);
  });
  EXPECT_THAT(said, Each(HasSubstr("rank 100 sends 3 elements to rank 102, which expects 4")));
}

TEST(HostsTransport, unequal_splits_and_parts_arrive) {
  for (const Hosts& hosts : layouts) {
    const auto ranks = static_cast<std::int32_t>(hosts.size());
    const naive::Inputs inputs = inputs_of(Dtype::i32, hosts.size());
    std::vector<std::vector<std::int64_t>> splits(hosts.size());
    for (std::int32_t from = 0; from < ranks; ++from) {
      for (std::int32_t to = 0; to < ranks; ++to) {
        splits[static_cast<std::size_t>(from)].push_back(from == 0 ? 0 : (from * 31 + to * 17) % 11 * 400);
      }
    }
    const auto said = run_on_hosts(hosts, small_blocks, [&](HostsTransport& transport, std::int32_t place) -> Status {
      Calls calls(transport, inputs, place);
      GroupCall call = calls.call(Operator::all_to_all, 0);
      std::int64_t total = 0;
      for (std::size_t other = 0; other < hosts.size(); ++other) {
        call.input_splits.push_back(splits[static_cast<std::size_t>(place)][other]);
        call.output_splits.push_back(splits[other][static_cast<std::size_t>(place)]);
        total += call.input_splits.back();
      }
      return calls.expect(call, calls.mine().part(0, total), naive::all_to_all(inputs, splits, place));
    });
    EXPECT_THAT(said, Each(IsEmpty())) << testing::PrintToString(hosts);
  }
}

TEST(HostsTransport, coalesced_parts_in_place_are_one_call) {
  for (const Hosts& hosts : layouts) {
    const naive::Inputs inputs = inputs_of(Dtype::bf16, hosts.size());
    const auto ranks = static_cast<std::int32_t>(hosts.size());
    const Input sum = naive::reduced({Dtype::bf16, ReduceOp::avg, 1.0, ranks}, inputs);
    const auto said = run_on_hosts(hosts, small_blocks, [&](HostsTransport& transport, std::int32_t place) -> Status {
      std::vector<Buffer> buffers;
      GroupCall call;
      call.op = Operator::all_reduce;
      call.dtype = Dtype::bf16;
      call.reduce = ReduceOp::avg;
      call.number = 1;
      for (const std::int64_t count : {0, 3, 5000, 1, 0, 2500}) {
        buffers.push_back(inputs[static_cast<std::size_t>(place)].part(0, count));
        call.many.push_back({nullptr, nullptr, count});
        call.count += count;
      }
      for (std::size_t i = 0; i < buffers.size(); ++i) call.many[i].input = call.many[i].output = buffers[i].data();
      HOCKET_CHECK(transport.run(call));
      for (std::size_t i = 0; i < buffers.size(); ++i) {
        if (buffers[i] != naive::all_reduce(sum, call.many[i].count)) return fail(ErrorKind::internal, "part {}", i);
      }
      return {};
    });
    EXPECT_THAT(said, Each(IsEmpty())) << testing::PrintToString(hosts);
  }
}

TEST(HostsTransport, a_host_that_does_not_come_is_named_at_the_timeout) {
  const auto said = run_on_hosts({0, 1}, {}, [](HostsTransport& transport, std::int32_t place) -> Status {
    if (place == 1) return {};
    GroupCall call;
    call.number = 1;
    call.timeout = std::chrono::milliseconds(50);
    return transport.run(call);
  });
  EXPECT_THAT(said[0], HasSubstr("rank 101 did not come to barrier() as call 1"));
}

}  // namespace
}  // namespace hocket
