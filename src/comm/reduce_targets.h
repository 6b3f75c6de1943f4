// Which instruction sets the reductions are compiled for. Included before anything of Highway.
#pragma once

// Compiling takes its time for each set, and these two have no instruction that would make a reduction faster than the next
// older set does.
#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_SSSE3)

// With checks in every access one set takes minutes to compile: then only the one that all machines have. The code is the same
// for all.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HWY_COMPILE_ONLY_STATIC
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HWY_COMPILE_ONLY_STATIC
#endif
#endif
