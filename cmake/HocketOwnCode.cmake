# What holds for all of hocket's own code and for nothing else: language, warnings, sanitizers, include roots.

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo)
  endif()
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  find_program(HOCKET_CCACHE ccache)
  if(HOCKET_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${HOCKET_CCACHE}")
  endif()
endif()

set(hocket_warnings -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  -Wimplicit-fallthrough -Wextra-semi
  -Wno-sign-conversion) # g++ has it apart from -Wconversion, clang inside it: the same for both
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # -Wmaybe-uninitialized is wrong about values moved out of tl::expected and std::optional, and about code under a sanitizer;
  # clang's -Wuninitialized and the sanitizers watch over this.
  list(APPEND hocket_warnings -Wduplicated-cond -Wlogical-op -Wno-maybe-uninitialized)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # Wrong about std::string once it is inlined, as in "literal" + string: gcc bug 105651 and its relatives.
    list(APPEND hocket_warnings -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow)
  endif()
endif()
if(HOCKET_WERROR)
  list(APPEND hocket_warnings -Werror)
endif()

if(HOCKET_SANITIZE STREQUAL "")
  set(hocket_sanitize)
elseif(HOCKET_SANITIZE STREQUAL "address")
  set(hocket_sanitize -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(HOCKET_SANITIZE STREQUAL "thread")
  set(hocket_sanitize -fsanitize=thread -fno-omit-frame-pointer)
elseif(HOCKET_SANITIZE STREQUAL "fuzzer")
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "HOCKET_SANITIZE=fuzzer needs clang++, the compiler is ${CMAKE_CXX_COMPILER}")
  endif()
  set(hocket_sanitize -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
else()
  message(FATAL_ERROR "HOCKET_SANITIZE is \"${HOCKET_SANITIZE}\", expected address, thread, fuzzer or nothing")
endif()

# Precompiled headers halve the time that most files take. The presets asan and lint build without them, so that a missing
# #include does not stay hidden.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
  set(hocket_precompiled -fpch-preprocess) # lets ccache see through them
else()
  set(hocket_precompiled)
endif()

# Every target of ours goes through here.
function(hocket_own_code target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE ${hocket_warnings} ${hocket_sanitize} ${hocket_precompiled})
  target_link_options(${target} PRIVATE ${hocket_sanitize})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
endfunction()

# Files that match the patterns, without those of the test programs. An absent folder gives an empty list.
function(hocket_sources result)
  file(GLOB sources CONFIGURE_DEPENDS ${ARGN})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  set(${result} "${sources}" PARENT_SCOPE)
endfunction()
