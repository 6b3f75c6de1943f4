// On meta tensors, and in captures, collectives give what they give on real ones, but for the data.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "hocket/ir/text.h"
#include "hocket/ir/verify.h"
#include "hocket/torch/capture.h"
#include "hocket/torch/classic_collectives.h"
#include "hocket/torch/collectives.h"
#include "hocket/torch/point_to_point.h"
#include "hocket/torch/symmetric_tensor.h"
#include "support/torch_ranks.h"

namespace hocket {
namespace {

using testing::HasSubstr;

struct NamedCall {
  const char* name;
  std::function<Tensors(const at::Tensor&)> call;
};

at::Tensor like(const at::Tensor& x, at::IntArrayRef sizes) { return at::zeros(sizes, x.options()); }

// Every function on a tensor of sizes [4, 6] and two ranks.
const std::vector<NamedCall>& calls() {
  using Direction = PeerTransfer::Direction;
  static const std::vector<NamedCall> all = {
      {"all_reduce", [](const at::Tensor& x) -> Tensors { return {all_reduce(x, "sum")}; }},
      {"all_reduce of a column", [](const at::Tensor& x) -> Tensors { return {all_reduce(x.t()[1], "max")}; }},
      {"premul_sum", [](const at::Tensor& x) -> Tensors { return {all_reduce(x, premul_sum(0.5))}; }},
      {"all_reduce_", [](const at::Tensor& x) -> Tensors { return {all_reduce_(x.clone(), "sum")}; }},
      {"all_reduce_ by premul_sum",
       [](const at::Tensor& x) -> Tensors { return {all_reduce_(x.clone(), premul_sum(2))}; }},
      {"all_reduce_coalesced",
       [](const at::Tensor& x) {
         return wait_tensors(all_reduce_coalesced({x, x.t()}, "sum"));
       }},
      {"all_reduce_coalesced_",
       [](const at::Tensor& x) {
         return wait_tensors(all_reduce_coalesced_({x.clone(), x.clone()}, "sum"));
       }},
      {"all_gather_into_tensor", [](const at::Tensor& x) -> Tensors { return {all_gather_into_tensor(x.t())}; }},
      {"all_gather_into_tensor of a number",
       [](const at::Tensor& x) -> Tensors { return {all_gather_into_tensor(x[0][0])}; }},
      {"all_gather_tensor", [](const at::Tensor& x) -> Tensors { return {all_gather_tensor(x, -1)}; }},
      {"all_gather_into_tensor_out",
       [](const at::Tensor& x) -> Tensors {
         return {all_gather_into_tensor_out(x, like(x, {8, 6}))};
       }},
      {"all_gather_into_tensor_coalesced",
       [](const at::Tensor& x) {
         return wait_tensors(all_gather_into_tensor_coalesced({x, x[0]}));
       }},
      {"reduce_scatter_tensor", [](const at::Tensor& x) -> Tensors { return {reduce_scatter_tensor(x, "sum")}; }},
      {"reduce_scatter_tensor along dim 1",
       [](const at::Tensor& x) -> Tensors { return {reduce_scatter_tensor(x, "avg", 1, "world")}; }},
      {"reduce_scatter_tensor_out",
       [](const at::Tensor& x) -> Tensors {
         return {reduce_scatter_tensor_out(x, "sum", like(x, {2, 6}))};
       }},
      {"reduce_scatter_tensor_coalesced",
       [](const at::Tensor& x) {
         return wait_tensors(reduce_scatter_tensor_coalesced({x, x[0]}, "sum"));
       }},
      {"all_to_all_single", [](const at::Tensor& x) -> Tensors { return {all_to_all_single(x)}; }},
      {"all_to_all_single with splits",
       [](const at::Tensor& x) -> Tensors {
         const bool first = World::current().value().rank() == 0;
         return {all_to_all_single(x, first ? Splits{1, 2} : Splits{3, 2}, first ? Splits{1, 3} : Splits{2, 2})};
       }},
      {"broadcast", [](const at::Tensor& x) -> Tensors { return {broadcast(x, 1)}; }},
      {"broadcast_", [](const at::Tensor& x) -> Tensors { return {broadcast_(x.clone(), 1)}; }},
      {"permute_tensor",
       [](const at::Tensor& x) -> Tensors {
         return {permute_tensor(x, {1, 0})};
       }},
      {"shard_dim_alltoall", [](const at::Tensor& x) -> Tensors { return {shard_dim_alltoall(x, 0, 1)}; }},
      {"isend and irecv",
       [](const at::Tensor& x) -> Tensors {
         const int other = 1 - World::current().value().rank();
         const AsyncTensor sent = isend(x, other);
         return {irecv(like(x, {4, 6}), other), sent};
       }},
      {"batch_p2p_ops",
       [](const at::Tensor& x) {
         const int other = 1 - World::current().value().rank();
         return wait_tensors(
             batch_p2p_ops({{Direction::send, x, other, 3}, {Direction::receive, like(x, {4, 6}), other, 3}}));
       }},
      {"all_gather_tensor_inplace",
       [](const at::Tensor& x) -> Tensors {
         return {all_gather_tensor_inplace(like(x, {4, 12}), x, 1)};
       }},
      {"one_shot_all_reduce", [](const at::Tensor& x) -> Tensors { return {one_shot_all_reduce(x, "sum")}; }},
      {"two_shot_all_reduce_", [](const at::Tensor& x) -> Tensors { return {two_shot_all_reduce_(x.clone(), "sum")}; }},
      {"one_shot_all_reduce_out",
       [](const at::Tensor& x) -> Tensors {
         return {one_shot_all_reduce_out(x, "sum", like(x, {4, 6}))};
       }},
      {"two_shot_all_reduce_out",
       [](const at::Tensor& x) -> Tensors {
         return {two_shot_all_reduce_out(x.clone(), "sum", like(x, {4, 6}))};
       }},
      {"one_shot_all_reduce_copy",
       [](const at::Tensor& x) -> Tensors { return {one_shot_all_reduce_copy(like(x, {24}), x, "sum")}; }},
      {"one_shot_all_reduce_copy_out",
       [](const at::Tensor& x) -> Tensors {
         return {one_shot_all_reduce_copy_out(like(x, {24}), x, "sum", like(x, {4, 6}))};
       }},
  };
  return all;
}

std::string types_of(const Tensors& tensors) {
  std::string text;
  for (const at::Tensor& tensor : tensors) {
    text += fmt::format("{}{}{} ", c10::toString(tensor.scalar_type()), c10::str(tensor.sizes()),
                        c10::str(tensor.strides()));
  }
  return text;
}

std::string problems_of(const Graph& graph) {
  std::string text;
  for (const Problem& problem : verify(graph)) text += problem.to_string() + "\n";
  return text;
}

TEST(MetaTensors, give_the_types_of_real_ones_without_communication) {
  on_ranks(2, [](int rank) {
    for (const NamedCall& named : calls()) {
      const Tensors real = named.call(at::ones({4, 6}, at::kDouble));
      // Only one rank calls: nobody waits for another.
      if (rank == 1) continue;
      const Tensors meta = named.call(at::ones({4, 6}, at::TensorOptions(at::kDouble).device(at::kMeta)));
      for (const at::Tensor& tensor : meta) EXPECT_TRUE(tensor.is_meta()) << named.name;
      EXPECT_EQ(types_of(meta), types_of(real)) << named.name;
    }
  });
}

TEST(MetaTensors, have_gradients_too) {
  on_ranks(2, [](int) {
    const at::Tensor x = at::ones({4, 6}, at::kMeta).requires_grad_();
    EXPECT_EQ(torch::autograd::grad({all_gather_tensor(x, 1).wait().sum()}, {x})[0].sizes(), x.sizes());
  });
}

// Real ranks call, so that captures know which rank they are.
TEST(CapturedCollectives, have_the_types_of_those_that_run_and_make_a_sound_graph) {
  on_ranks(2, [](int) {
    for (const NamedCall& named : calls()) {
      const Tensors real = named.call(at::ones({4, 6}, at::kDouble));
      for (const at::Device device : {at::kMeta, at::kCPU}) {
        std::string types;
        const auto step = [&](const Tensors& in) {
          const Tensors results = named.call(in[0]);
          types = types_of(results);
          return results;
        };
        const auto captured = capture(step, {at::ones({4, 6}, at::TensorOptions(at::kDouble).device(device))});
        ASSERT_TRUE(captured) << named.name << ": " << captured.error().to_string();
        EXPECT_EQ(types, types_of(real)) << named.name;
        const std::string text = print(captured->graph);
        EXPECT_EQ(problems_of(captured->graph), "") << named.name << "\n" << text;
        EXPECT_THAT(text,
                    testing::AnyOf(HasSubstr("_c10d_functional."), HasSubstr("symm_mem."), HasSubstr("_dtensor.")))
            << named.name;
      }
    }
  });
}

TEST(CapturedCollectives, are_the_operators_of_pytorch_with_a_wait_for_each_result) {
  const auto step = [](const Tensors& in) -> Tensors {
    const AsyncTensors both = all_gather_into_tensor_coalesced({in[0], in[1]}, "tp");
    return {both[0], both[1], reduce_scatter_tensor(in[0], "sum", 1, "tp"), all_to_all_single(in[0], "tp")};
  };
  const auto captured = capture(step, {at::ones({2, 4}, at::kMeta), at::ones({3}, at::kMeta)},
                                {.input_names = {"x", "y"}, .groups = {{"tp", {2, 3}}}});
  ASSERT_TRUE(captured) << captured.error().to_string();
  EXPECT_EQ(print(captured->graph), print(*parse_graph(R"(
    graph @step(%x: f32[2,4], %y: f32[3]) {
      group @tp = ranks[2,3]
      %all_gather_into_tensor_coalesced = _c10d_functional.all_gather_into_tensor_coalesced([%x, %y], 2, @tp) : (f32[4,4], f32[6])
      %getitem = getitem(%all_gather_into_tensor_coalesced, 0) : f32[4,4]
      %wait_tensor = _c10d_functional.wait_tensor(%getitem) : f32[4,4]
      %getitem_1 = getitem(%all_gather_into_tensor_coalesced, 1) : f32[6]
      %wait_tensor_1 = _c10d_functional.wait_tensor(%getitem_1) : f32[6]
      %split = aten.split.Tensor(%x, 2, 1) : (f32[2,2] strides[4,1], f32[2,2] strides[4,1] offset 2)
      %getitem_2 = getitem(%split, 0) : f32[2,2] strides[4,1]
      %getitem_3 = getitem(%split, 1) : f32[2,2] strides[4,1] offset 2
      %cat = aten.cat([%getitem_2, %getitem_3]) : f32[4,2]
      %reduce_scatter_tensor = _c10d_functional.reduce_scatter_tensor(%cat, "sum", 2, @tp) : f32[2,2]
      %wait_tensor_2 = _c10d_functional.wait_tensor(%reduce_scatter_tensor) : f32[2,2]
      %all_to_all_single = _c10d_functional.all_to_all_single(%x, [1, 1], [1, 1], @tp) : f32[2,4]
      %wait_tensor_3 = _c10d_functional.wait_tensor(%all_to_all_single) : f32[2,4]
      return %wait_tensor, %wait_tensor_1, %wait_tensor_2, %wait_tensor_3
    })",
                                                       "expected")));
}

TEST(CapturedCollectives, communicate_in_the_backward_too) {
  const auto step = [](const Tensors& in) -> Tensors {
    const at::Tensor weight = in[1].detach().requires_grad_();
    const at::Tensor loss = at::mm(in[0], all_gather_into_tensor(weight, {0, 1})).sum();
    return torch::autograd::grad({loss}, {weight});
  };
  const auto captured = capture(step, {at::ones({3, 4}, at::kMeta), at::ones({2, 5}, at::kMeta)});
  ASSERT_TRUE(captured) << captured.error().to_string();
  const std::string text = print(captured->graph);
  EXPECT_THAT(text, HasSubstr("_c10d_functional.all_gather_into_tensor(%input_1"));
  EXPECT_THAT(text, HasSubstr("_c10d_functional.reduce_scatter_tensor(%mm"));
  EXPECT_THAT(text, HasSubstr("@\"ranks:0-1\" = ranks[0,1]"));
  EXPECT_EQ(problems_of(captured->graph), "") << text;
}

TEST(CapturedCollectives, take_meshes_and_rows_of_the_rank_that_the_options_name) {
  const auto step = [](const Tensors& in) -> Tensors {
    return {all_reduce(in[0], "sum", Rows{{0, 1}, {2, 3}}), permute_tensor(in[0], {1, 0}, {2, 3})};
  };
  const auto captured = capture(step, {at::ones({2}, at::kMeta)}, {.world_size = 4, .rank = 3});
  ASSERT_TRUE(captured) << captured.error().to_string();
  EXPECT_THAT(print(captured->graph), HasSubstr("ranks[2,3]"));
  EXPECT_THAT(print(captured->graph), HasSubstr("[2, 0], [2, 0]"));
}

TEST(CapturedCollectives, leave_results_that_were_started_outside_alone) {
  on_ranks(2, [](int) {
    const AsyncTensor outside = all_gather_tensor(at::ones({2, 2}), 1);
    const auto captured =
        capture([&](const Tensors& in) -> Tensors { return {at::add(in[0], outside)}; }, {at::ones({2, 4})});
    ASSERT_TRUE(captured) << captured.error().to_string();
    EXPECT_THAT(print(captured->graph), testing::Not(HasSubstr("cat")));
    ASSERT_EQ(captured->attributes.size(), 1U);
    EXPECT_TRUE(captured->attributes[0].second.equal(at::ones({2, 4})));
  });
}

}  // namespace
}  // namespace hocket
