#include "comm/calibrate_ranks.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <limits>
#include <numeric>

namespace hocket {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto time_to_meet = 30s;
constexpr auto longest_call = 60s;
constexpr int looks = 5;

}  // namespace

class CalibrationRanks::Rank {
 public:
  static Result<std::unique_ptr<Rank>> join(const MeetingPlace& place, std::int32_t rank, std::int32_t size) {
    const Deadline deadline = Clock::now() + time_to_meet;
    HOCKET_TRY(HostLink link, HostLink::meet(place, rank, size, deadline));
    std::vector<std::int32_t> all(static_cast<std::size_t>(size));
    std::iota(all.begin(), all.end(), 0);
    HOCKET_TRY(std::shared_ptr<Host> host, Host::create(std::move(link), all, Sharing::processes, deadline));
    Digester digester;
    digester.add("calibrate");
    HOCKET_TRY(std::unique_ptr<Rounds> rounds, Rounds::create(host, digester.finish(), all, deadline));
    std::unique_ptr<Rank> made(new Rank(std::move(rounds)));
    GroupCall call = made->call_of(Operator::allocate, Dtype::u8, nullptr, nullptr, most_bytes);
    HOCKET_TRY(const SymmetricPlace memory, made->transport_.allocate(call));
    made->symmetric_ = memory.parts[static_cast<std::size_t>(rank)];
    return made;
  }

  bool share_cores() { return transport_.rounds().host().policy().spin.count() == 0; }
  // Everyone runs the trial that rank 0 gives. False: it was the last.
  Result<bool> run(Trial& trial, double& seconds) {
    GroupCall news = call_of(Operator::broadcast, Dtype::u8, &trial, &trial, sizeof trial);
    HOCKET_CHECK(transport_.run(news));
    if (trial.stop) return false;
    if (trial.looks) {
      HOCKET_TRY(const std::int64_t ns, transport_.time_rounds(barrier()));
      seconds = static_cast<double>(ns) * 1e-9;
      return true;
    }
    transport_.retune(trial.tuning);
    HOCKET_CHECK(
        run_once(trial, 0));  // finds in the caches what a call like this leaves there, not what the one before left
    HOCKET_CHECK(meet());
    const auto start = Clock::now();
    for (std::int32_t i = 0; i < trial.repeats; ++i) HOCKET_CHECK(run_once(trial, i));
    HOCKET_CHECK(meet());  // some have nothing to wait for in a broadcast
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return true;
  }

 private:
  explicit Rank(std::unique_ptr<Rounds> rounds)
      : transport_(std::move(rounds), "shm", Tuning{}),
        input_(static_cast<std::size_t>(most_bytes)),
        output_(static_cast<std::size_t>(most_bytes)) {}

  GroupCall call_of(Operator op, Dtype dtype, const void* input, void* output, std::int64_t count) {
    GroupCall call;
    call.op = op;
    call.dtype = dtype;
    call.first = {input, output, count};
    call.count = count;
    call.number = ++calls_;
    call.timeout = longest_call;
    return call;
  }
  GroupCall call_of(const Trial& trial) {
    const std::int64_t size = size_of(Dtype::f32);
    const bool in_parts = gives_shares(trial.op) || gets_shares(trial.op);
    const bool reads_others = trial.op == Operator::reduce_scatter;
    std::byte* const output = trial.in_symmetric_memory && !reads_others ? symmetric_ : output_.data();
    const std::byte* const given = trial.in_symmetric_memory && reads_others ? symmetric_ : input_.data();
    const std::byte* const input = trial.in_place ? output : given;
    return call_of(trial.op, Dtype::f32, input, output,
                   trial.bytes / size / (in_parts ? transport_.rounds().size() : 1));
  }
  Status run_once(const Trial& trial, int value) {
    const GroupCall call = call_of(trial);
    // As a program does: memset has ways of its own, after which others read faster.
    if (trial.fills) {
      std::fill_n(static_cast<float*>(const_cast<void*>(call.first.input)), trial.bytes / std::int64_t{sizeof(float)},
                  static_cast<float>(value));
    }
    return transport_.run(call);
  }
  GroupCall barrier() { return call_of(Operator::barrier, Dtype::u8, nullptr, nullptr, 0); }
  Status meet() { return transport_.run(barrier()); }

  HostTransport transport_;
  std::vector<std::byte> input_;
  std::vector<std::byte> output_;
  std::byte* symmetric_ = nullptr;
  std::uint64_t calls_ = 0;
};

namespace {

[[noreturn]] void be_rank(const std::function<Status()>& body) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Why it has failed is what rank 0 finds out, too.
  _exit(body() ? 0 : 1);
}

}  // namespace

Result<std::unique_ptr<CalibrationRanks>> CalibrationRanks::start(std::int32_t ranks) {
  HOCKET_TRY(const MeetingPlace place, MeetingPlace::random());
  std::unique_ptr<CalibrationRanks> all(new CalibrationRanks);
  for (std::int32_t rank = 1; rank < ranks; ++rank) {
    const pid_t pid = fork();
    if (pid < 0) return fail(ErrorKind::system, "can't start rank {} of {}: {}", rank, ranks, std::strerror(errno));
    if (pid == 0) {
      be_rank([&]() -> Status {
        HOCKET_TRY(const std::unique_ptr<Rank> own, Rank::join(place, rank, ranks));
        for (;;) {
          Trial trial;
          double unused = 0;
          HOCKET_TRY(const bool goes_on, own->run(trial, unused));
          if (!goes_on) return {};
        }
      });
    }
    all->others_.push_back(pid);
  }
  HOCKET_TRY(all->own_, Rank::join(place, 0, ranks));
  return all;
}

CalibrationRanks::~CalibrationRanks() {
  Trial stop;
  stop.stop = true;
  double unused = 0;
  const bool told = own_ && own_->run(stop, unused);
  for (const pid_t pid : others_) {
    if (!told) kill(pid, SIGKILL);
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
  }
}

Result<std::int64_t> CalibrationRanks::round_ns() {
  if (own_->share_cores()) return 0;
  Trial look;
  look.looks = true;
  double fastest = std::numeric_limits<double>::max();
  for (int i = 0; i < looks; ++i) {
    HOCKET_TRY(const double seconds, time(look));
    fastest = std::min(fastest, seconds);
  }
  return static_cast<std::int64_t>(fastest * 1e9);
}

Result<double> CalibrationRanks::time(const Trial& trial) {
  Trial given = trial;
  double seconds = 0;
  HOCKET_CHECK(own_->run(given, seconds));
  return seconds;
}

}  // namespace hocket
