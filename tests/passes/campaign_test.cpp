// Random programs through every pass alone, every pipeline of this folder, the default one and one drawn at random: the verifier
// finds nothing wrong, the reference interpreter computes the same values, the memory is as claimed.
//
// A run takes the programs of some seeds. HOCKET_CAMPAIGN=FIRST:COUNT takes others, and as many as one has time for:
//   HOCKET_CAMPAIGN=0:100000 build/release/tests/passes_test --gtest_filter=LongCampaign.*
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "hocket/ir/text.h"
#include "pipelines.h"
#include "support/interpreter.h"
#include "support/random_program.h"

namespace hocket {
namespace {

struct Range {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

// What the environment wants, or this.
Range wanted_or(Range usual) {
  const char* const text = std::getenv("HOCKET_CAMPAIGN");
  if (text == nullptr) return usual;
  char* colon = nullptr;
  const std::uint64_t first = std::strtoull(text, &colon, 10);
  if (*colon != ':') throw std::invalid_argument(fmt::format("HOCKET_CAMPAIGN is \"{}\", expected FIRST:COUNT", text));
  return {first, std::strtoull(colon + 1, nullptr, 10)};
}

interpreter::RunOptions values_of(std::uint64_t seed) { return {.seed = seed}; }

// One program, and what it computes on all ranks.
class Candidate {
 public:
  explicit Candidate(std::uint64_t seed) : seed_(seed), subject_(subject_of(seed)) {
    auto result = std::visit([&](const auto& form) { return interpreter::run(form, values_of(seed)); }, subject_);
    if (!result) throw std::logic_error(fmt::format("seed {} can't be run: {}", seed, result.error().to_string()));
    expected_ = std::move(*result);
    seen_.insert(digest_of(subject_));
  }

  bool is_graph() const { return std::holds_alternative<Graph>(subject_); }

  // Whether the passes leave it as good as it was, after each of them.
  void stand(std::vector<PassCall> passes, const std::string& words) {
    CompileOptions options;
    options.passes = std::move(passes);
    options.memory_limit.relative = seed_ % 2 == 0 ? 1.0 : 1.5;
    options.after_pass = [&](const PassRun& run, const Subject& after) {
      if (run.changed) compare(after, run.call);
    };
    ++runs;
    const auto compiled = compile(subject_, options);
    EXPECT_TRUE(compiled) << "seed " << seed_ << ", " << words << ": " << compiled.error().to_string();
  }

  std::uint64_t runs = 0;
  std::uint64_t compared = 0;  // results that differ from each other

 private:
  static Subject subject_of(std::uint64_t seed) {
    if (seed % 6 == 5) return random_program(seed, {.world = 2 << seed % 3});
    return small_graph(seed);
  }
  static Digest digest_of(const Subject& subject) {
    return std::visit([](const auto& form) { return form.digest(); }, subject);
  }

  void compare(const Subject& after, const std::string& call) {
    if (!seen_.insert(digest_of(after)).second) return;
    ++compared;
    interpreter::RunOptions options = values_of(seed_);
    options.world = static_cast<std::int64_t>(expected_.ranks.size());
    if (is_graph()) options.rank = std::get<Graph>(subject_).rank();
    const auto found = std::visit([&](const auto& form) { return interpreter::run(form, options); }, after);
    const std::string difference = found ? interpreter::first_difference(expected_, *found) : found.error().to_string();
    EXPECT_EQ(difference, "") << "seed " << seed_ << " after " << call << "\n"
                              << std::visit([](const auto& form) { return print(form); }, after);
  }

  std::uint64_t seed_;
  Subject subject_;
  interpreter::RunResult expected_;
  std::set<Digest> seen_;
};

void run_campaign(Range range) {
  const PassRegistry registry = PassRegistry::builtin();
  std::uint64_t runs = 0;
  std::uint64_t compared = 0;
  for (std::uint64_t seed = range.first; seed < range.first + range.count && !testing::Test::HasFailure(); ++seed) {
    Candidate candidate(seed);
    for (const Pass& pass : registry.passes()) {
      const bool fits = pass.form == Form::either || (pass.form == Form::graph) == candidate.is_graph();
      if (fits) candidate.stand({{pass.name, {}}}, pass.name);
    }
    for (const std::string& text : candidate.is_graph() ? graph_pipelines() : program_pipelines())
      candidate.stand(*parse_passes(text), text);
    if (candidate.is_graph()) {
      candidate.stand(default_passes(), "the default passes");
      Random random(seed);
      const std::vector<PassCall> drawn = random_pipeline(registry, random);
      candidate.stand(drawn, to_string(drawn));
    }
    runs += candidate.runs;
    compared += candidate.compared;
  }
  fmt::print("programs {} to {}: {} runs of passes and pipelines, {} different results compared\n", range.first,
             range.first + range.count - 1, runs, compared);
}

TEST(Campaign, random_programs_stand_every_pass_and_pipeline) { run_campaign({500'000, programs(150)}); }
// Found by longer campaigns: the only step that makes an empty tensor has to come before those that read it, nothing is gathered into
// a buffer that another collective is still reading, a collective of a tensor and its copy takes the tensor twice without the copy, and
// who uses one result of a bucket need not wait for a broadcast into another one.
TEST(Campaign, the_maker_of_an_empty_tensor_stays_before_its_readers) { run_campaign({484, 1}); }
TEST(Campaign, a_buffer_that_is_still_being_communicated_is_not_gathered_into) { run_campaign({4'954, 1}); }
TEST(Campaign, a_collective_takes_a_tensor_twice_once_its_copy_is_gone) { run_campaign({18'944, 1}); }
TEST(Campaign, a_result_that_is_broadcast_in_place_is_in_no_bucket) { run_campaign({58'084, 1}); }
TEST(LongCampaign, random_programs_stand_every_pass_and_pipeline) { run_campaign(wanted_or({0, 3'000})); }

}  // namespace
}  // namespace hocket
