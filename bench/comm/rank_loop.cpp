#include "rank_loop.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "line_socket.h"
#include "rank_work.h"

namespace hocket::comm_bench {

namespace {

constexpr unsigned watchdog_seconds = 180;  // above every deadline of the driver

Answer answer_to(RankWork& work, const Task& task) {
  if (task.kind == Task::Kind::release) {
    work.release();
    return {Answer::Kind::fine};
  }
  const Result<Answer> answer = task.kind == Task::Kind::check ? work.check(task) : work.measure(task);
  if (answer) return *answer;
  const bool unable = answer.error().kind == ErrorKind::usage;
  return {unable ? Answer::Kind::unable : Answer::Kind::failed, {}, answer.error().to_string()};
}

}  // namespace

Status bind_to_cores(const std::string& affinity, std::int32_t rank) {
  if (affinity == "any") return {};
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return fail(ErrorKind::system, "sched_getaffinity failed");
  cpu_set_t chosen;
  CPU_ZERO(&chosen);
  const bool each = affinity == "each";
  int place = 0;  // of the core among those allowed
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed)) continue;
    if (each ? place == rank : place < 2) CPU_SET(core, &chosen);
    ++place;
  }
  if (CPU_COUNT(&chosen) == 0)
    return fail(ErrorKind::system, "rank {} needs a core of its own, but there are {}", rank, place);
  if (sched_setaffinity(0, sizeof chosen, &chosen) != 0) return fail(ErrorKind::system, "sched_setaffinity failed");
  return {};
}

Status serve_lines(const std::string& control, std::int32_t rank, const AnswerTo& answer_to) {
  HOCKET_TRY(LineSocket driver, LineSocket::connect(control));
  HOCKET_CHECK(driver.send(to_line(Answer{Answer::Kind::ready, {}, std::to_string(rank)})));
  stop_watchdog();
  for (;;) {
    const Result<std::string> line = driver.receive();
    if (!line || *line == "quit") return {};  // or the driver is gone
    start_watchdog();
    HOCKET_TRY(const Answer answer, answer_to(*line));
    stop_watchdog();
    HOCKET_CHECK(driver.send(to_line(answer)));
  }
}

int serve(Engine& engine, const std::string& control) {
  RankWork work(engine);
  const Status status = serve_lines(control, engine.rank(), [&](const std::string& line) -> Result<Answer> {
    HOCKET_TRY(const Task task, task_from_line(line));
    return answer_to(work, task);
  });
  if (status) return 0;
  fmt::print(stderr, "rank {}: {}\n", engine.rank(), status.error().to_string());
  return 1;
}

void start_watchdog() { alarm(watchdog_seconds); }
void stop_watchdog() { alarm(0); }

}  // namespace hocket::comm_bench
