// As the peer of a receive: whoever sends first with its tag. MailBatch::from says who it was.
#pragma once

#include <cstdint>

namespace hocket {

inline constexpr std::int32_t any_source = -1;

}  // namespace hocket
