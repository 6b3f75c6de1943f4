#include "comm/tuning_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sched.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "comm/flag.h"
#include "comm/host_transport.h"
#include "hocket/base/file.h"
#include "support/host_ranks.h"
#include "support/temporary_folder.h"

namespace hocket {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t many_cores = 1000;

TuningTable some_table() {
  TuningTable table;
  table.row(0).one_shot_until = 12345;
  table.row(1).block = 32768;
  table.row(2).streaming_from = Tuning::always;
  table.row(3).whole_until = 0;
  return table;
}

class TuningFile : public ::testing::Test {
 protected:
  const TemporaryFolder temporary_;
  const std::string& root_ = temporary_.path();
  const std::string folder_ = root_ + "/a/b";
};

TEST(TuningTable, has_a_row_for_every_number_of_ranks) {
  const std::vector<std::pair<std::int32_t, std::size_t>> expected = {{1, 0}, {2, 0}, {3, 1}, {4, 1},
                                                                      {5, 2}, {8, 2}, {9, 3}, {1000, 3}};
  for (const auto& [ranks, row] : expected) EXPECT_EQ(TuningTable::row_of(ranks), row) << ranks;
  EXPECT_EQ(TuningTable().for_ranks(8).streaming_from * 8, TuningTable().for_ranks(2).streaming_from * 2)
      << "what all ranks write together counts";
}

TEST(TuningTable, has_larger_rounds_by_default_where_ranks_share_cores) {
  const TuningTable free(4);
  const TuningTable crowded(2);
  EXPECT_EQ(crowded.for_ranks(2), free.for_ranks(2)) << "two ranks have a core each in both";
  EXPECT_GT(crowded.for_ranks(4).whole_until, free.for_ranks(4).whole_until);
  EXPECT_GT(crowded.for_ranks(4).broadcast_block, free.for_ranks(4).broadcast_block);
  EXPECT_GT(free.for_ranks(5).whole_until, free.for_ranks(4).whole_until);
}

TEST_F(TuningFile, is_the_same_after_writing_and_reading) {
  ASSERT_TRUE(save_tuning(some_table(), folder_));
  EXPECT_EQ(load_tuning(folder_, many_cores), some_table());
}

TEST_F(TuningFile, that_is_absent_gives_the_defaults_without_a_word) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(load_tuning(folder_, many_cores), TuningTable());
  EXPECT_EQ(load_tuning("", many_cores), TuningTable());
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(TuningFile, that_is_damaged_gives_the_defaults_and_one_warning) {
  ASSERT_TRUE(save_tuning(some_table(), folder_));
  const std::string good = *read_file(tuning_path(folder_));
  for (const std::string& bad :
       {std::string(), good.substr(0, good.size() / 2), std::string("[]"), std::string("\0\1", 2)}) {
    ASSERT_TRUE(write_file(tuning_path(folder_), bad));
    EXPECT_EQ(load_tuning(folder_, many_cores), TuningTable());
    EXPECT_FALSE(parse_tuning(bad, machine_name()));
  }
}

// As launchers do.
TEST(Tuning, is_the_same_file_for_a_rank_that_is_bound_to_one_core) {
  std::string bound;
  std::int64_t cores = 0;
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    cores = processor_count();
    bound = tuning_path("folder");
  }).join();
  EXPECT_EQ(cores, 1);
  EXPECT_EQ(bound, tuning_path("folder"));
}

TEST(Tuning, of_another_machine_or_version_is_refused) {
  const std::string text = to_json(some_table(), "mine");
  EXPECT_TRUE(parse_tuning(text, "mine"));
  EXPECT_EQ(parse_tuning(text, "yours").error().message, R"(is of machine "mine", expected "yours")");
  Json other = Json::parse(text);
  other["schema"] = "hocket-tuning/2";
  EXPECT_EQ(parse_tuning(other.dump(), "mine").error().message,
            R"(has schema "hocket-tuning/2", expected "hocket-tuning/3")");
}

TEST(Tuning, with_a_field_that_is_missing_or_out_of_range_is_refused_by_name) {
  const auto error_with = [](const std::string& pointer, const Json& value) {
    Json whole = Json::parse(to_json(some_table(), "mine"));
    whole[Json::json_pointer(pointer)] = value;
    const auto table = parse_tuning(whole.dump(), "mine");
    return table ? "no error" : table.error().message;
  };
  EXPECT_EQ(error_with("/ranks/2/block", 0), "ranks 2: block is 0, expected 4096 to 262144");
  EXPECT_EQ(error_with("/ranks/2/whole_until", -1), "ranks 2: whole_until is -1, expected 0 to 9223372036854775807");
  EXPECT_EQ(error_with("/ranks/3-4/block", "x"), "ranks 3-4: block is missing or no whole number");
  EXPECT_EQ(error_with("/ranks/3-4/one_shot_until", ~std::uint64_t{0}),
            "ranks 3-4: one_shot_until is 18446744073709551615, expected 0 to 9223372036854775807");
  EXPECT_EQ(error_with("/ranks/5-8", 7), "has no object for ranks 5-8");
  EXPECT_EQ(error_with("/ranks", nullptr), "has no object for ranks 2");
}

TEST_F(TuningFile, of_rank_0_counts_for_all_ranks_of_a_host) {
  ASSERT_TRUE(save_tuning(some_table(), folder_));
  TuningTable another;
  another.row(0).block = 8192;
  ASSERT_TRUE(save_tuning(another, root_));
  const MeetingPlace place = MeetingPlace::random().value();
  std::vector<TuningTable> agreed(3);
  std::vector<std::thread> threads;
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      const Deadline deadline = in(std::chrono::seconds(30));
      HostLink link = HostLink::meet(place, rank, 3, deadline).value();
      const std::string folder = rank == 0 ? folder_ : rank == 1 ? root_ : "";
      agreed[static_cast<std::size_t>(rank)] = agree_on_tuning(link, folder, many_cores, deadline).value();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const TuningTable& table : agreed) EXPECT_EQ(table, some_table());
}

Result<std::unique_ptr<HostTransport>> transport_with(const std::shared_ptr<Host>& host, const Tuning& tuning,
                                                      const Tuning& otherwise = {}) {
  std::vector<std::int32_t> members(static_cast<std::size_t>(host->size()));
  std::iota(members.begin(), members.end(), 0);
  HOCKET_TRY(std::unique_ptr<Rounds> rounds,
             Rounds::create(host, digest_of("tuned"), members, in(std::chrono::seconds(30))));
  return std::make_unique<HostTransport>(std::move(rounds), "threads", tuning, otherwise);
}

// Which algorithm the first call took, as the flight record has it.
std::string algorithm_of(HostTransport& transport) {
  const FlightRing& ring = transport.rounds().flight_of(transport.rounds().place());
  return std::string(name_of(ring.read(1).call.used));
}

// That of an all_reduce, of 4 KiB unless told.
Result<std::string> algorithm_with(const std::shared_ptr<Host>& host, const Tuning& tuning,
                                   const Tuning& otherwise = {}, std::int64_t count = 1024) {
  HOCKET_TRY(const std::unique_ptr<HostTransport> transport, transport_with(host, tuning, otherwise));
  std::vector<float> data(static_cast<std::size_t>(count), 1.0F);
  GroupCall call;
  call.op = Operator::all_reduce;
  call.dtype = Dtype::f32;
  call.first = {data.data(), data.data(), count};
  call.count = count;
  call.number = 1;
  HOCKET_CHECK(transport->run(call));
  if (data[7] != static_cast<float>(host->size())) return fail(ErrorKind::internal, "got {}", data[7]);
  return algorithm_of(*transport);
}

TEST(Tuning, of_a_smaller_threshold_changes_the_algorithm) {
  Tuning tuning;
  tuning.one_shot_until = 4096;
  for (const std::string& said : run_hosts(3, [&](const auto& host) { return algorithm_with(host, tuning); })) {
    EXPECT_EQ(said, "one_shot");
  }
  tuning.one_shot_until = 4095;
  for (const std::string& said : run_hosts(3, [&](const auto& host) { return algorithm_with(host, tuning); })) {
    EXPECT_EQ(said, "two_shot");
  }
}

TEST(Tuning, holds_while_rounds_take_about_as_long_as_when_it_was_measured) {
  Tuning tuning;
  EXPECT_TRUE(tuning.hold_at(2, 1'000'000)) << "nobody has measured how long";
  tuning.measured_ranks = 4;
  tuning.round_ns = 100;
  for (const std::int64_t ns : {70, 100, 150}) EXPECT_TRUE(tuning.hold_at(4, ns)) << ns;
  for (const std::int64_t ns : {0, 30, 60, 170, 300, 1'000'000}) EXPECT_FALSE(tuning.hold_at(4, ns)) << ns;
  for (const std::int64_t ns : {70, 200, 300}) EXPECT_TRUE(tuning.hold_at(7, ns)) << ns << ": twice as many others";
  EXPECT_FALSE(tuning.hold_at(7, 60));
  EXPECT_FALSE(tuning.hold_at(7, 330));
  for (const std::int64_t ns : {45, 150}) EXPECT_TRUE(tuning.hold_at(3, ns)) << ns << ": two thirds as many others";
  EXPECT_FALSE(tuning.hold_at(3, 40));
  EXPECT_FALSE(tuning.hold_at(3, 170));
}

TEST(Tuning, that_does_not_hold_gives_way_to_another_on_all_ranks) {
  Tuning measured;
  measured.one_shot_until = Tuning::always;
  Tuning otherwise;
  otherwise.one_shot_until = 0;
  const auto said = [&](std::int64_t count) {
    return run_hosts(3, [&](const auto& host) { return algorithm_with(host, measured, otherwise, count); });
  };
  measured.measured_ranks = 3;
  measured.round_ns = 1;  // no machine is as fast
  for (const std::string& one : said(16384)) EXPECT_EQ(one, "two_shot");
  for (const std::string& one : said(1024)) EXPECT_EQ(one, "one_shot") << "too small to look";
  measured.measured_ranks = std::int64_t{1} << 50;  // of between 0 and 1,000 seconds, as for fewer ranks
  measured.round_ns = 1'000'000'000'000;
  for (const std::string& one : said(16384)) EXPECT_EQ(one, "one_shot");
}

// Ranks that had not the same thresholds would cut what they exchange differently.
TEST(Tuning, changes_at_the_same_call_on_all_ranks) {
  constexpr int calls = 40;
  constexpr std::int64_t count = std::int64_t{2} << 20;
  const auto said = run_hosts(2, [&](const std::shared_ptr<Host>& host) -> Result<std::string> {
    Tuning measured;
    measured.one_shot_until = Tuning::always;
    measured.measured_ranks = 2;
    Tuning otherwise;
    otherwise.one_shot_until = 0;
    otherwise.block = 8192;
    GroupCall call;
    call.op = Operator::barrier;
    call.number = 1;
    HOCKET_TRY(const std::unique_ptr<HostTransport> transport, transport_with(host, measured, otherwise));
    HOCKET_TRY(const std::int64_t ns, transport->time_rounds(call));
    measured.round_ns = ns * 8 / 5;  // at the edge of what holds: of looks some find more, some less
    transport->retune(measured);
    std::vector<float> data(count);
    std::string chosen;
    for (int i = 0; i < calls; ++i) {
      std::fill(data.begin(), data.end(), 1.0F);
      call.op = Operator::all_reduce;
      call.dtype = Dtype::f32;
      call.first = {data.data(), data.data(), count};
      call.count = count;
      ++call.number;
      HOCKET_CHECK(transport->run(call));
      if (std::count(data.begin(), data.end(), 2.0F) != count) return fmt::format("call {} has another sum", i);
      chosen += transport->tuning().one_shot_until == 0 ? 'o' : 'm';
    }
    return chosen;
  });
  EXPECT_EQ(said[0].size(), std::size_t{calls}) << said[0];
  EXPECT_EQ(said[0], said[1]);
}

// That of an all_to_all of 64 KiB for each rank, on one rank in place.
Result<std::string> algorithm_of_exchange(const std::shared_ptr<Host>& host, const Tuning& tuning, bool one_in_place) {
  constexpr std::int64_t count = 16384;
  HOCKET_TRY(const std::unique_ptr<HostTransport> transport, transport_with(host, tuning));
  const std::int32_t rank = transport->rounds().place();
  const auto elements = static_cast<std::size_t>(count * host->size());
  std::vector<std::int32_t> input(elements, rank);
  std::vector<std::int32_t> output(elements, -1);
  std::vector<std::int32_t>& result = one_in_place && rank == 1 ? input : output;
  GroupCall call;
  call.op = Operator::all_to_all;
  call.dtype = Dtype::i32;
  call.first = {input.data(), result.data(), count};
  call.count = count;
  call.number = 1;
  HOCKET_CHECK(transport->run(call));
  for (std::size_t i = 0; i < elements; ++i) {
    if (result[i] != static_cast<std::int32_t>(i / count))
      return fail(ErrorKind::internal, "element {} of rank {} is {}", i, rank, result[i]);
  }
  return algorithm_of(*transport);
}

// It depends on a rank's own buffers whether it can read.
TEST(Tuning, reads_only_where_all_ranks_can) {
  Tuning tuning;
  tuning.reading_from = 0;
  const auto exchange = [&](bool one_in_place) {
    return run_hosts(3, [&](const auto& host) { return algorithm_of_exchange(host, tuning, one_in_place); });
  };
  for (const std::string& said : exchange(false)) EXPECT_EQ(said, "reading");
  for (const std::string& said : exchange(true)) EXPECT_EQ(said, "one_shot");
}

}  // namespace
}  // namespace hocket
