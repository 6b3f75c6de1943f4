// As the peer of a receive: whoever sends first with its tag. MailBatch::from says who it was.
#pragma once

#include <cstdint>
#include <limits>

namespace hocket {

// Not -1, which is what a place that was not found often is: that stays an error.
inline constexpr std::int32_t any_source = std::numeric_limits<std::int32_t>::min();

}  // namespace hocket
