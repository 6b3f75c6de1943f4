// A progress bar on stderr for work that takes longer than a second; silent where stderr is no terminal.
//
//   Progress progress("verify", graphs.size());
//   for (auto& graph : graphs) { …; progress.advance(); }
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace hocket {

class Progress {
 public:
  Progress(std::string what, std::int64_t total);
  ~Progress();  // wipes the bar
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(std::int64_t steps = 1);

  // "verify  [#####     ]  50 %  3/6", as it is drawn in `width` columns.
  std::string line(int width) const;

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  std::int64_t total_;
  std::int64_t done_ = 0;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point start_;
  Clock::time_point last_draw_;
};

}  // namespace hocket
