# The libraries that hocket stands on. What the installed package needs too is in hocket-dependencies.cmake.

macro(hocket_dependency)
  find_package(${ARGN} REQUIRED)
endmacro()
include(hocket-dependencies)

find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)

if(HOCKET_TORCH)
  include(HocketTorch)
endif()
