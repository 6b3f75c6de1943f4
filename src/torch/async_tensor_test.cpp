// SPEC 1.2: what waits, what doesn't, what is kept, and how failures show.
#include "hocket/torch/async_tensor.h"

#include <ATen/ATen.h>
#include <ATen/DLConvertor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <sstream>

#include "hocket/torch/collectives.h"
#include "support/torch_ranks.h"

namespace hocket {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

// A collective of two ranks whose second rank comes when it is told to, so that the first one's is surely on its way.
class Delayed {
 public:
  // `first` runs on rank 0 and may call let_go(); `second` on rank 1 after that.
  void run(const std::function<void()>& first, const std::function<void()>& second) {
    on_ranks(2, [&](int rank) {
      all_reduce(at::ones({1}), "sum").wait();  // the first call of a group brings its ranks together
      if (rank == 0) {
        const std::shared_ptr<void> at_the_end(nullptr, [&](void*) { let_go(); });
        first();
      } else {
        go_.wait(false);
        second();
      }
    });
  }
  void let_go() {
    go_ = true;
    go_.notify_all();
  }

 private:
  std::atomic<bool> go_ = false;
};

void sum_of_ones() { all_reduce(at::ones({4, 6}), "sum").wait(); }

TEST(AsyncTensor, is_there_at_once_and_the_data_when_somebody_reads_it) {
  Delayed delayed;
  delayed.run(
      [&] {
        const AsyncTensor sum = all_reduce(at::ones({4, 6}), "sum");
        EXPECT_FALSE(sum.done());
        EXPECT_EQ(sum.sizes(), at::IntArrayRef({4, 6}));
        EXPECT_EQ(sum.dim(), 2);
        EXPECT_EQ(sum.size(-1), 6);
        EXPECT_EQ(sum.numel(), 24);
        EXPECT_EQ(sum.strides(), at::IntArrayRef({6, 1}));
        EXPECT_EQ(sum.scalar_type(), at::kFloat);
        EXPECT_TRUE(sum.device().is_cpu());
        EXPECT_TRUE(sum.is_contiguous());
        EXPECT_FALSE(sum.requires_grad());
        EXPECT_FALSE(sum.done()) << "to ask for sizes is not to read";
        delayed.let_go();
        const at::Tensor plain = sum;
        EXPECT_TRUE(sum.done());
        EXPECT_TRUE(plain.equal(at::full({4, 6}, 2.0F)));
        EXPECT_EQ(sum.data_ptr<float>(), plain.data_ptr<float>());
      },
      sum_of_ones);
}

TEST(AsyncTensor, views_dont_wait_and_are_of_the_same_communication) {
  Delayed delayed;
  delayed.run(
      [&] {
        const at::Tensor input = at::arange(24, at::kFloat).view({4, 6});
        const AsyncTensor sum = all_reduce(input, "sum");
        AsyncTensors views = {sum.view({2, 12}),
                              sum.reshape({-1}),
                              sum.transpose(0, 1),
                              sum.t(),
                              sum.permute({1, 0}),
                              sum.narrow(0, 1, 2),
                              sum.slice(1, 0, 6, 2),
                              sum.select(0, 3),
                              sum[2],
                              sum.flatten(),
                              sum.unflatten(1, {2, 3}),
                              sum.unsqueeze(0),
                              sum.unsqueeze(0).squeeze(),
                              sum.unsqueeze(1).squeeze(1),
                              sum.unsqueeze(0).expand({3, 4, 6}),
                              sum.detach(),
                              sum.alias(),
                              sum.view_as(at::empty({3, 8})),
                              sum.movedim(0, 1),
                              sum.as_strided({2, 2}, {1, 6}, 1)};
        for (const AsyncTensors& parts : {sum.split(3), sum.chunk(2, 1), sum.split_with_sizes({1, 3}), sum.unbind(1)}) {
          views.insert(views.end(), parts.begin(), parts.end());
        }
        for (const AsyncTensor& view : views) {
          EXPECT_EQ(view.communication(), sum.communication());
          EXPECT_FALSE(view.done());
        }
        delayed.let_go();
        const at::Tensor expected = (input + 1).contiguous();
        EXPECT_TRUE(views[2]->equal(expected.t()));
        EXPECT_TRUE(sum.done()) << "who waits for a view waits for the whole";
        EXPECT_TRUE(views[5]->equal(expected.narrow(0, 1, 2)));
        EXPECT_TRUE(views[6]->equal(expected.slice(1, 0, 6, 2)));
        EXPECT_TRUE(views[10]->equal(expected.view({4, 2, 3})));
        EXPECT_TRUE(views[14]->equal(expected.expand({3, 4, 6})));
        EXPECT_TRUE(views[20]->equal(expected.narrow(0, 0, 3)));
        EXPECT_TRUE(views.back()->equal(expected.select(1, 5)));
      },
      sum_of_ones);
}

TEST(AsyncTensor, reshape_waits_only_where_it_must_copy) {
  Delayed delayed;
  delayed.run(
      [&] {
        const AsyncTensor sum = all_reduce(at::ones({4, 6}), "sum");
        EXPECT_FALSE(sum.reshape({6, 4}).done());
        delayed.let_go();
        const AsyncTensor copied = sum.t().reshape({24});
        EXPECT_TRUE(copied.done());
        EXPECT_EQ(copied.communication(), nullptr);
        EXPECT_TRUE(copied->equal(at::full({24}, 2.0F)));
      },
      sum_of_ones);
}

TEST(AsyncTensor, waits_when_it_is_printed_converted_or_computed_with) {
  on_ranks(2, [](int) {
    const auto one = [] { return all_reduce(at::ones({}), "sum"); };
    std::ostringstream printed;
    printed << one();
    EXPECT_THAT(printed.str(), HasSubstr("2"));
    EXPECT_EQ(one().item().toDouble(), 2.0);
    EXPECT_EQ(one().item<int>(), 2);
    DLManagedTensor* const elsewhere = one().to_dlpack();
    EXPECT_EQ(at::fromDLPack(elsewhere).item<float>(), 2.0F);
    EXPECT_EQ((one() + 1).item<float>(), 3.0F);
    EXPECT_EQ((one() * one()).item<float>(), 4.0F);
    EXPECT_EQ((one() - at::ones({})).item<float>(), 1.0F);
    EXPECT_EQ((at::ones({}) / one()).item<float>(), 0.5F);
    EXPECT_EQ(at::mul(one(), 3).item<float>(), 6.0F);
    EXPECT_EQ(one()->neg().item<float>(), -2.0F);
    at::Tensor assigned;
    assigned = one();
    EXPECT_EQ(at::Tensor(one()).item<float>(), assigned.item<float>());
  });
}

TEST(AsyncTensor, of_a_coalesced_collective_waits_for_all_of_it) {
  Delayed delayed;
  delayed.run(
      [&] {
        const AsyncTensors sums = all_reduce_coalesced({at::ones({3}), at::ones({2}, at::kLong)}, "sum");
        EXPECT_FALSE(sums[0].done());
        EXPECT_FALSE(sums[1].done());
        delayed.let_go();
        EXPECT_TRUE(sums[1]->equal(at::full({2}, 2)));
        EXPECT_TRUE(sums[0].done());
        EXPECT_TRUE(sums[0].unwaited().equal(at::full({3}, 2.0F)));
      },
      [] {
        wait_tensors(all_reduce_coalesced({at::ones({3}), at::ones({2}, at::kLong)}, "sum"));
      });
}

TEST(AsyncTensor, keeps_its_input_until_the_communication_is_complete_and_no_longer) {
  Delayed delayed;
  delayed.run(
      [&] {
        at::Tensor input = at::full({4, 6}, 3.0F);
        const auto memory = input.storage().getWeakStorageImpl();
        const AsyncTensor sum = all_reduce(input, "sum");
        input.reset();
        EXPECT_FALSE(memory.expired());
        delayed.let_go();
        EXPECT_TRUE(sum->equal(at::full({4, 6}, 4.0F)));
        EXPECT_TRUE(memory.expired());
      },
      sum_of_ones);
}

TEST(AsyncTensor, dropped_without_a_wait_is_completed_freed_and_counted) {
  const std::int64_t before = never_waited_results();
  Delayed delayed;
  std::optional<c10::weak_intrusive_ptr<c10::StorageImpl>> result;
  delayed.run(
      [&] {
        {
          const AsyncTensor sum = all_reduce(at::ones({4, 6}), "sum");
          result = sum.unwaited().storage().getWeakStorageImpl();
        }
        EXPECT_FALSE(result->expired()) << "somebody will write to it";
        delayed.let_go();
        sum_of_ones();
        EXPECT_TRUE(result->expired());
      },
      [] {
        sum_of_ones();
        sum_of_ones();
      });
  EXPECT_EQ(never_waited_results(), before + 1);
}

TEST(AsyncTensor, may_be_waited_for_by_several_threads) {
  on_ranks(2, [](int) {
    for (int round = 0; round < 20; ++round) {
      const AsyncTensor gathered = all_gather_tensor(at::full({50, 2}, 1.0F), 1);
      std::vector<std::thread> readers;
      for (int reader = 0; reader < 4; ++reader) {
        readers.emplace_back([gathered] { EXPECT_EQ(gathered->sum().item<float>(), 200.0F); });
      }
      for (std::thread& reader : readers) reader.join();
    }
  });
}

TEST(AsyncTensor, of_a_failed_communication_throws_at_the_wait_and_at_every_later_use) {
  on_ranks(2, [](int rank) {
    const AsyncTensor sum = all_reduce(at::ones({rank == 0 ? 4 : 5}), "sum");
    const AsyncTensor view = sum.view({-1});
    for (int use = 0; use < 2; ++use) {
      const std::string said = thrown_by([&] { sum.wait(); });
      EXPECT_THAT(said, HasSubstr(fmt::format("all_reduce of rank {} in group world: ", rank)));
      EXPECT_THAT(said, HasSubstr("all_reduce(f32[4], sum) as call 1 at async_tensor_test.cpp:"));
      EXPECT_THAT(said, HasSubstr("all_reduce(f32[5], sum) as call 1 at async_tensor_test.cpp:"));
      EXPECT_EQ(thrown_by([&] { std::ostringstream() << view; }), said);
    }
    EXPECT_THROW(sum.item(), CollectiveError);
    EXPECT_THAT(thrown_by([] { all_reduce(at::ones({2}), "sum").wait(); }), HasSubstr("failed before"));
  });
}

TEST(AsyncTensor, throws_where_a_rank_has_died_and_names_it) {
  const auto outcomes = on_processes(2, [](World& world) -> std::string {
    all_reduce(at::ones({2}), "sum").wait();
    if (world.rank() == 1) std::abort();
    return thrown_by([] { all_reduce(at::ones({2}), "sum").wait(); });
  });
  EXPECT_THAT(outcomes[0].said, HasSubstr("all_reduce of rank 0 in group world: "));
  EXPECT_THAT(outcomes[0].said, HasSubstr("rank 1"));
  EXPECT_THAT(outcomes[0].said, HasSubstr("as call 2"));
}

TEST(InflightInputs, are_allowed_in_a_scope) {
  EXPECT_FALSE(AllowInflightInputs::allowed());
  {
    const AllowInflightInputs scope;
    EXPECT_TRUE(AllowInflightInputs::allowed());
    std::thread([] { EXPECT_FALSE(AllowInflightInputs::allowed()); }).join();
    { const AllowInflightInputs inner; }
    EXPECT_TRUE(AllowInflightInputs::allowed());
  }
  EXPECT_FALSE(AllowInflightInputs::allowed());
}

}  // namespace
}  // namespace hocket
