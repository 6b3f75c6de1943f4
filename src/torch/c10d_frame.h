// What the two ends of a C10dLine say to each other.
#pragma once

#include "torch/c10d_line.h"

namespace hocket {

// The bytes of a short letter follow it. The receive is longer than most frames, which gloo and MPI allow.
struct C10dLine::Frame {
  enum class Kind : std::int32_t {
    short_letter,  // a message, which follows in the frame
    long_letter,   // one that waits in the slot
    taken,         // the other end's message in the slot
    seen,          // nothing but the number below
    leaving,       // nothing comes after it
    parted,        // the other end's leaving was heard, and all before it
  };
  Kind kind = Kind::seen;
  std::int32_t tag = 0;
  Digest channel{};
  std::int64_t bytes = 0;
  std::int32_t slot = -1;
  std::int32_t unused = 0;
  std::uint64_t seen = 0;  // frames of the other end
};
inline constexpr std::int32_t index_of_frames = 1;
inline constexpr std::int32_t first_slot = 2;
inline constexpr std::int64_t largest_piece = 1 << 20;

}  // namespace hocket
