// The driver's side of one contestant: its processes, and a socket to each rank. Whatever a contestant does, or doesn't do, the
// driver goes on: one that dies or gives no answer in time is ended, and says why to everybody who asks it again.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "line_socket.h"
#include "protocol.h"
#include "roster.h"

namespace hocket::comm_bench {

// After which a contestant counts as stuck. Generous, since a loaded machine is slow.
struct Patience {
  std::chrono::milliseconds start{90'000};
  std::chrono::milliseconds task{120'000};
};

class Contestant {
 public:
  // Returns when all ranks are ready. `folder` exists and is empty.
  static Result<std::unique_ptr<Contestant>> start(const Recipe& recipe, const Setting& setting,
                                                   const std::string& folder, Patience patience = {});
  ~Contestant();
  Contestant(const Contestant&) = delete;
  Contestant& operator=(const Contestant&) = delete;

  const std::string& title() const { return title_; }
  bool alive() const { return failure_.empty(); }
  // All ranks do the task. An error of kind usage: the contestant can't do this, but others; of any other kind: it is gone.
  Result<std::vector<Answer>> ask(const Task& task) { return ask(to_line(task)); }
  Result<std::vector<Answer>> ask(const std::string& line);
  // Of each repetition the slowest rank's time, in microseconds.
  Result<std::vector<double>> measure(const Task& task);

 private:
  Contestant(std::string title, std::string folder, Patience patience)
      : title_(std::move(title)), folder_(std::move(folder)), patience_(patience) {}
  Status begin(const Recipe& recipe, const Setting& setting);
  Result<LineSocket> next_rank(LineListener& listener, Clock::time_point deadline);
  Status greet(LineListener& listener, std::int32_t ranks);
  Result<Answer> receive(std::size_t rank, Clock::time_point deadline);
  // Ends the contestant and remembers why.
  tl::unexpected<Error> give_up(const std::string& why);
  void end_processes();
  // The last lines that its processes have printed.
  std::string last_words() const;

  std::string title_;
  std::string folder_;
  Patience patience_;
  std::vector<pid_t> launched_;
  std::vector<LineSocket> ranks_;
  std::string failure_;
};

}  // namespace hocket::comm_bench
