#include "group_lane.h"

namespace hocket {

// The number, the calls, what was sent to each place, what was received from each.
void GroupLane::describe(std::int64_t* words) const {
  *words++ = number_;
  *words++ = calls_;
  for (const auto& count : sent_) *words++ = count;
  for (const auto& count : received_) *words++ = count;
}

bool is_quiet(const std::vector<const std::int64_t*>& said) {
  const std::size_t ranks = said.size();
  for (std::size_t one = 0; one < ranks; ++one) {
    if (said[one][1] != said[0][1]) return false;
    const std::int64_t* const sent = said[one] + 2;
    for (std::size_t other = 0; other < ranks; ++other) {
      const std::int64_t* const received = said[other] + 2 + ranks;
      if (sent[other] != received[one]) return false;
    }
  }
  return true;
}

}  // namespace hocket
