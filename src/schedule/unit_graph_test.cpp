// Which steps move as one, and that their units say the same as the steps themselves.
#include "schedule/unit_graph.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "hocket/ir/text.h"
#include "hocket/schedule/timeline.h"
#include "schedule/guide_memory.h"
#include "support/random.h"
#include "support/random_graph.h"
#include "support/random_program.h"

namespace hocket::overlap {
namespace {

constexpr Size moved_bytes = 512;

// The units of a program text whose steps take so many picoseconds; all others take none. Collectives named in `merging` may be merged.
struct Units {
  Units(std::string_view text, const std::map<std::string, std::int64_t>& taken,
        const std::vector<std::string>& merging = {}, const std::vector<std::vector<std::string>>& buckets = {})
      : graph(*parse_graph(text, "test")) {
    std::vector<Nanoseconds> times;
    for (std::size_t i = 0; i < graph.size(); ++i) {
      const auto known = taken.find(std::string(graph.name(NodeId(i))));
      times.push_back(Nanoseconds::from_picoseconds(known == taken.end() ? 0 : known->second));
    }
    steps = StepGraph::of(graph, times, {.keep_collective_order = false}).value();
    options.classes.push_back({[](Bytes bytes) { return Nanoseconds::from_picoseconds(bytes.count + 7); }});
    for (const std::string& name : merging) options.candidates.push_back({step(name), 0, Bytes(moved_bytes)});
    Buckets members;
    for (const auto& bucket : buckets) {
      members.emplace_back();
      for (const std::string& name : bucket) members.back().push_back(step(name));
    }
    units.emplace(*steps, UnitGraph::grouping(*steps, options), options, members);
  }

  StepIndex step(std::string_view name) const {
    for (StepIndex one = 0; one < steps->size(); ++one) {
      if (steps->name(one) == name) return one;
    }
    ADD_FAILURE() << "no step " << name;
    return 0;
  }
  const Unit& unit(std::string_view name) const { return units->unit(units->unit_of(step(name))); }
  // The names of all steps that move with this one, in the order in which they run.
  std::string with(std::string_view name) const {
    const UnitIndex u = units->unit_of(step(name));
    if (u == no_unit) return "in front";
    std::string names;
    for (const StepIndex member : units->steps_of(u)) names += fmt::format(" {}", steps->name(member));
    return names.substr(1);
  }

  Graph graph;
  OverlapOptions options;
  std::optional<StepGraph> steps;
  std::optional<UnitGraph> units;
};

TEST(UnitGraph, a_view_runs_right_behind_what_it_is_a_view_of) {
  const Units program(R"(graph @g(%x: f32[4,4]) {
  %in = aten.view(%x, [16])
  %a = aten.relu(%in)
  %b = aten.relu(%a)
  %flat = aten.view(%a, [2, 8])
  %turned = aten.t(%flat)
  %both = aten.cat([%a, %b])
  %made = aten.relu(%in)
  %c = aten.relu(%turned)
  return %b, %both, %made, %c
})",
                      {{"a", 5}, {"b", 5}, {"c", 5}});
  EXPECT_EQ(program.with("in"), "in front") << "it needs nothing but inputs and holds nothing";
  EXPECT_EQ(program.with("a"), "a flat turned");
  EXPECT_EQ(program.with("b"), "b");
  EXPECT_EQ(program.with("both"), "both") << "of two others";
  EXPECT_EQ(program.with("made"), "made") << "it holds memory";
  EXPECT_EQ(program.with("c"), "c");
  EXPECT_EQ(program.unit("a").compute, 5);
}

TEST(UnitGraph, what_takes_no_time_but_makes_memory_of_its_own_stays_apart) {
  const Units program(R"(graph @g(%x: f32[4,4]) {
  %a = aten.relu(%x)
  %copy = aten.clone(%a)
  return %copy
})",
                      {{"a", 5}});
  EXPECT_EQ(program.with("copy"), "copy");
}

// %wait needs %sum; %scale leads to it alone, %shared to something else besides.
constexpr std::string_view one_sum = R"(graph @g(%x: f32[4,4]) {
  group @dp = ranks[0,1]
  %a = aten.mm(%x, %x)
  %cast = aten.relu(%a)
  %scale = aten.relu(%cast)
  %sum = _c10d_functional.all_reduce(%scale, "sum", @dp)
  %seen = aten.view(%sum, [16])
  %wait = _c10d_functional.wait_tensor(%seen)
  %c = aten.relu(%wait)
  return %c
})";

TEST(UnitGraph, light_steps_that_one_collective_needs_run_right_before_it) {
  // A quarter of the collective's time in all is light.
  const Units light(one_sum, {{"a", 50}, {"cast", 10}, {"scale", 15}, {"sum", 100}, {"c", 1}});
  EXPECT_EQ(light.with("sum"), "cast scale sum seen");
  EXPECT_EQ(light.unit("sum").compute, 25);
  EXPECT_EQ(light.unit("sum").comm, 100);
  EXPECT_EQ(light.unit("sum").kind, StepKind::collective);
  EXPECT_EQ(light.with("a"), "a") << "a matmul";
  EXPECT_EQ(light.with("wait"), "wait");
  EXPECT_EQ(light.with("c"), "c") << "nothing of communication needs it";
  const Units heavier(one_sum, {{"a", 50}, {"cast", 11}, {"scale", 15}, {"sum", 100}, {"c", 1}});
  EXPECT_EQ(heavier.with("sum"), "scale sum seen") << "together they are not";
  EXPECT_EQ(heavier.with("cast"), "cast");
}

TEST(UnitGraph, what_others_need_too_stays_apart) {
  const Units program(R"(graph @g(%x: f32[4,4]) {
  group @dp = ranks[0,1]
  %a = aten.relu(%x)
  %sum = _c10d_functional.all_reduce(%a, "sum", @dp)
  %b = aten.relu(%x)
  %other = _c10d_functional.all_reduce(%b, "sum", @dp)
  %use = aten.relu(%b)
  %end = aten.relu(%use)
  %wait = _c10d_functional.wait_tensor(%sum)
  %other_wait = _c10d_functional.wait_tensor(%other)
  return %wait, %other_wait, %end
})",
                      {{"a", 1}, {"sum", 100}, {"b", 1}, {"other", 100}, {"use", 1}, {"end", 1}});
  EXPECT_EQ(program.with("sum"), "a sum");
  EXPECT_EQ(program.with("other"), "other");
  EXPECT_EQ(program.with("b"), "b");
  EXPECT_EQ(program.with("use"), "use") << "what needs it communicates nothing";
}

constexpr std::string_view two_sums = R"(graph @g(%x: f32[4,4]) {
  group @dp = ranks[0,1]
  %a = aten.mm(%x, %x)
  %sum = _c10d_functional.all_reduce(%a, "sum", @dp)
  %b = aten.mm(%a, %x)
  %other = _c10d_functional.all_reduce(%b, "sum", @dp)
  %wait = _c10d_functional.wait_tensor(%sum)
  %other_wait = _c10d_functional.wait_tensor(%other)
  %lost = _c10d_functional.all_reduce(%b, "sum", @dp)
  return %wait, %other_wait
})";
const std::map<std::string, std::int64_t> times_of_two = {{"a", 5}, {"sum", 100}, {"b", 5}, {"other", 60}, {"lost", 9}};

TEST(UnitGraph, collectives_of_a_bucket_are_one_unit_and_so_are_their_waits) {
  const Units apart(two_sums, times_of_two, {"sum", "other", "lost"});
  EXPECT_EQ(apart.with("sum"), "sum");
  EXPECT_EQ(apart.unit("sum").merge_class, 0U);
  EXPECT_EQ(apart.unit("sum").moved, moved_bytes);
  EXPECT_EQ(apart.unit("lost").merge_class, no_class) << "nobody waits for it";
  const Units merged(two_sums, times_of_two, {"sum", "other"}, {{"sum", "other"}});
  EXPECT_EQ(merged.with("sum"), "sum other");
  EXPECT_EQ(merged.with("wait"), "wait other_wait");
  EXPECT_EQ(merged.unit("sum").members, 2U);
  EXPECT_EQ(merged.unit("sum").moved, 2 * moved_bytes);
  EXPECT_EQ(merged.unit("sum").comm, 2 * moved_bytes + 7);
  EXPECT_EQ(merged.unit("wait").partner, merged.units->unit_of(merged.step("sum")));
  EXPECT_EQ(merged.unit("sum").partner, merged.units->unit_of(merged.step("wait")));
}

TEST(UnitGraph, a_bucket_that_makes_a_cycle_leaves_no_order) {
  const Units program(R"(graph @g(%x: f32[4,4]) {
  group @dp = ranks[0,1]
  %sum = _c10d_functional.all_reduce(%x, "sum", @dp)
  %wait = _c10d_functional.wait_tensor(%sum)
  %b = aten.mm(%wait, %x)
  %other = _c10d_functional.all_reduce(%b, "sum", @dp)
  %other_wait = _c10d_functional.wait_tensor(%other)
  return %wait, %other_wait
})",
                      {{"sum", 100}, {"b", 5}, {"other", 60}}, {"sum", "other"}, {{"sum", "other"}});
  EXPECT_TRUE(program.units->topological().empty());
}

// Units stand where the first of their steps is, collectives where they are themselves.
TEST(UnitGraph, an_order_of_steps_is_one_of_units) {
  const Units program(R"(graph @g(%x: f32[4,4]) {
  group @dp = ranks[0,1]
  %a = aten.relu(%x)
  %b = aten.mm(%x, %x)
  %cast = aten.relu(%x)
  %flat = aten.view(%a, [16])
  %c = aten.mm(%x, %x)
  %sum = _c10d_functional.all_reduce(%cast, "sum", @dp)
  %wait = _c10d_functional.wait_tensor(%sum)
  return %flat, %b, %c, %wait
})",
                      {{"a", 5}, {"b", 5}, {"cast", 1}, {"c", 5}, {"sum", 100}});
  std::string names;
  for (const UnitIndex u : program.units->order_of(program.steps->original_order()))
    names += fmt::format(" {}", program.steps->name(program.units->steps_of(u)[0]));
  EXPECT_EQ(names, " a b c cast wait");
}

// ---------------------------------------------------------------- any program

std::vector<Nanoseconds> random_times(Random& random, std::size_t count) {
  std::vector<Nanoseconds> times(count);
  for (Nanoseconds& time : times) time = Nanoseconds::from_picoseconds(random.chance(40) ? 0 : random.between(1, 1000));
  return times;
}

void expect_true_to_steps(const StepGraph& steps, const UnitGraph& units) {
  std::vector<int> seen(steps.size(), 0);
  for (UnitIndex u = 0; u < units.size(); ++u) {
    Time compute = 0;
    std::set<UnitIndex> before;
    for (const StepIndex step : units.steps_of(u)) {
      ++seen[step];
      ASSERT_EQ(units.unit_of(step), u);
      compute += steps.time_on_compute(step).picoseconds;
      for (const StepIndex earlier : steps.before(step)) {
        if (units.unit_of(earlier) != no_unit && units.unit_of(earlier) != u) before.insert(units.unit_of(earlier));
      }
    }
    ASSERT_EQ(units.unit(u).compute, compute);
    ASSERT_EQ(std::set<UnitIndex>(units.before(u).begin(), units.before(u).end()), before);
    for (const UnitIndex earlier : before) ASSERT_EQ(std::ranges::count(units.after(earlier), u), 1);
  }
  for (StepIndex step = 0; step < steps.size(); ++step) ASSERT_EQ(seen[step], units.unit_of(step) == no_unit ? 0 : 1);
}

void expect_sound_order(const StepGraph& steps, const UnitGraph& units, const std::vector<UnitIndex>& order) {
  const std::vector<StepIndex> all = units.steps_in(order);
  ASSERT_EQ(all.size(), steps.size());
  std::vector<std::size_t> place(steps.size(), steps.size());
  for (std::size_t p = 0; p < all.size(); ++p) place[all[p]] = p;
  for (StepIndex step = 0; step < steps.size(); ++step) {
    ASSERT_LT(place[step], steps.size()) << "it is missing";
    for (const StepIndex earlier : steps.before(step)) ASSERT_LT(place[earlier], place[step]);
  }
  GuideMemory memory(units);
  memory.reset(order);
  ASSERT_EQ(memory.guide_peak(), memory_curve(steps, all).peak.count);
}

std::vector<UnitIndex> random_order(const UnitGraph& units, Random& random) {
  std::vector<std::size_t> missing(units.size());
  std::vector<UnitIndex> ready, order;
  for (UnitIndex u = 0; u < units.size(); ++u) {
    missing[u] = units.before(u).size();
    if (missing[u] == 0) ready.push_back(u);
  }
  while (!ready.empty()) {
    std::swap(ready[random.index(ready.size())], ready.back());
    order.push_back(ready.back());
    ready.pop_back();
    for (const UnitIndex later : units.after(order.back())) {
      if (--missing[later] == 0) ready.push_back(later);
    }
  }
  return order;
}

template <class Form>
void expect_sound_units(const Form& form, std::uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Random random(seed);
  const StepGraph steps = *StepGraph::of(form, random_times(random, form.size()), {.keep_collective_order = false});
  const OverlapOptions options;
  const UnitGraph units(steps, UnitGraph::grouping(steps, options), options, Buckets{});
  ASSERT_NO_FATAL_FAILURE(expect_true_to_steps(steps, units));
  ASSERT_EQ(units.topological().size(), units.size());
  ASSERT_NO_FATAL_FAILURE(expect_sound_order(steps, units, units.topological()));
  for (int i = 0; i < 3; ++i) ASSERT_NO_FATAL_FAILURE(expect_sound_order(steps, units, random_order(units, random)));
}

TEST(UnitGraph, says_of_any_program_what_its_steps_say) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    ASSERT_NO_FATAL_FAILURE(expect_sound_units(random_graph(seed), seed));
    ASSERT_NO_FATAL_FAILURE(expect_sound_units(random_program(seed), seed));
  }
}

}  // namespace
}  // namespace hocket::overlap
