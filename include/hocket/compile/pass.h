// Passes by name. A pass takes a graph or a program and gives one that computes the same; the registry is where the command line,
// pipelines and users' own passes meet.
//
//   PassRegistry passes = PassRegistry::builtin();
//   passes.add({"my_pass", "what it does, in a line", Form::graph, "",
//               [](const Subject& subject, const PassContext& context, PassArguments& arguments) -> Result<PassResult> { … }});
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "hocket/cost/cost_model.h"
#include "hocket/ir/graph.h"
#include "hocket/ir/program.h"
#include "hocket/schedule/overlap_report.h"

namespace hocket {

// What flows through a pipeline: a graph until `lower`, a program from there on.
using Subject = std::variant<Graph, Program>;
enum class Form : std::uint8_t { graph, program, either };

// How much memory an order may take: a multiple of the peak of the graph as it was given, or bytes.
struct MemoryLimit {
  double relative = 1.0;
  std::optional<Bytes> absolute;

  Bytes of(Bytes original_peak) const;
  std::string to_string() const;  // "1.05x", "12.00 GiB"
};
// "1.05x", "12GiB", "500MB", "1073741824".
Result<MemoryLimit> parse_memory_limit(std::string_view text);

struct PassContext {
  const CostModel* cost = nullptr;
  MemoryLimit memory_limit;
  Bytes original_peak;  // of what the pipeline was given
};

// The options of one pass, as they were written: name(key=value, …). What is not asked for is an error of finish().
class PassArguments {
 public:
  using Values = std::vector<std::pair<std::string, std::string>>;
  PassArguments(std::string pass, Values values) : pass_(std::move(pass)), values_(std::move(values)) {}

  double real(std::string_view key, double fallback);
  std::int64_t integer(std::string_view key, std::int64_t fallback);  // not negative
  bool flag(std::string_view key, bool fallback);
  std::string choice(std::string_view key, std::string_view fallback, std::initializer_list<std::string_view> choices);
  std::optional<Bytes> bytes(std::string_view key);

  // The first mistake: a value that can't be read, or a key that the pass does not have.
  Status finish() const;

 private:
  const std::string* find(std::string_view key);
  void complain(std::string_view key, std::string_view value, std::string_view expected);

  std::string pass_;
  Values values_;
  std::vector<std::string> known_;
  std::optional<Error> error_;
};

struct PassResult {
  std::optional<Subject> subject;               // absent: nothing changed
  std::string report;                           // what it did, in a line
  std::vector<std::string> notes;               // what it left alone, and why
  std::optional<std::vector<StepIndex>> order;  // of a pass that only reorders: the old positions in their new order
  bool keeps_collective_order = true;           // off: ranks must agree on the new order
  std::optional<Bytes> peak;                    // that it claims for its result
  std::optional<IterativeResult> raised, sunk;  // what limits each collective, for the table
};

struct Pass {
  std::string name;
  std::string summary;
  Form form = Form::graph;
  std::string options;  // "bucket_size_mb=25", for --list-passes
  std::function<Result<PassResult>(const Subject&, const PassContext&, PassArguments&)> run;
};

class PassRegistry {
 public:
  // A new registry with hocket's own passes.
  static PassRegistry builtin();

  // A name that is taken already is an error.
  Status add(Pass pass);
  // An unknown name is an error that lists the known ones.
  Result<const Pass*> find(std::string_view name) const;
  std::span<const Pass> passes() const { return passes_; }

 private:
  std::vector<Pass> passes_;
};

// One pass of a pipeline, with its options.
struct PassCall {
  std::string name;
  PassArguments::Values arguments;

  std::string to_string() const;  // "bucket_all_gather(bucket_size_mb=50)"
  friend bool operator==(const PassCall&, const PassCall&) = default;
};
// "a,b(key=value,other=1),c". Names are not looked up here.
Result<std::vector<PassCall>> parse_passes(std::string_view text);
std::string to_string(std::span<const PassCall> passes);

}  // namespace hocket
