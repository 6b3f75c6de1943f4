// A rank of the tests of failures across hosts, four on two hosts.
//
//   faults_program kill VICTIM      the victim kills itself while the others wait for it in several ways
//   faults_program kills SEED       one rank after the other is killed at a random moment, while all make random calls
//   faults_program form VICTIM      the victim kills itself while the others form a group with it
//   faults_program mismatch         rank 3 makes another call
//   faults_program late             rank 3 never comes, and its host's other rank finds out at a timeout of its own
//
// Every rank prints a line for each call that failed: how long after the cause (of random kills: when), how busy the machine was, and
// the error.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "hocket/comm/world.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;  // the same on both hosts, which are one machine

// How late a sleeping thread is woken at worst, which no promise about time can be better than.
class Lateness {
 public:
  Lateness() : thread_([this] { measure(); }) {}
  ~Lateness() {
    stop_ = true;
    thread_.join();
  }
  double milliseconds() const { return static_cast<double>(worst_.load()) / 1e6; }

 private:
  void measure() {
    while (!stop_) {
      const auto before = Clock::now();
      std::this_thread::sleep_for(2ms);
      worst_ = std::max(worst_.load(), static_cast<std::int64_t>((Clock::now() - before - 2ms).count()));
    }
  }
  std::atomic<bool> stop_ = false;
  std::atomic<std::int64_t> worst_ = 0;
  std::thread thread_;
};

void print_line(const std::string& line) {
  const std::string text = line + "\n";
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) std::abort();  // whole, so that lines of ranks don't mix
}

class Waiting {
 public:
  Waiting(std::int32_t rank, Clock::time_point cause) : rank_(rank), cause_(cause) {}

  void add(const char* what, Work work) { all_.push_back({what, std::move(work)}); }
  // Until all are done, in whichever order.
  void report() {
    while (!all_.empty()) {
      std::erase_if(all_, [this](const auto& one) {
        if (!one.second.done()) return false;
        const std::chrono::duration<double, std::milli> took = Clock::now() - cause_;
        const Status status = one.second.wait();
        print_line(fmt::format("rank {} {} {:.1f} ms late {:.1f}: {}", rank_, one.first, took.count(),
                               lateness_.milliseconds(), status ? "went well" : status.error().message));
        return true;
      });
      std::this_thread::sleep_for(500us);
    }
  }

 private:
  std::int32_t rank_;
  Clock::time_point cause_;
  Lateness lateness_;
  std::vector<std::pair<const char*, Work>> all_;
};

// A moment soon that all ranks know.
Result<Clock::time_point> agree_on_time(const Communicator& all) {
  std::int64_t at = (Clock::now() + 300ms).time_since_epoch().count();
  HOCKET_CHECK(all.broadcast(&at, &at, 1, Dtype::i64, 3).wait());
  return Clock::time_point(Clock::duration(at));
}

Status go_on(const World& world, std::int32_t victim) {
  Ranks survivors;
  for (std::int32_t rank = 0; rank < world.size(); ++rank) {
    if (rank != victim) survivors.push_back(rank);
  }
  HOCKET_TRY(const Communicator group, world.communicator(survivors));
  std::vector<float> data(100'000, 1.0F);
  HOCKET_CHECK(group.all_reduce(data.data(), data.data(), 100'000, Dtype::f32, ReduceOp::sum).wait());
  if (data.back() == 3.0F) print_line(fmt::format("rank {} went on", world.rank()));
  return {};
}

Status be_killed(const World& world, std::int32_t victim) {
  HOCKET_TRY(const Communicator all, world.communicator());
  // A group of which the victim is the only one on its host: nobody of the group is there to notice.
  HOCKET_TRY(
      const Communicator pair,
      world.communicator(world.rank() % 2 == victim % 2 ? Ranks{victim - 2, victim} : Ranks{3 - victim, 5 - victim}));
  HOCKET_TRY(const Clock::time_point end, agree_on_time(all));
  if (world.rank() == victim) {
    std::this_thread::sleep_until(end);
    kill(getpid(), SIGKILL);
  }
  std::vector<float> data(1'000'000, 1.0F);
  std::int32_t number = 0;
  Waiting waiting(world.rank(), end);
  waiting.add("sum", all.all_reduce(data.data(), data.data(), 1'000'000, Dtype::f32, ReduceOp::sum));
  waiting.add("message", all.irecv(&number, 1, Dtype::i32, victim, 4));
  if (world.rank() == victim - 2) waiting.add("pair", pair.barrier());
  waiting.report();
  return go_on(world, victim);
}

// Two groups that the victim never comes to: one of the others is the first of it, and one has the victim first.
Status be_killed_before_a_group(const World& world, std::int32_t victim) {
  HOCKET_TRY(const Communicator all, world.communicator());
  HOCKET_TRY(const Clock::time_point end, agree_on_time(all));
  if (world.rank() == victim) {
    std::this_thread::sleep_until(end);
    kill(getpid(), SIGKILL);
  }
  const Lateness lateness;
  std::vector<std::thread> forming;
  for (const Ranks& members : {Ranks{0, 1, victim}, Ranks{victim, 1, 0}}) {
    if (std::ranges::find(members, world.rank()) == members.end()) continue;
    forming.emplace_back([&, members] {
      const auto group = world.communicator(members);
      const std::chrono::duration<double, std::milli> took = Clock::now() - end;
      print_line(fmt::format("rank {} group {:.1f} ms late {:.1f}: {}", world.rank(), took.count(),
                             lateness.milliseconds(), group ? "went well" : group.error().message));
    });
  }
  for (std::thread& one : forming) one.join();
  std::this_thread::sleep_until(end + 500ms);  // the victim's neighbour tells of it meanwhile
  return go_on(world, victim);
}

// The same numbers on all ranks.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed) {}
  std::int64_t below(std::int64_t count) {
    state_ = state_ * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;
    return static_cast<std::int64_t>(state_ >> 33) % count;
  }

 private:
  std::uint64_t state_;
};

// One of two hosts keeps both of its ranks until the end, so that somebody is there to tell of every death.
std::int32_t draw_victim(const Ranks& living, Draw& draw) {
  const auto on_host = [](std::int32_t rank) { return rank / 2; };
  for (;;) {
    const std::int32_t victim = living[static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(living.size())))];
    const auto neighbours = std::count_if(living.begin(), living.end(),
                                          [&](std::int32_t rank) { return on_host(rank) == on_host(victim); });
    if (neighbours == 2) return victim;
  }
}

// Calls of random kinds and sizes until one fails.
Status call_until_a_failure(const Communicator& group, Draw& draw) {
  const std::int64_t ranks = group.group().size();
  std::vector<float> in(std::size_t{200'000} * 4);
  std::vector<float> out(in.size());
  for (;;) {
    const std::int64_t count = draw.below(3) == 0 ? 1 + draw.below(200'000) : 1 + draw.below(200);
    std::fill(in.begin(), in.end(), 1.0F);
    const std::int64_t kind = draw.below(4);
    Work work = kind == 0   ? group.all_reduce(in.data(), out.data(), count, Dtype::f32, ReduceOp::sum)
                : kind == 1 ? group.all_gather(in.data(), out.data(), count, Dtype::f32)
                : kind == 2 ? group.reduce_scatter(in.data(), out.data(), count, Dtype::f32, ReduceOp::sum)
                            : group.broadcast(in.data(), out.data(), count, Dtype::f32, 0);
    HOCKET_CHECK(work.wait());
    const bool sums = kind == 0 || kind == 2;
    if (out[static_cast<std::size_t>(count - 1)] != (sums ? static_cast<float>(ranks) : 1.0F))
      return fail(ErrorKind::internal, "a wrong result");
  }
}

double milliseconds_of(Clock::time_point time) {
  return std::chrono::duration<double, std::milli>(time.time_since_epoch()).count();
}

void die_at(std::int32_t rank, Clock::time_point end) {
  std::thread([rank, end] {
    std::this_thread::sleep_until(end);
    print_line(fmt::format("rank {} dies {:.3f} ms late 0:", rank, milliseconds_of(Clock::now())));
    kill(getpid(), SIGKILL);
  }).detach();
}

// The victim alone says when: a rank that is late would have to hear of the moment in a call that the death may end already. So the times
// of deaths and of the news are printed as they are, on the clock that both hosts have in common.
Status be_killed_at_random(const World& world, std::uint64_t seed) {
  constexpr int deaths = 2;
  Ranks living = {0, 1, 2, 3};
  print_line(fmt::format("pid {} of rank {}", getpid(), world.rank()));
  for (int death = 0; death < deaths; ++death) {
    Draw draw(deaths * seed + static_cast<std::uint64_t>(death));  // anew, since ranks made different numbers of calls
    HOCKET_TRY(const Communicator group, world.communicator(living));
    const std::int32_t victim = draw_victim(living, draw);
    const std::chrono::microseconds after(draw.below(60'000));
    const Lateness lateness;
    Status status = group.barrier().wait();  // all have the group then, and nobody dies before
    if (status && world.rank() == victim) die_at(victim, Clock::now() + after);
    if (status) status = call_until_a_failure(group, draw);
    print_line(fmt::format("rank {} kill{} {:.3f} ms late {:.1f}: {}", world.rank(), victim,
                           milliseconds_of(Clock::now()), lateness.milliseconds(), status.error().message));
    std::erase(living, victim);
  }
  print_line(fmt::format("rank {} went on", world.rank()));
  return {};
}

Status call_another(const World& world) {
  HOCKET_TRY(const Communicator all, world.communicator());
  HOCKET_TRY(const Clock::time_point begin, agree_on_time(all));
  std::vector<float> data(200'000, 1.0F);
  Waiting waiting(world.rank(), begin);
  std::this_thread::sleep_until(begin);
  waiting.add("call", world.rank() == 3 ? all.all_gather(data.data(), data.data() + 150'000, 10'000, Dtype::f32)
                                        : all.all_reduce(data.data(), data.data(), 200'000, Dtype::f32, ReduceOp::sum));
  waiting.report();
  const bool untouched = std::all_of(data.begin(), data.end(), [](float value) { return value == 1.0F; });
  print_line(fmt::format("rank {} {}", world.rank(), untouched ? "has its data" : "has lost its data"));
  return {};
}

Status be_late(const World& world) {
  HOCKET_TRY(const Communicator all, world.communicator());
  HOCKET_TRY(const Clock::time_point begin, agree_on_time(all));
  CallOptions options;
  if (world.rank() == 2) options.timeout = 500ms;
  Waiting waiting(world.rank(), begin + 500ms);
  std::this_thread::sleep_until(begin);
  if (world.rank() != 3) waiting.add("barrier", all.barrier(options));
  waiting.report();
  std::this_thread::sleep_until(begin + 2s);  // rank 3 lives while the others find out
  return {};
}

Status run(const std::vector<std::string>& words) {
  HOCKET_TRY(const World world, World::join());
  if (words[0] == "kill") return be_killed(world, std::stoi(words[1]));
  if (words[0] == "form") return be_killed_before_a_group(world, std::stoi(words[1]));
  if (words[0] == "kills") return be_killed_at_random(world, std::stoull(words[1]));
  if (words[0] == "mismatch") return call_another(world);
  return be_late(world);
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  const hocket::Status status = hocket::run({argv + 1, argv + argc});
  if (!status) hocket::print_line(status.error().to_string());
  return status ? 0 : 1;
}
