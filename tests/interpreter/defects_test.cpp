// The defects that the verifier is tested with, in valid graphs and programs. Those that change what is computed must show in the
// values; what only says something wrong (a name, a number of bytes, a kind) is the verifier's business alone.
#include <gtest/gtest.h>

#include <map>

#include "noticed.h"
#include "support/graph_defects.h"
#include "support/program_defects.h"
#include "support/random_graph.h"
#include "support/random_program.h"

namespace hocket {

namespace {

struct Count {
  int applied = 0;
  int noticed = 0;
};

// The least part, in percent, of the places for a defect where the interpreter has to notice it.
using Rates = std::map<std::string_view, int>;

// Those that are not noticed everywhere, and why that is right:
const Rates graph_rates = {
    {"swap two dependent nodes", 100},
    {"move a node before its input", 100},
    {"close a circle", 100},
    {"let a node use itself", 100},
    {"drop the output", 100},
    {"put the output earlier", 100},
    {"use the output", 100},
    {"redirect an argument to another type", 85},  // a full_like may take any tensor
    {"change a view's stride", 85},                // of a dim of one element nothing depends on the stride
    {"change a view's offset", 90},                // an empty view has none
    {"take another element of a list", 100},
    {"take an element beyond the list", 100},
    {"put a result into a used storage", 90},  // of one that nobody reads any more
    {"shrink a storage", 90},                  // by bytes that no element reaches
    {"put two results into one storage", 90},  // one of which nobody uses
    {"drop a wait", 100},
    {"use a result before its wait", 100},
    {"wait without saying for what", 80},  // a wait for another result of a coalesced collective completes it
    {"wait for another collective", 100},
    {"wait for no collective", 100},
    {"wait before the start", 100},
    {"write what is read in flight", 100},
    {"pass no group", 100},
    {"take all ranks from a group", 30},  // where nobody uses the group it does no harm
    {"take this rank from a group", 90},
};

const Rates program_rates = {
    {"hide a write", 100},
    {"read a buffer before it is written", 100},
    {"return a buffer that is never written", 100},
    {"swap two dependent steps", 98},  // a step that reads the difference of a tensor and itself
    {"shrink a buffer", 100},
    {"return more than a buffer has", 100},
    {"drop a wait", 100},
    {"read a result before its wait", 100},
    {"write what is read in flight", 100},
    {"start a second collective in flight", 100},
    {"wait for a later step", 100},
    {"wait for no collective", 100},
    {"wait without saying for what", 100},
    {"wait for another collective", 100},
    {"put a rank into a group twice", 90},  // where nobody uses the group it does no harm
    {"let two live buffers overlap", 95},   // in bytes that neither uses
    {"reuse memory in flight", 100},
};

void expect_rates(const std::map<std::string_view, Count>& counts, const Rates& rates) {
  for (const auto& [name, percent] : rates) {
    const auto found = counts.find(name);
    ASSERT_NE(found, counts.end()) << name;
    const Count& count = found->second;
    EXPECT_GE(count.applied, 10) << name;
    EXPECT_GE(count.noticed * 100, percent * count.applied)
        << name << ": noticed in " << count.noticed << " of " << count.applied;
  }
}

}  // namespace

TEST(Defects, of_graphs_show_in_the_values) {
  std::map<std::string_view, Count> counts;
  const std::vector<GraphDefect> defects = graph_defects();
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    RandomGraphOptions options = random_graph_options(seed);
    options.symbolic = false;
    options.world = seed % 2 == 0 ? 2 : 4;
    options.width = options.world;
    options.operators = 30;
    options.collectives = 25;
    options.coalesced = seed % 3 == 0;
    const Graph graph = random_graph(seed, options);
    for (const GraphDefect& defect : defects) {
      GraphDraft draft = GraphDraft::of(graph);
      Random random(seed);
      if (!defect.apply(draft, graph, random)) continue;
      const auto broken = draft.build();
      if (!broken) continue;
      Count& count = counts[defect.name];
      ++count.applied;
      if (!noticed(graph, *broken, seed).empty()) ++count.noticed;
    }
  }
  expect_rates(counts, graph_rates);
}

TEST(Defects, of_programs_show_in_the_values) {
  std::map<std::string_view, Count> counts;
  const std::vector<ProgramDefect> defects = program_defects();
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Program program = random_program(seed, {.placed = true});
    for (const ProgramDefect& defect : defects) {
      ProgramDraft draft = ProgramDraft::of(program);
      Random random(seed);
      if (!defect.apply(draft, program, random)) continue;
      const auto broken = draft.build();
      if (!broken) continue;
      Count& count = counts[defect.name];
      ++count.applied;
      if (!noticed(program, *broken, seed).empty()) ++count.noticed;
    }
  }
  expect_rates(counts, program_rates);
}

}  // namespace hocket
