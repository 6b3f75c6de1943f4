// Whether this code is compiled for a sanitizer: g++ says so with a macro, clang++ when it is asked.
#pragma once

namespace hocket {

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HOCKET_THREAD_SANITIZER
#endif
#if __has_feature(address_sanitizer)
#define HOCKET_ADDRESS_SANITIZER
#endif
#endif

#if defined(__SANITIZE_THREAD__) || defined(HOCKET_THREAD_SANITIZER)
inline constexpr bool under_thread_sanitizer = true;
#else
inline constexpr bool under_thread_sanitizer = false;
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(HOCKET_ADDRESS_SANITIZER)
inline constexpr bool under_address_sanitizer = true;
#else
inline constexpr bool under_address_sanitizer = false;
#endif

}  // namespace hocket
