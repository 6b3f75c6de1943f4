// What the ranks of one program must have decided alike, as a digest.
#pragma once

#include "hocket/base/digest.h"
#include "hocket/compile/pass.h"

namespace hocket {

// Operators in their order and communication with its sizes. Left out is what ranks may have of their own: names, numbers of ranks
// and devices, offsets that depend on the rank.
Digest decisions_of(const Subject& subject);

}  // namespace hocket
