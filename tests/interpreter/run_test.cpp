// How graphs and programs run: memory, waits, and what the interpreter objects to, in words.
#include <chrono>

#include "hocket/ir/file.h"
#include "run_text.h"
#include "support/same_values.h"

namespace hocket::interpreter {

// ---- views and mutation

TEST(Runs, a_write_shows_through_all_views) {
  const std::string text = R"(graph @g(%x: f32[2,3]) {
    %t = aten.permute(%x, [1, 0])
    %row = aten.select.int(%x, 0, 1)
    %part = aten.slice.Tensor(%row, 0, 1, 3)
    %w = aten.mul_.Tensor(%part, 10)
    %f = aten.view(%x, [6])
    return %t, %f
  })";
  EXPECT_EQ(words_of(text, 0, 0), (Words{1, 4, 2, 50, 3, 60}));
  EXPECT_EQ(words_of(text, 0, 1), (Words{1, 2, 3, 4, 50, 60}));
}

TEST(Runs, copy_into_a_transposed_view) {
  EXPECT_EQ(words_of(R"(graph @g(%x: f32[2,3], %y: f32[3,2]) {
    %t = aten.permute(%x, [1, 0])
    %w = aten.copy_(%t, %y)
    return %x
  })"),
            (Words{1001, 1003, 1005, 1002, 1004, 1006}));
}

TEST(Runs, a_repeated_view_reads_one_element_many_times) {
  EXPECT_EQ(words_of(R"(graph @g(%x: f32[2,1]) {
    %e = aten.expand(%x, [2, 3])
    %c = aten.clone(%e)
    return %c
  })"),
            (Words{1, 1, 1, 2, 2, 2}));
}

TEST(Runs, elements_seen_as_another_dtype_come_back) {
  EXPECT_EQ(words_of(R"(graph @g(%x: f32[4]) {
    %b = aten.view.dtype(%x, u8)
    %c = aten.clone(%b)
    %d = aten.view.dtype(%c, f32)
    %n = aten.neg(%d)
    return %n
  })"),
            (Words{minus(1), minus(2), minus(3), minus(4)}));
}

TEST(Runs, inputs_are_returned_as_they_end) {
  const auto result = run_text("graph @g(%x: f32[2], %y: f32[1]) {\n  %w = aten.mul_.Tensor(%x, 2)\n  return %y\n}\n");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->ranks[0].inputs[0].words, (Words{2, 4}));
  EXPECT_TRUE(result->ranks[0].inputs[0].changed);
  EXPECT_FALSE(result->ranks[0].inputs[1].changed);
}

// ---- what it objects to

TEST(Runs, object_to_a_read_before_the_wait) {
  EXPECT_EQ(error_of(R"(graph @g(%x: f32[2]) {
    group @dp = ranks[0,1]
    %c = _c10d_functional.all_reduce(%x, "sum", @dp)
    %early = aten.neg(%c)
    %w = _c10d_functional.wait_tensor(%c)
    return %early
  })"),
            "node early: reads c before c is waited for");
}

TEST(Runs, object_to_a_result_that_is_not_waited_for) {
  EXPECT_EQ(error_of(R"(graph @g(%x: f32[2]) {
    group @dp = ranks[0,1]
    %c = _c10d_functional.all_reduce_(%x, "sum", @dp)
    return %c
  })"),
            "node output: a result holds the result of c, which is not waited for");
}

TEST(Runs, object_to_writes_of_what_is_in_flight) {
  const std::string begin = "graph @g(%x: f32[2]) {\n  group @dp = ranks[0,1]\n";
  EXPECT_EQ(error_of(begin + R"(
    %c = _c10d_functional.all_reduce(%x, "sum", @dp)
    %n = aten.neg_(%x)
    %w = _c10d_functional.wait_tensor(%c)
    return %w
  })"),
            "node w: waits for c, but what that reads or writes was written while it was in flight");
  EXPECT_EQ(error_of(begin + R"(
    %c = _c10d_functional.all_reduce(%x, "sum", @dp)
    %z = aten.zero_(%c)
    %w = _c10d_functional.wait_tensor(%c)
    return %w
  })"),
            "node z: writes c, which c is still writing: wait for that first");
}

TEST(Runs, object_to_memory_that_nothing_has_written) {
  EXPECT_EQ(error_of("graph @g() {\n  %e = aten.empty.memory_format([2])\n  %n = aten.neg(%e)\n  return %n\n}\n"),
            "node n: reads e, where nothing has been written");
}

TEST(Runs, unwritten_memory_may_be_moved) {
  const auto result = run_text(R"(graph @g(%x: f32[1]) {
    %e = aten.empty.memory_format([1])
    %c = aten.cat([%x, %e])
    return %c
  })");
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(result->ranks[0].results[0].words, (Words{1, unwritten}));
}

TEST(Runs, object_to_an_input_in_flight) {
  EXPECT_EQ(
      error_of(
          "graph @g(%x: f32[2]) {\n  %n = aten.neg(%x)\n  %w = _c10d_functional.wait_tensor(%x)\n  return %n\n}\n"),
      "node n: reads x before the communication that input x comes from is waited for");
  EXPECT_EQ(
      words_of(
          "graph @g(%x: f32[2]) {\n  %w = _c10d_functional.wait_tensor(%x)\n  %n = aten.neg(%w)\n  return %w\n}\n"),
      (Words{1, 2}));
}

TEST(Runs, without_objections_values_get_wrong) {
  const std::string text = R"(graph @g(%x: f32[2]) {
    group @dp = ranks[0,1]
    %c = _c10d_functional.all_reduce(%x, "sum", @dp)
    %early = aten.mul.Tensor(%c, 1)
    %w = _c10d_functional.wait_tensor(%c)
    return %early, %w
  })";
  const auto result = run_text(text, false);
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_NE(result->ranks[0].results[0].words, (Words{102, 104}));
  EXPECT_EQ(result->ranks[0].results[1].words, (Words{102, 104}));
}

// ---- FSDP's storages that come and go

TEST(Runs, freed_memory_holds_nothing) {
  const std::string begin = R"(graph @g(%x: f32[2], %y: f32[2]) {
    %r = inductor.resize_storage_bytes_(%x, 8) : ()
    %c = aten.copy_(%x, %y)
    %n = aten.neg(%x)
    %f = inductor.resize_storage_bytes_(%x, 0) : ()
)";
  EXPECT_EQ(words_of(begin + "return %n\n}\n"), (Words{minus(1001), minus(1002)}));
  EXPECT_EQ(error_of(begin + "%m = aten.neg(%x)\nreturn %m\n}\n"), "node m: reads x, where nothing has been written");
  const auto direct = parse_graph("graph @g(%y: f32[2]) {\n  %n = aten.neg(%y)\n  return %n\n}\n", "direct.hk");
  expect_same_values(*parse_graph(begin + "return %n\n}\n", "freed.hk"), *direct);
}

TEST(Runs, an_input_that_is_written_must_not_disappear) {
  const auto before = parse_graph("graph @g(%x: f32[2], %y: f32[2]) {\n  %w = aten.neg_(%x)\n  return %y\n}\n", "a.hk");
  const auto after = parse_graph("graph @g(%y: f32[2]) {\n  return %y\n}\n", "b.hk");
  const auto answer = same_values(*before, *after, 3);
  EXPECT_FALSE(answer);
  EXPECT_STREQ(answer.message(),
               "@g, values of seed 3: rank 0: input x is written before, and is not there after\n"
               "nodes that wrote other values: ");
}

// ---- programs

TEST(Runs, programs_keep_buffers_in_arenas) {
  const std::string text = R"(program @p {
    group @dp = ranks[0,1]
    buffer %x = input bytes 8
    buffer %a = arena bytes 8 at 0
    buffer %b = arena bytes 8 at 8
    buffer %c = arena bytes 16 at 0
    buffer %s = symmetric @dp bytes 8 at 0
    step "copy" = aten.clone(%x f32[2]) writes (%s f32[2])
    step "sum" = _c10d_functional.all_reduce_(%s f32[2], "sum", @dp) writes (%s f32[2])
    step "neg" = aten.neg(%x f32[2]) writes (%a f32[2])
    step "twice" = aten.mul.Tensor(%a f32[2], 2) writes (%b f32[2])
    step "wait" = _c10d_functional.wait_tensor(%s f32[2]) writes () {waits_for="sum"}
    step "add" = aten.add_.Tensor(%x f32[2], %b f32[2]) writes (%x f32[2])
    step "cat" = aten.cat([%s f32[2], %x f32[2]]) writes (%c f32[4])
    return (%c f32[4])
  })";
  EXPECT_EQ(words_of(text, 1), (Words{102, 104, minus(101), minus(102)}));
}

TEST(Runs, a_live_buffer_that_is_reused_is_destroyed) {
  const auto text = [](std::string_view place) {
    return fmt::format(R"(program @p {{
      buffer %x = input bytes 8
      buffer %a = arena bytes 8 at 0
      buffer %b = arena bytes 8 at {}
      step "neg" = aten.neg(%x f32[2]) writes (%a f32[2])
      step "twice" = aten.mul.Tensor(%x f32[2], 2) writes (%b f32[2])
      return (%a f32[2], %b f32[2])
    }})",
                       place);
  };
  const auto apart = parse_program(text("8"), "apart.hk");
  for (const std::string_view place : {"0", "4"})
    EXPECT_FALSE(same_values(*apart, *parse_program(text(place), "together.hk"))) << place;
}

// A kernel may write before it has read all.
TEST(Runs, object_to_a_result_that_lies_on_an_argument) {
  EXPECT_EQ(error_of(R"(program @p {
    buffer %x = input bytes 8
    buffer %a = arena bytes 8 at 0
    buffer %b = arena bytes 8 at 4
    step "neg" = aten.neg(%x f32[2]) writes (%a f32[2])
    step "twice" = aten.mul.Tensor(%a f32[2], 2) writes (%b f32[2])
    return (%b f32[2])
  })"),
            "step twice: reads the arena arena, where nothing has been written");
}

TEST(Runs, a_step_that_writes_a_view_elsewhere_copies_it) {
  EXPECT_EQ(words_of(R"(program @p {
    buffer %x = input bytes 24
    buffer %a = arena bytes 16
    buffer %b = arena bytes 24
    step "slice" = aten.slice.Tensor(%x f32[2,3], 1, 1, 3) writes (%a f32[2,2])
    step "turn" = aten.permute(%x f32[2,3], [1, 0]) writes (%b f32[3,2])
    return (%a f32[2,2])
  })"),
            (Words{2, 3, 5, 6}));
}

TEST(Runs, a_graph_and_its_steps_compute_the_same) {
  const auto graph = parse_graph(R"(graph @step(%x: f32[4,2], %w: f32[2,2]) {
    world 4 rank 0
    group @dp = ranks[0,2]
    %h = aten.mm(%x, %w)
    %r = aten.relu(%h)
    %c = _c10d_functional.reduce_scatter_tensor(%r, "avg", 2, @dp)
    %d = _c10d_functional.wait_tensor(%c)
    %s = aten.softmax.int(%d, 1)
    return %s
  })",
                                 "graph.hk");
  const auto program = [](std::string_view operation) {
    return *parse_program(fmt::format(R"(program @step {{
    group @dp = ranks[0,2]
    buffer %x = input bytes 32
    buffer %w = input bytes 16
    buffer %h = symmetric @dp bytes 32 at 0
    buffer %c = arena bytes 16 at 0
    buffer %s = arena bytes 16 at 16
    step "h" = aten.mm(%x f32[4,2], %w f32[2,2]) writes (%h f32[4,2])
    step "r" = aten.relu_(%h f32[4,2]) writes (%h f32[4,2])
    step "c" = _c10d_functional.reduce_scatter_tensor(%h f32[4,2], "{}", 2, @dp) writes (%c f32[2,2])
    step "d" = _c10d_functional.wait_tensor(%c f32[2,2]) writes () {{waits_for="c"}}
    step "s" = aten.softmax.int(%c f32[2,2], 1) writes (%s f32[2,2])
    return (%s f32[2,2])
  }})",
                                      operation),
                          "program.hk");
  };
  ASSERT_TRUE(graph) << graph.error().to_string();
  expect_same_values(*graph, program("avg"));
  EXPECT_FALSE(same_values(*graph, program("sum")));
}

// ---- limits

TEST(Runs, refuse_what_is_too_large_at_once) {
  const auto graph = read_graph(HOCKET_TEST_DATA "/fsdp_llama_1l_fwd.json.gz");
  ASSERT_TRUE(graph) << graph.error().to_string();
  const auto begin = std::chrono::steady_clock::now();
  const auto result = run(*graph);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::usage);
  EXPECT_NE(result.error().message.find("is too large to interpret: it needs at least"), std::string::npos)
      << result.error().message;
  EXPECT_LT(seconds.count(), 0.5);
}

TEST(Runs, refuse_symbolic_sizes) {
  EXPECT_EQ(error_of("graph @g(%x: f32[s0,2]) {\n  return %x\n}\n"),
            "a storage of symbolic size: the interpreter needs numbers");
}

}  // namespace hocket::interpreter
