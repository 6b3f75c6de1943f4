#include "comm/mail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "support/host_ranks.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// The messages of one rank.
class Post {
 public:
  static Result<Post> open(const std::shared_ptr<Host>& host) {
    Post post;
    HOCKET_TRY(const GroupHandle group, GroupTable(host->size(), host->self()).resolve("world"));
    HOCKET_TRY(post.mail_, Mail::create(host, group, digest_of("mail"), group->ranks(), post.threads_));
    return post;
  }
  std::shared_ptr<WorkState> send(const std::vector<std::int64_t>& data, std::int32_t to, std::int32_t tag) {
    return submit(Operator::send, {data.data(), nullptr, std::ssize(data)}, to, tag);
  }
  std::shared_ptr<WorkState> receive(std::vector<std::int64_t>& data, std::int32_t from, std::int32_t tag) {
    return submit(Operator::receive, {nullptr, data.data(), std::ssize(data)}, from, tag);
  }
  Status wait(const std::shared_ptr<WorkState>& state) {
    mail_->help(*state);
    return state->status;
  }

 private:
  std::shared_ptr<WorkState> submit(Operator op, Transfer transfer, std::int32_t peer, std::int32_t tag) {
    GroupCall call;
    call.op = op;
    call.dtype = Dtype::i64;
    call.count = transfer.count;
    call.first = transfer;
    call.root = peer;
    call.tag = tag;
    call.timeout = 20s;
    return mail_->submit({call});
  }
  std::shared_ptr<LaneThreads> threads_ = std::make_shared<LaneThreads>();
  std::shared_ptr<Mail> mail_;
};

std::vector<std::int64_t> numbers(std::int64_t count, std::int64_t first) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), first);
  return all;
}

TEST(Mail, is_sent_before_its_receiver_has_come) {
  const auto said = run_hosts(2, [](const std::shared_ptr<Host>& host) -> Result<std::string> {
    if (host->self() == 1) {
      HOCKET_CHECK(host->find(digest_of("sent"), 0, in(20s)).map([](std::int64_t) {}));
      HOCKET_TRY(Post post, Post::open(host));
      std::vector<std::int64_t> got(100);
      HOCKET_CHECK(post.wait(post.receive(got, 0, 1)));
      HOCKET_CHECK(host->publish(digest_of("received"), 0));
      return got == numbers(100, 5) ? "well" : "wrong";
    }
    HOCKET_TRY(Post post, Post::open(host));
    HOCKET_CHECK(post.wait(post.send(numbers(100, 5), 1, 1)));
    HOCKET_CHECK(host->publish(digest_of("sent"), 0));
    HOCKET_CHECK(host->find(digest_of("received"), 1, in(20s)).map([](std::int64_t) {}));
    return "well";
  });
  for (const std::string& one : said) EXPECT_EQ(one, "well");
}

TEST(Mail, of_a_rank_that_has_left_can_be_received_and_no_more) {
  const auto said = run_hosts(2, [](const std::shared_ptr<Host>& host) -> Result<std::string> {
    HOCKET_TRY(Post post, Post::open(host));
    if (host->self() == 1) {
      HOCKET_CHECK(post.wait(post.send(numbers(1'000, 0), 0, 1)));
      return "left";
    }
    std::this_thread::sleep_for(50ms);
    std::vector<std::int64_t> got(1'000);
    HOCKET_CHECK(post.wait(post.receive(got, 1, 1)));
    if (got != numbers(1'000, 0)) return "wrong";
    const Status more = post.wait(post.receive(got, 1, 1));
    return more ? "no error" : more.error().message;
  });
  EXPECT_THAT(said[0], HasSubstr("rank 1 (pid "));
  EXPECT_THAT(said[0], HasSubstr("has left the world"));
}

TEST(Mail, that_is_not_wanted_yet_is_kept_while_another_is_received) {
  const auto said = run_hosts(2, [](const std::shared_ptr<Host>& host) -> Result<std::string> {
    HOCKET_TRY(Post post, Post::open(host));
    constexpr std::int64_t large = 300'000;  // several times the channel
    if (host->self() == 1) {
      const std::vector<std::int64_t> first = numbers(large, 1);
      const std::vector<std::int64_t> second = numbers(large, 2);
      const auto one = post.send(first, 0, 1);
      const auto two = post.send(second, 0, 2);
      HOCKET_CHECK(post.wait(one));
      HOCKET_CHECK(post.wait(two));
      HOCKET_CHECK(host->find(digest_of("received"), 0, in(20s)).map([](std::int64_t) {}));
      return "well";
    }
    std::vector<std::int64_t> got(large);
    HOCKET_CHECK(post.wait(post.receive(got, 1, 2)));
    const bool second = got == numbers(large, 2);
    HOCKET_CHECK(post.wait(post.receive(got, 1, 1)));
    HOCKET_CHECK(host->publish(digest_of("received"), 0));
    return second && got == numbers(large, 1) ? "well" : "wrong";
  });
  for (const std::string& one : said) EXPECT_EQ(one, "well");
}

}  // namespace
}  // namespace hocket
