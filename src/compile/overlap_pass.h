// The pass `overlap`: what to merge and in which order, decided together, written as a graph.
#pragma once

#include "hocket/compile/pass.h"

namespace hocket {

Pass overlap_pass();

}  // namespace hocket
