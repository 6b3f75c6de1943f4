// hocket as a contestant of `./hk bench train`.
//
//   contestant_train CONTROL AFFINITY [ADDRESS]      one rank, started by hocket's or MPI's launcher; ADDRESS of rank 0 on the link
//
//   driver: make compiled gpt_4x256         answer: fine
//   driver: run compiled 5                  answer: times NS…          one for each step
//   driver: tell compiled                   answer: times LOSS [PLANNED GROWN OF_KERNELS PREDICTED_NS FIRST_NS COMPUTING_NS]     the loss in billionths
//   driver: drop compiled                   answer: fine
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <chrono>
#include <map>
#include <sstream>

#include "comm/rank_loop.h"
#include "hocket/comm/launch_info.h"
#include "ways.h"

namespace hocket::train_bench {
namespace {

using comm_bench::Answer;
using Clock = std::chrono::steady_clock;

class Rank {
 public:
  Rank(World world, std::string address) : world_(std::move(world)), address_(std::move(address)) {}

  Answer answer_to(const std::string& line) {
    Result<Answer> answer = done(line);
    if (answer) return std::move(*answer);
    return {Answer::Kind::failed, {}, answer.error().to_string()};
  }

 private:
  struct Entry {
    Way way;
    double loss = 0;
  };

  Result<Answer> done(const std::string& line) {
    std::istringstream words(line);
    std::string verb, name;
    words >> verb >> name;
    if (verb == "make") {
      std::string model;
      words >> model;
      HOCKET_TRY(Way way, make_way(name, model, world_, address_));
      ways_[name] = {std::move(way)};
      return Answer{};
    }
    const auto found = ways_.find(name);
    if (found == ways_.end()) return fail(ErrorKind::usage, "\"{}\": no way {} was made", line, name);
    if (verb == "drop") {
      ways_.erase(found);
      return Answer{};
    }
    if (verb == "tell") return told(found->second);
    int steps = 0;
    words >> steps;
    return run(found->second, steps);
  }

  Result<Answer> run(Entry& entry, int steps) {
    HOCKET_TRY(const Communicator all, world_.communicator());
    Answer answer{Answer::Kind::times};
    CallOptions blocking;
    blocking.blocking = true;
    HOCKET_CHECK(all.barrier(blocking).wait());
    for (int i = 0; i < steps; ++i) {
      const auto start = Clock::now();
      HOCKET_TRY(entry.loss, entry.way.step());
      if (i + 1 == steps) HOCKET_CHECK(entry.way.finish());
      answer.ns.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count());
    }
    return answer;
  }

  static Answer told(const Entry& entry) {
    Answer answer{Answer::Kind::times, {entry.loss * 1e9}};
    if (entry.way.memory.empty()) return answer;
    answer.ns.insert(answer.ns.end(), entry.way.memory.begin(), entry.way.memory.end());
    answer.ns.push_back(entry.way.predicted_ns);
    for (const double ns : entry.way.last_run()) answer.ns.push_back(ns);
    return answer;
  }

  World world_;
  std::string address_;
  std::map<std::string, Entry> ways_;
};

Status be_rank(const std::string& control, const std::string& affinity, const std::string& address) {
  comm_bench::start_watchdog();
  HOCKET_TRY(const LaunchInfo started, launch_info());
  HOCKET_CHECK(comm_bench::bind_to_cores(affinity, started.rank));  // before threads are started, which inherit it
  at::set_num_threads(1);
  HOCKET_TRY(const World world, World::join());
  Rank rank(world, address);
  return comm_bench::serve_lines(control, world.rank(), [&](const std::string& line) { return rank.answer_to(line); });
}

}  // namespace
}  // namespace hocket::train_bench

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    fmt::print(stderr, "got {} arguments, expected CONTROL AFFINITY [ADDRESS]\n", argc - 1);
    return 2;
  }
  const hocket::Status status = hocket::train_bench::be_rank(argv[1], argv[2], argc == 4 ? argv[3] : "");
  if (!status) fmt::print(stderr, "{}\n", status.error().to_string());
  return status ? 0 : 1;
}
