// The reference interpreter: runs a graph or a program of steps on all ranks of its world at once, with exact numbers, so that a
// test can say whether a pass changed what is computed. It is built to be unkind:
// - a collective's result is poison until its wait, and what it reads must still be there then;
// - memory that nothing has written is poison; planned buffers lie in real arenas, where overlapping ones destroy each other;
// - every element matters: sums and matrix products are exact, all else is a hash of everything that is read.
// It does no analysis of lifetimes, aliases or dependencies, and knows nothing of the passes.
//
//   Result<RunResult> result = interpreter::run(graph, {.seed = 7});
//   expect_same_values(before, after);      // support/same_values.h: what most tests want
//
// All ranks run the same program, literally; each has its own inputs and its own group (see groups_of_ranks()).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/ir/graph.h"
#include "hocket/ir/program.h"
#include "support/interpreter_operators.h"

namespace hocket::interpreter {

struct RunOptions {
  std::uint64_t seed = 1;  // of input values, random operators and poison
  // Reading poison, or writing what is in flight, is an error that names the node. Without it the values get wrong and the
  // run goes on, as on a machine.
  bool strict = true;
  std::int64_t most_words = std::int64_t{1} << 24;  // of memory on all ranks; a program that needs more is refused
  // Values of inputs, where a test works out its expectation by hand; absent: random words that differ for every element.
  std::function<Word(std::string_view input, std::size_t rank, std::int64_t element)> given = {};
  bool trace = false;  // keep what every node and step wrote, see RankResult::trace
  // A program of steps does not say these; a graph does. 0 and -1: what the program says, or as many ranks as its groups name.
  std::int64_t world = 0;
  std::int64_t rank = -1;  // the one that the program was captured on
};

// The memory of an input or a constant at the end.
struct InputResult {
  std::string name;
  std::vector<Word> words;
  bool changed = false;  // some word that is there is another than at the start
  friend bool operator==(const InputResult&, const InputResult&) = default;
};

// What one rank has at the end.
struct RankResult {
  std::vector<Tensor> results;  // what is returned, in order
  std::vector<InputResult> inputs;
  std::map<std::string, Word, std::less<>> trace;  // by node: a hash of the words that it wrote, or that arrived
  std::vector<Word> effects;                       // assertions, sends and calls of unknown operators, in order
  friend bool operator==(const RankResult& a, const RankResult& b);
};

// Stands for an element that nothing has written: there is nothing to compare.
inline constexpr Word unwritten = ~Word{0};

struct RunResult {
  std::vector<RankResult> ranks;
  std::vector<std::string> never_waited;  // collectives
  friend bool operator==(const RunResult&, const RunResult&) = default;
};

// The nodes, by name, that both runs traced and that wrote other words. Sorted.
std::vector<std::string> traced_differences(const RunResult& before, const RunResult& after);

Result<RunResult> run(const Graph& graph, const RunOptions& options = {});
Result<RunResult> run(const Program& program, const RunOptions& options = {});

// The first difference that matters, in words; empty where there is none. An input that `after` no longer has must have come out
// of `before` as it went in, or freed.
std::string first_difference(const RunResult& before, const RunResult& after);

}  // namespace hocket::interpreter
