#include "comm/lane.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

namespace hocket {
namespace {

using namespace std::chrono_literals;

// Runs nothing, but notes what it is asked for, and can be held up.
class NotingTransport final : public Transport {
 public:
  std::string_view name() const override { return "noting"; }
  Status run(const GroupCall& call) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_; });
    ran_.push_back(call.count);
    numbers_.push_back(call.number);
    if (call.count == 13) return fail(ErrorKind::peer, "rank 1 has gone");
    if (call.count == 14) return fail(ErrorKind::usage, "not this way");
    return {};
  }
  Result<SymmetricPlace> allocate(const GroupCall& call) override { return SymmetricPlace{call.count, {nullptr}}; }
  void release(std::int64_t offset) override {
    const std::lock_guard lock(mutex_);
    released_.push_back(offset);
  }

  void hold() { set_open(false); }
  void go_on() { set_open(true); }
  std::vector<std::int64_t> ran() const { return copy_of(ran_); }
  std::vector<std::int64_t> released() const { return copy_of(released_); }
  std::vector<std::uint64_t> numbers() const { return copy_of(numbers_); }

 private:
  void set_open(bool open) {
    const std::lock_guard lock(mutex_);
    open_ = open;
    changed_.notify_all();
  }
  template <class T>
  std::vector<T> copy_of(const std::vector<T>& list) const {
    const std::lock_guard lock(mutex_);
    return list;
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  std::vector<std::int64_t> ran_;
  std::vector<std::int64_t> released_;
  std::vector<std::uint64_t> numbers_;
};

class LaneOfOne : public testing::Test {
 protected:
  LaneOfOne() {
    auto transport = std::make_unique<NotingTransport>();
    transport_ = transport.get();
    lane_ = std::make_shared<Lane>(
        GroupTable(1, 0).resolve("world").value(), std::move(transport), threads_,
        []() -> Result<std::shared_ptr<Mail>> { return fail(ErrorKind::system, "no post office"); }, 1s);
  }
  Work submit(std::int64_t count, bool blocking = false, std::shared_ptr<const void> keep_alive = nullptr) {
    GroupCall call;
    call.op = Operator::all_reduce;
    call.count = count;
    return lane_->submit(call, blocking, std::move(keep_alive));
  }

  std::shared_ptr<LaneThreads> threads_ = std::make_shared<LaneThreads>();
  NotingTransport* transport_;
  std::shared_ptr<Lane> lane_;
};

TEST_F(LaneOfOne, runs_calls_in_the_order_in_which_they_were_made_and_numbers_them) {
  std::vector<std::int64_t> counts;
  std::vector<Work> works;
  for (std::int64_t i = 100; i < 400; ++i) {
    counts.push_back(i);
    works.push_back(submit(i, i % 10 == 0));
    if (i % 7 == 0) {
      EXPECT_TRUE(works[works.size() / 2].wait());
    }
  }
  for (const Work& work : works) EXPECT_TRUE(work.wait());
  EXPECT_EQ(transport_->ran(), counts);
  const std::vector<std::uint64_t> numbers = transport_->numbers();
  for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], i + 1);
}

TEST_F(LaneOfOne, does_not_keep_the_caller_of_a_call_that_takes_long) {
  transport_->hold();
  const Work work = submit(1);
  EXPECT_FALSE(work.done());
  EXPECT_FALSE(work.wait_for(1ms).value());
  transport_->go_on();
  EXPECT_TRUE(work.wait());
  EXPECT_TRUE(work.done());
}

TEST_F(LaneOfOne, needs_one_thread_however_many_calls_there_are) {
  transport_->hold();
  std::vector<Work> works;
  for (int i = 0; i < 50; ++i) works.push_back(submit(i + 100));
  transport_->go_on();
  for (const Work& work : works) EXPECT_TRUE(work.wait());
  EXPECT_LE(threads_->count(), 1U);
}

TEST_F(LaneOfOne, fails_every_call_after_a_peer_failed_and_says_why) {
  EXPECT_TRUE(submit(1).wait());
  const Work failed = submit(13);
  EXPECT_EQ(failed.wait().error().message, "rank 1 has gone");
  EXPECT_EQ(failed.call_text(), "all_reduce(u8[13], sum) as call 2");
  const Status later = submit(2).wait();
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().kind, ErrorKind::peer);
  EXPECT_EQ(later.error().message,
            "all_reduce(u8[2], sum) as call 3 can't run: group world failed before: rank 1 has gone");
  const Work blocking = submit(3, true);
  EXPECT_FALSE(blocking.wait());
  EXPECT_EQ(blocking.call_text(), "all_reduce(u8[3], sum) as call 4");
  EXPECT_EQ(transport_->ran(), (std::vector<std::int64_t>{1, 13}));
}

TEST_F(LaneOfOne, goes_on_after_a_call_that_was_wrong_by_itself) {
  EXPECT_FALSE(submit(14).wait());
  EXPECT_TRUE(submit(2).wait());
}

TEST_F(LaneOfOne, completes_what_nobody_waits_for) {
  transport_->hold();
  for (int i = 0; i < 5; ++i) submit(i);
  transport_->go_on();
  EXPECT_TRUE(submit(5, true).wait());
  EXPECT_EQ(transport_->ran(), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}));
}

TEST_F(LaneOfOne, keeps_what_a_call_needs_until_it_is_complete_and_no_longer) {
  auto buffer = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = buffer;
  transport_->hold();
  const Work work = submit(1, false, std::move(buffer));
  EXPECT_FALSE(watch.expired());
  transport_->go_on();
  EXPECT_TRUE(work.wait());
  EXPECT_TRUE(watch.expired()) << "the work is still there, the buffer need not be";
}

TEST_F(LaneOfOne, gives_symmetric_memory_back_with_the_last_copy) {
  GroupCall call;
  call.op = Operator::allocate;
  call.count = 500;
  Result<SymmetricBuffer> buffer = lane_->allocate(call);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(buffer->offset(), 500);
  SymmetricBuffer copy = *buffer;
  buffer = SymmetricBuffer();
  EXPECT_TRUE(transport_->released().empty());
  copy = SymmetricBuffer();
  EXPECT_EQ(transport_->released(), std::vector<std::int64_t>{500});
}

TEST_F(LaneOfOne, says_why_there_are_no_messages) { EXPECT_EQ(lane_->mail().error().message, "no post office"); }

TEST(LaneThreads, may_be_dropped_by_one_of_their_own) {
  struct Last final : Runner {
    explicit Last(std::shared_ptr<LaneThreads> its_threads) : threads(std::move(its_threads)) {}
    void help(WorkState&) override {}
    void drain() override { std::this_thread::sleep_for(10ms); }
    std::shared_ptr<LaneThreads> threads;
  };
  auto threads = std::make_shared<LaneThreads>();
  auto last = std::make_shared<Last>(threads);
  const std::weak_ptr<Runner> watch = last;
  LaneThreads* const raw = threads.get();
  threads.reset();
  raw->add_runner();
  raw->run(std::move(last));
  while (!watch.expired()) std::this_thread::sleep_for(1ms);
}

TEST(LaneThreads, rest_when_they_have_let_go_of_all_runners_but_not_for_longer_than_told) {
  struct Gate final : Runner {
    void help(WorkState&) override {}
    void drain() override { open.wait(false); }
    std::atomic<bool> open = false;
  };
  LaneThreads threads;
  threads.add_runner();
  auto gate = std::make_shared<Gate>();
  const std::weak_ptr<Gate> watch = gate;
  threads.run(gate);
  const auto start = std::chrono::steady_clock::now();
  threads.rest(20ms);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 20ms);
  gate->open = true;
  gate->open.notify_all();
  gate.reset();
  threads.rest(30s);
  EXPECT_TRUE(watch.expired());
}

TEST(LaneThreads, rest_for_one_of_them_when_all_others_do) {
  struct Restful final : Runner {
    explicit Restful(const LaneThreads& its_threads) : threads(its_threads) {}
    void help(WorkState&) override {}
    void drain() override {
      const auto start = std::chrono::steady_clock::now();
      threads.rest(30s);
      took.set_value(std::chrono::steady_clock::now() - start);
    }
    const LaneThreads& threads;
    std::promise<std::chrono::steady_clock::duration> took;
  };
  LaneThreads threads;
  threads.add_runner();
  auto restful = std::make_shared<Restful>(threads);
  threads.run(restful);
  EXPECT_LT(restful->took.get_future().get(), 20s);
}

}  // namespace
}  // namespace hocket
