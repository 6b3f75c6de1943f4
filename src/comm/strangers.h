// Processes that are none of the ranks and compute on the same cores. Who yields to one of them waits for the rest of its time
// slice, some milliseconds; who sleeps is let in when woken. So a thread that has met one sleeps in its next waits, and then tries
// again: after the more waits the more often it has met one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace hocket {

// All threads of the machine that run or could run now, as the kernel counts them. Takes some microseconds. The largest number where it
// can't be found out.
std::int64_t threads_to_run();
// The same of the text of /proc/loadavg.
std::int64_t threads_to_run(std::string_view loadavg);

class Strangers {
 public:
  static constexpr int fewest_waits = 8;
  static constexpr int most_waits = 256;

  // Asked once in each wait: is it better to sleep at once?
  bool expected() {
    if (waits_asleep_ == 0) return false;
    --waits_asleep_;
    return true;
  }
  void met() {
    waits_asleep_ = next_time_;
    next_time_ = std::min(2 * next_time_, most_waits);
  }
  void not_met() { next_time_ = std::max(next_time_ / 2, fewest_waits); }

 private:
  int waits_asleep_ = 0;
  int next_time_ = fewest_waits;
};

}  // namespace hocket
