# Benchmarks: each bench/bench_NAME.cpp is a program bench/bench_NAME in the build directory, run by `./hk bench NAME`.
# Those in bench/torch need libtorch. The other files of bench/ are what they share. The target `benchmarks` has all of them;
# `all` has none, since the tests do without.

find_package(benchmark REQUIRED)

set(bench_folder "${PROJECT_SOURCE_DIR}/bench")
file(GLOB bench_sources CONFIGURE_DEPENDS "${bench_folder}/bench_*.cpp")
file(GLOB torch_bench_sources CONFIGURE_DEPENDS "${bench_folder}/torch/bench_*.cpp")
file(GLOB shared_sources CONFIGURE_DEPENDS "${bench_folder}/*.cpp")
list(REMOVE_ITEM shared_sources ${bench_sources})

if(shared_sources)
  add_library(hocket_bench_support STATIC EXCLUDE_FROM_ALL ${shared_sources})
  hocket_own_code(hocket_bench_support)
  target_include_directories(hocket_bench_support PUBLIC "${bench_folder}")
  target_compile_definitions(hocket_bench_support PRIVATE HOCKET_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(hocket_bench_support
    PUBLIC hocket_core CLI11::CLI11 nlohmann_json::nlohmann_json benchmark::benchmark)
endif()

function(hocket_benchmark source library)
  cmake_path(GET source STEM stem)
  add_executable(${stem} EXCLUDE_FROM_ALL "${source}")
  hocket_own_code(${stem})
  target_include_directories(${stem} PRIVATE "${bench_folder}")
  target_compile_definitions(${stem} PRIVATE HOCKET_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data" HOCKET_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${stem} PRIVATE $<TARGET_NAME_IF_EXISTS:hocket_bench_support>
    ${library} CLI11::CLI11 nlohmann_json::nlohmann_json benchmark::benchmark)
  set_target_properties(${stem} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
  add_dependencies(benchmarks ${stem})
endfunction()

foreach(source IN LISTS bench_sources)
  hocket_benchmark("${source}" hocket_core)
endforeach()
if(HOCKET_WITH_TORCH)
  foreach(source IN LISTS torch_bench_sources)
    hocket_benchmark("${source}" hocket)
  endforeach()
endif()
include(HocketBenchComm)
include(HocketBenchTrain)

# `./hk bench python`: Python, with the package as it is built.
target_compile_definitions(bench_python PRIVATE
  HOCKET_PACKAGE_FOLDER="${PROJECT_BINARY_DIR}/python" HOCKET_PACKAGE_PYTHON="${HOCKET_PYTHON}")
if(TARGET hocket_python)
  add_dependencies(bench_python hocket_python)
endif()
