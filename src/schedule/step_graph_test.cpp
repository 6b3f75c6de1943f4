// What may change places: nothing across an operator whose effects nobody knows.
#include "hocket/schedule/step_graph.h"

#include <gtest/gtest.h>

#include "hocket/ir/text.h"

namespace hocket {
namespace {

bool comes_before(const StepGraph& steps, StepIndex earlier, StepIndex step) {
  for (const StepIndex direct : steps.before(step)) {
    if (direct == earlier || comes_before(steps, earlier, direct)) return true;
  }
  return false;
}

StepIndex named(const StepGraph& steps, std::string_view name) {
  for (StepIndex step = 0; step < steps.size(); ++step) {
    if (steps.name(step) == name) return step;
  }
  ADD_FAILURE() << "no step " << name;
  return 0;
}

template <class Form>
void expect_barrier(const Form& form) {
  const std::vector<Nanoseconds> times(form.size());
  const auto steps = StepGraph::of(form, times);
  ASSERT_TRUE(steps) << steps.error().to_string();
  const StepIndex barrier = named(*steps, "thing");
  for (const std::string_view name : {"a", "b"})
    EXPECT_TRUE(comes_before(*steps, named(*steps, name), barrier)) << name;
  for (const std::string_view name : {"c", "d"})
    EXPECT_TRUE(comes_before(*steps, barrier, named(*steps, name))) << name;
  EXPECT_FALSE(comes_before(*steps, named(*steps, "a"), named(*steps, "b"))) << "they have nothing in common";
  EXPECT_FALSE(comes_before(*steps, named(*steps, "c"), named(*steps, "d")));
}

TEST(StepGraph, nothing_passes_an_unknown_operator) {
  const auto graph = parse_graph(R"(graph @g(%x: f32[4]) {
  %a = aten.relu(%x)
  %b = aten.neg(%x)
  %thing = mylib.thing() : f32[4]
  %c = aten.relu(%x)
  %d = aten.neg(%x)
  return %a, %b, %thing, %c, %d
})",
                                 "test");
  ASSERT_TRUE(graph) << graph.error().to_string();
  expect_barrier(*graph);
  const auto program = parse_program(R"(program @p {
  buffer %x = input bytes 16
  buffer %a = arena bytes 16
  buffer %b = arena bytes 16
  buffer %t = arena bytes 16
  buffer %c = arena bytes 16
  buffer %d = arena bytes 16
  step "a" = aten.relu(%x f32[4]) writes (%a f32[4])
  step "b" = aten.neg(%x f32[4]) writes (%b f32[4])
  step "thing" = mylib.thing() writes (%t f32[4])
  step "c" = aten.relu(%x f32[4]) writes (%c f32[4])
  step "d" = aten.neg(%x f32[4]) writes (%d f32[4])
  return (%a f32[4], %b f32[4], %t f32[4], %c f32[4], %d f32[4])
})",
                                     "test");
  ASSERT_TRUE(program) << program.error().to_string();
  expect_barrier(*program);
}

// A tensor without elements changes nothing, but it lies in its buffer: made after what is there, before what comes there.
TEST(StepGraph, empty_tensors_keep_their_place_among_the_others_of_their_buffer) {
  const auto program = parse_program(R"(program @p {
  buffer %x = input bytes 16
  buffer %e = arena bytes 16
  buffer %u = arena bytes 16
  step "first" = aten.relu(%x f32[4]) writes (%e f32[4])
  step "empty" = aten.relu(%x f32[0]) writes (%e f32[0])
  step "use" = aten.neg(%e f32[0]) writes (%u f32[0])
  step "last" = aten.neg(%x f32[4]) writes (%e f32[4])
  return (%e f32[4], %u f32[0])
})",
                                     "test");
  ASSERT_TRUE(program) << program.error().to_string();
  const auto steps = StepGraph::of(*program, std::vector<Nanoseconds>(program->size()));
  ASSERT_TRUE(steps) << steps.error().to_string();
  const auto in_order = [&](std::string_view earlier, std::string_view later) {
    return comes_before(*steps, named(*steps, earlier), named(*steps, later));
  };
  EXPECT_TRUE(in_order("first", "empty"));
  EXPECT_TRUE(in_order("empty", "use"));
  EXPECT_TRUE(in_order("empty", "last"));
}

TEST(StepGraph, keeps_orders_that_it_is_asked_for) {
  const Graph graph = *parse_graph(R"(graph @g(%x: f32[4]) {
  %a = aten.relu(%x)
  %b = aten.neg(%x)
  return %a, %b
})",
                                   "test");
  const std::vector<Nanoseconds> times(graph.size());
  const auto free_steps = StepGraph::of(graph, times);
  ASSERT_TRUE(free_steps);
  const StepIndex a = named(*free_steps, "a"), b = named(*free_steps, "b");
  EXPECT_FALSE(free_steps->depends(b, a));
  const auto steps = StepGraph::of(graph, times, {.keep_collective_order = false, .orders = {{a, b}}});
  ASSERT_TRUE(steps);
  EXPECT_TRUE(steps->depends(b, a));
}

}  // namespace
}  // namespace hocket
