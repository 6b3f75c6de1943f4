// What a failure leaves behind for those who look for its cause: reports of the last calls of all ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>

#include "comm/flight_story.h"
#include "hocket/base/file.h"
#include "launched.h"
#include "support/temporary_folder.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class Flight : public ::testing::Test {
 protected:
  std::string reports() const { return folder_ + "/reports"; }
  std::string file(int rank) const { return reports() + "/flight-world-rank" + std::to_string(rank) + ".json"; }
  FlightReport report(int rank) const { return parse_flight_report(*read_file(file(rank)), file(rank)).value(); }

  // Ranks make three good calls, then each its own; what each got for that.
  std::vector<RankOutcome> run(int ranks, const std::function<Status(int, const Communicator&)>& last) const {
    return run_launched(ranks, [&, this](int rank) -> std::string {
      if (wanted_) setenv("HOCKET_FLIGHT", reports().c_str(), 1);
      Result<World> world = World::join();
      if (!world) return world.error().message;
      Result<Communicator> group = world->communicator();
      if (!group) return group.error().message;
      std::vector<float> data(64, 1.0F);
      for (int i = 0; i < 3; ++i) {
        const Status status = group->all_reduce(data.data(), data.data(), 64, Dtype::f32, ReduceOp::max).wait();
        if (!status) return status.error().message;
      }
      const Status status = last(rank, *group);
      return status ? "no failure" : status.error().message;
    });
  }

  const TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path();
  bool wanted_ = true;
};

Status sum(const Communicator& group, std::int64_t count, std::chrono::milliseconds timeout = 20s) {
  std::vector<float> data(static_cast<std::size_t>(count), 1.0F);
  CallOptions options;
  options.timeout = timeout;
  return group.all_reduce(data.data(), data.data(), count, Dtype::f32, ReduceOp::sum, options).wait();
}

TEST_F(Flight, of_ranks_that_differ_names_both_calls_and_where_they_were_made) {
  const auto outcomes = run(2, [](int rank, const Communicator& group) { return sum(group, rank == 0 ? 100 : 200); });
  std::vector<FlightReport> all;
  for (int rank = 0; rank < 2; ++rank) {
    const std::string& said = outcomes[static_cast<std::size_t>(rank)].said;
    EXPECT_THAT(said, HasSubstr("ranks made different calls"));
    EXPECT_THAT(said, EndsWith("; see " + file(rank) + " (hocket explain --flight " + file(rank) + ")"));
    all.push_back(report(rank));
    EXPECT_EQ(all.back().by, rank);
    EXPECT_EQ(all.back().group, "world");
    EXPECT_EQ(all.back().reason + said.substr(said.find("; see ")), said);
  }
  const FlightStory story = tell(all, {file(0), file(1)}).value();
  ASSERT_EQ(story.failures.size(), 1U) << "both sides say the same";
  ASSERT_TRUE(story.difference);
  EXPECT_EQ(story.difference->number, 4U);
  EXPECT_THAT(story.difference->call.to_string(), HasSubstr("all_reduce(f32[100], sum) as call 4 at flight_test.cpp:"));
  EXPECT_THAT(story.difference->other_call.to_string(), HasSubstr("all_reduce(f32[200], sum) as call 4"));
  ASSERT_EQ(story.places.size(), 2U);
  EXPECT_EQ(story.places[0].finished, 3U);
  EXPECT_EQ(story.places[0].begun, 4U);
}

TEST_F(Flight, names_the_line_of_the_call_unless_a_wrapper_says_on_whose_behalf_it_calls) {
  const CallSite behalf = CallSite::current();
  const auto outcomes = run(2, [&](int rank, const Communicator& group) {
    std::vector<float> data(2, 1.0F);
    CallOptions options;
    if (rank == 1) options.site = behalf;
    return group.all_reduce(data.data(), data.data(), rank + 1, Dtype::f32, ReduceOp::sum, options).wait();
  });
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_THAT(outcome.said, HasSubstr(fmt::format("call 4 at flight_test.cpp:{},", behalf.line + 5)));
    EXPECT_THAT(outcome.said, HasSubstr(fmt::format("call 4 at flight_test.cpp:{};", behalf.line)));
  }
}

TEST_F(Flight, of_a_killed_rank_has_its_last_calls) {
  const auto outcomes = run(3, [](int rank, const Communicator& group) -> Status {
    if (rank == 1) ::raise(SIGKILL);
    return sum(group, 100);
  });
  EXPECT_EQ(outcomes[1].signal, SIGKILL);
  EXPECT_FALSE(std::filesystem::exists(file(1)));
  for (const int rank : {0, 2}) {
    const FlightReport found = report(rank);
    EXPECT_THAT(found.reason, HasSubstr("rank 1 (pid "));
    ASSERT_EQ(found.places.size(), 3U);
    EXPECT_EQ(found.places[1].rank, 1);
    EXPECT_THAT(found.reason, HasSubstr(fmt::format("rank 1 (pid {})", found.places[1].pid)));
    EXPECT_EQ(found.places[1].finished, 3U);
    EXPECT_EQ(found.places[1].begun, 3U);
    const FlightStory story = tell({found}, {file(rank)}).value();
    EXPECT_EQ(story.furthest, 4U);
    EXPECT_FALSE(story.difference);
  }
}

TEST_F(Flight, of_a_rank_that_does_not_come_shows_who_waits_and_who_is_behind) {
  const auto outcomes = run(2, [](int rank, const Communicator& group) -> Status {
    if (rank == 0) return sum(group, 100, 200ms);
    std::this_thread::sleep_for(1s);
    return {};
  });
  EXPECT_THAT(outcomes[0].said, HasSubstr("is alive but did not come within 200 ms"));
  const FlightReport found = report(0);
  EXPECT_EQ(found.places[0].begun, 4U);
  EXPECT_EQ(found.places[1].begun, 3U);
  ASSERT_NE(found.places[0].call(4), nullptr);
  EXPECT_FALSE(found.places[0].call(4)->duration_us);
  EXPECT_LT(found.places[0].call(4)->start_us, -150e3) << "it has waited for 200 ms";
  EXPECT_GT(found.places[0].call(4)->start_us, -15e6);
}

TEST_F(Flight, is_written_once_and_only_on_demand) {
  wanted_ = false;
  const auto outcomes = run(2, [](int rank, const Communicator& group) { return sum(group, rank == 0 ? 100 : 200); });
  EXPECT_EQ(outcomes[0].said.find("; see "), std::string::npos) << outcomes[0].said;
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(Flight, that_can_not_be_written_leaves_the_error_as_it_is) {
  ASSERT_TRUE(write_file(reports(), "a file where the folder should be"));
  const auto outcomes = run(2, [](int rank, const Communicator& group) { return sum(group, rank == 0 ? 100 : 200); });
  EXPECT_THAT(outcomes[0].said, HasSubstr("ranks made different calls"));
  EXPECT_EQ(outcomes[0].said.find("; see "), std::string::npos) << outcomes[0].said;
}

TEST_F(Flight, can_be_asked_for_at_any_time) {
  const auto outcomes = run(2, [](int, const Communicator& group) -> Status {
    HOCKET_TRY(const std::string text, group.flight_report());
    return fail(ErrorKind::usage, "{}", text);
  });
  const FlightReport found = parse_flight_report(outcomes[0].said, "text").value();
  EXPECT_EQ(found.reason, "");
  ASSERT_EQ(found.places.size(), 2U);
  const FlightPlace& own = found.places[0];
  EXPECT_EQ(own.finished, 3U);
  ASSERT_EQ(own.calls.size(), 3U);
  EXPECT_EQ(own.calls[0].facts.op, Operator::all_reduce);
  EXPECT_EQ(own.calls[0].facts.reduce, ReduceOp::max);
  EXPECT_EQ(own.calls[0].facts.count, 64);
  EXPECT_EQ(own.calls[0].facts.used, CollectiveAlgorithm::one_shot);
  EXPECT_EQ(own.calls[0].file, "flight_test.cpp");
  ASSERT_TRUE(own.calls[0].duration_us);
  EXPECT_GE(*own.calls[0].duration_us, 0);
  EXPECT_LE(own.calls[0].start_us + *own.calls[0].duration_us, own.calls[1].start_us + 0.2);
}

}  // namespace
}  // namespace hocket
