# The two libraries: hocket_core from the rooms that need no libtorch, hocket from the room torch.

set(HOCKET_CORE_ROOMS base ir cost fuse fsdp lower schedule plan compile sim comm run report)

set(core_patterns)
foreach(room IN LISTS HOCKET_CORE_ROOMS)
  list(APPEND core_patterns "${PROJECT_SOURCE_DIR}/src/${room}/*.cpp")
endforeach()
hocket_sources(core_sources ${core_patterns})

add_library(hocket_core ${core_sources})
add_library(hocket::core ALIAS hocket_core)
hocket_own_code(hocket_core)
# A reduction is thousands of vectors by value, over which sanitizers take compilers minutes, and g++ a quarter of an hour and 3 GB for each file.
set(vector_options)
if(HOCKET_SANITIZE STREQUAL "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(vector_options -fno-sanitize-address-use-after-scope -g1)
elseif(HOCKET_SANITIZE STREQUAL "fuzzer")
  set(vector_options -fno-sanitize=all -g1) # no reader gets there
endif()
if(vector_options)
  file(GLOB vector_code CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/comm/reduce*.cpp")
  set_source_files_properties(${vector_code} PROPERTIES COMPILE_OPTIONS "${vector_options}" SKIP_PRECOMPILE_HEADERS ON)
endif()
set_target_properties(hocket_core PROPERTIES EXPORT_NAME core)
target_include_directories(hocket_core PUBLIC
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
string(REGEX MATCH "^[0-9]+" HOCKET_FMT_MAJOR "${fmt_VERSION}")
target_compile_definitions(hocket_core PUBLIC HOCKET_FMT_MAJOR=${HOCKET_FMT_MAJOR})
target_link_libraries(hocket_core
  PUBLIC fmt::fmt spdlog::spdlog Threads::Threads
  PRIVATE simdjson::simdjson PkgConfig::hocket_xxhash PkgConfig::hocket_deflate PkgConfig::hocket_highway)
# Headers alone, used in sources alone: a program that links with hocket need not have them.
target_include_directories(hocket_core SYSTEM PRIVATE
  $<TARGET_PROPERTY:nlohmann_json::nlohmann_json,INTERFACE_INCLUDE_DIRECTORIES>)
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/base/version.cpp" PROPERTIES
  COMPILE_DEFINITIONS "HOCKET_VERSION=\"${PROJECT_VERSION}\"")
target_precompile_headers(hocket_core PRIVATE
  <fmt/format.h> <tl/expected.hpp> <algorithm> <functional> <map> <memory> <optional> <string> <unordered_map> <variant> <vector>)

include(HocketPage)

set(HOCKET_WITH_TORCH 0)

if(HOCKET_TORCH)
  hocket_sources(torch_sources "${PROJECT_SOURCE_DIR}/src/torch/*.cpp")
  if(NOT torch_sources)
    message(STATUS "src/torch has no sources: building without libtorch")
    return()
  endif()

  add_library(hocket ${torch_sources})
  add_library(hocket::hocket ALIAS hocket)
  hocket_own_code(hocket)
  target_include_directories(hocket SYSTEM BEFORE PUBLIC
    "$<BUILD_INTERFACE:${HOCKET_FMT_FIRST}>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_LIBDIR}/hocket/fmt_first>")
  target_link_libraries(hocket PUBLIC hocket_core torch)
  target_precompile_headers(hocket PRIVATE <ATen/ATen.h> <torch/library.h>)
  set_source_files_properties("${PROJECT_SOURCE_DIR}/src/torch/gloo_backend.cpp" PROPERTIES
    INCLUDE_DIRECTORIES "${PROJECT_SOURCE_DIR}/src/torch/gloo_names")
  # What World::join() needs on several hosts is in the library, but nobody calls it by name.
  target_link_options(hocket INTERFACE LINKER:--undefined=hocket_provides_gloo)
  set(HOCKET_WITH_TORCH 1)
endif()
