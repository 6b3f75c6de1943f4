// What is different between two programs or two schedules of one: which steps and collectives are new, gone or elsewhere, and what
// that changed.
//
//   const TimelineDiff difference = diff_timelines(before, after);
//   fmt::print("{}", in_words(difference));
//
// Steps are recognised by their names.
#pragma once

#include <string>
#include <vector>

#include "hocket/report/report_data.h"

namespace hocket {

struct MovedCollective {
  std::string name;
  Nanoseconds start_before, start_after;  // when it is issued
  Nanoseconds wait_before, wait_after;    // when its wait is over; the end of the step where nobody waits
  Nanoseconds exposed_before, exposed_after;
  bool moved = false;  // it stands elsewhere among the steps, not only at another time
};

struct TimelineDiff {
  std::vector<std::string> gone, added;      // steps that take time or communicate
  std::vector<std::string> moved;            // the fewest steps that have to move to get from one order to the other
  std::vector<MovedCollective> collectives;  // that both have, in the order of the second
  std::vector<std::string> collectives_gone, collectives_added;

  bool same_order() const { return gone.empty() && added.empty() && moved.empty(); }
};

TimelineDiff diff_timelines(const ShownTimeline& before, const ShownTimeline& after);
// At most so many collectives, those whose exposed time changed the most.
std::string in_words(const TimelineDiff& diff, std::size_t most = 20);

}  // namespace hocket
