#include "comm/host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/host_ranks.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;
using testing::MatchesRegex;

TEST(Host, finds_what_others_have_published) {
  const auto said = run_hosts(3, [](const std::shared_ptr<Host>& host) -> Result<std::string> {
    const std::int32_t next = (host->self() + 1) % host->size();
    for (int i = 0; i < 200; ++i)
      HOCKET_CHECK(host->publish(digest_of(fmt::format("name {}", i)), i * 10 + host->self()));
    for (int i = 199; i >= 0; --i) {
      HOCKET_TRY(const std::int64_t offset, host->find(digest_of(fmt::format("name {}", i)), next, in(20s)));
      if (offset != i * 10 + next) return fmt::format("name {} is at {}", i, offset);
    }
    if (host->look_up(digest_of("another name"), next)) return "found what nobody has published";
    // Nobody leaves before all are done.
    HOCKET_CHECK(host->publish(digest_of("done"), 0));
    for (std::int32_t index = 0; index < 3; ++index) {
      HOCKET_CHECK(host->find(digest_of("done"), index, in(20s)).map([](std::int64_t) {}));
    }
    return "well";
  });
  for (const std::string& one : said) EXPECT_EQ(one, "well");
}

TEST(Host, publishes_the_same_memory_for_the_same_name) {
  const auto said = run_hosts(1, [](const std::shared_ptr<Host>& host) -> Result<std::string> {
    HOCKET_TRY(const std::int64_t first, host->publish_memory(digest_of("name"), Bytes(10)));
    const Bytes used = host->memory().used();
    HOCKET_TRY(const std::int64_t again, host->publish_memory(digest_of("name"), Bytes(10)));
    if (again != first || host->memory().used() != used) return "took other memory";
    HOCKET_TRY(const std::int64_t other, host->publish_memory(digest_of("another name"), Bytes(10)));
    if (other == first || host->look_up(digest_of("another name"), 0) != other) return "two names for one memory";
    return "well";
  });
  EXPECT_EQ(said[0], "well");
}

TEST(Host, names_who_did_not_come_in_time) {
  const auto said = run_hosts(2, [](const std::shared_ptr<Host>& host) -> Result<std::string> {
    if (host->self() == 1) {
      HOCKET_CHECK(host->find(digest_of("later"), 0, in(20s)).map([](std::int64_t) {}));
      return "well";
    }
    const auto offset = host->find(digest_of("never"), 1, in(30ms));
    HOCKET_CHECK(host->publish(digest_of("later"), 0));
    return offset ? "no error" : offset.error().message;
  });
  EXPECT_THAT(said[0],
              MatchesRegex("rank 1 \\(pid [0-9]+\\) is alive but did not come to form the group in time; asking .*"));
}

TEST(Host, names_who_has_left_but_knows_what_it_published_before) {
  const auto said = run_hosts(2, [](const std::shared_ptr<Host>& host) -> Result<std::string> {
    if (host->self() == 1) {
      HOCKET_CHECK(host->publish(digest_of("early"), 77));
      return "left";
    }
    const auto never = host->find(digest_of("never"), 1, in(20s));
    HOCKET_TRY(const std::int64_t early, host->find(digest_of("early"), 1, in(20s)));
    const std::int32_t indices[] = {0, 1};
    return fmt::format("{}; {}; {}", never ? "no error" : never.error().message, early,
                       host->check(indices).has_value());
  });
  EXPECT_THAT(said[0], MatchesRegex("rank 1 \\(pid [0-9]+\\) has left the world; 77; false"));
}

}  // namespace
}  // namespace hocket
