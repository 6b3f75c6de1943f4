// Which instruction sets the reductions are compiled for. Included before anything of Highway.
#pragma once

// Compiling takes its time for each set, and these two have no instruction that would make a reduction faster than the next
// older set does.
#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_SSSE3)
