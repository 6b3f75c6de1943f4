// Every pass that is registered, and the pipelines: what comes out computes what went in.
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "hocket/compile/compile.h"
#include "pipelines.h"
#include "support/random.h"
#include "support/random_graph.h"
#include "support/random_program.h"
#include "support/same_values.h"

namespace hocket {

namespace {

testing::AssertionResult same_values(const Subject& before, const Subject& after, std::uint64_t seed) {
  return std::visit([&](const auto& was, const auto& is) { return hocket::same_values(was, is, seed); }, before, after);
}

Subject small_subject(Form form, std::uint64_t seed) {
  const bool program = form == Form::program || (form == Form::either && seed % 2 == 1);
  return program ? Subject(random_program(seed, {.world = 2 << seed % 3})) : Subject(small_graph(seed));
}

// Runs the passes; each result on the way is compared with what went in. How many passes changed something.
int expect_kept(const Subject& before, std::vector<PassCall> passes, std::uint64_t seed) {
  int changed = 0;
  CompileOptions options;
  options.passes = std::move(passes);
  options.memory_limit.relative = seed % 2 == 0 ? 1.0 : 1.5;
  options.after_pass = [&](const PassRun& run, const Subject& after) {
    if (!run.changed) return;
    ++changed;
    EXPECT_TRUE(same_values(before, after, seed)) << "after " << run.call << ", seed " << seed;
  };
  const auto compiled = compile(before, options);
  EXPECT_TRUE(compiled) << "seed " << seed << ": " << compiled.error().to_string();
  return changed;
}

}  // namespace

TEST(RandomPipelines, each_computes_the_same) {
  const PassRegistry registry = PassRegistry::builtin();
  for (const Pass& pass : registry.passes()) {
    int changed = 0;
    for (std::uint64_t seed = 0; seed < programs(100); ++seed)
      changed += expect_kept(small_subject(pass.form, seed), {{pass.name, {}}}, seed);
    RecordProperty(pass.name, changed);
  }
}

TEST(RandomPipelines, the_default_pipeline_computes_the_same) {
  int changed = 0;
  const std::uint64_t count = programs(200);
  for (std::uint64_t seed = 0; seed < count; ++seed) changed += expect_kept(small_graph(seed), default_passes(), seed);
  EXPECT_GT(changed, static_cast<int>(count / 2)) << "it has hardly anything to do with these graphs";
}

TEST(RandomPipelines, pipelines_of_any_passes_compute_the_same) {
  const PassRegistry registry = PassRegistry::builtin();
  for (std::uint64_t seed = 0; seed < programs(300); ++seed) {
    Random random(seed);
    expect_kept(small_graph(seed), random_pipeline(registry, random), seed);
  }
}

}  // namespace hocket
