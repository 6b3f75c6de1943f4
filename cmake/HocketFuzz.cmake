# Fuzz targets, one program for each tests/fuzz/*_fuzz.cpp; all of them: the target fuzz_targets. They take libFuzzer's arguments whether
# libFuzzer drives them (preset fuzz) or seeded_main.cpp, so that one line runs either: -runs=N -seed=S FOLDER...
# libFuzzer writes what it finds into the first folder, so that one is in the build directory.

set(HOCKET_FUZZ_SECONDS 60 CACHE STRING "Seconds that libFuzzer has for each target in ./hk test --all")

file(GLOB fuzz_sources CONFIGURE_DEPENDS "${tests_folder}/fuzz/*_fuzz.cpp")
add_custom_target(fuzz_targets)
foreach(source IN LISTS fuzz_sources)
  cmake_path(GET source STEM stem)
  add_executable(${stem} "${source}")
  hocket_own_code(${stem})
  target_link_libraries(${stem} PRIVATE hocket_core)
  target_include_directories(${stem} PRIVATE "${tests_folder}")
  set_target_properties(${stem} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/fuzz")
  add_dependencies(fuzz_targets ${stem})
  if(HOCKET_SANITIZE STREQUAL "fuzzer")
    target_link_options(${stem} PRIVATE -fsanitize=fuzzer)
    # An input of some kilobytes that takes ten seconds or a gigabyte is a defect like a crash.
    set(long_runs -max_total_time=${HOCKET_FUZZ_SECONDS} -timeout=10 -rss_limit_mb=1024 -print_final_stats=1)
  else()
    target_sources(${stem} PRIVATE "${tests_folder}/fuzz/seeded_main.cpp")
    math(EXPR many "${HOCKET_FUZZ_RUNS} * 50")
    set(long_runs -runs=${many} -seed=2)
  endif()

  set(found "${PROJECT_BINARY_DIR}/tests/fuzz/found/${stem}")
  file(MAKE_DIRECTORY "${found}")
  set(folders "${found}")
  if(EXISTS "${tests_folder}/fuzz/corpus/${stem}")
    list(APPEND folders "${tests_folder}/fuzz/corpus/${stem}")
  endif()
  add_test(NAME fuzz.${stem} COMMAND ${stem} -runs=${HOCKET_FUZZ_RUNS} -seed=1 ${folders}
    WORKING_DIRECTORY "${found}")
  add_test(NAME fuzz.${stem}.long COMMAND ${stem} ${long_runs} ${folders}
    WORKING_DIRECTORY "${found}")
  set_tests_properties(fuzz.${stem} PROPERTIES TIMEOUT 300)
  set_tests_properties(fuzz.${stem}.long PROPERTIES TIMEOUT 3600 LABELS long)
endforeach()
