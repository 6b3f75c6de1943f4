# Tests. New files are found by themselves:
#   src/<room>/*_test.cpp      -> program <room>_test, tests named <room>.Suite.name
#   tests/<folder>/*_test.cpp  -> program <folder>_test, with the folder's other files and the path of the built command in HOCKET_TEST_TOOL
#   tests/<folder>/x_program.cpp -> a program of its own for the tests of the folder to start, HOCKET_TEST_PROGRAMS/x_program
#   tests/fuzz/*_fuzz.cpp      -> one program each, run on seeded inputs, or by libFuzzer in the preset fuzz
# A GoogleTest test or suite whose name begins with Long gets the label `long`, which `./hk test` leaves out.

include(GoogleTest)
find_package(GTest REQUIRED)
find_package(rapidcheck REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(tests_folder "${PROJECT_SOURCE_DIR}/tests")

include(HocketFuzz)
if(HOCKET_SANITIZE STREQUAL "fuzzer")
  return() # libFuzzer's instrumentation is for its own targets
endif()

# What all test code is compiled and linked with. tests/support has the fixtures, included as "support/x.h".
add_library(hocket_test_support INTERFACE)
target_include_directories(hocket_test_support INTERFACE "${tests_folder}")
target_compile_definitions(hocket_test_support INTERFACE HOCKET_TEST_DATA="${tests_folder}/data")
target_compile_options(hocket_test_support INTERFACE
  -fPIC                                  # as in the libraries, whose precompiled header the tests of torch share
  $<$<CONFIG:RelWithDebInfo,Release>:-O1>) # test code runs once: compile it faster
target_link_libraries(hocket_test_support INTERFACE hocket_core GTest::gmock rapidcheck nlohmann_json::nlohmann_json)

# One precompiled header for all test programs. CMake wants a source with it.
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/tests/precompiled.cpp" CONTENT "")
add_library(hocket_test_precompiled OBJECT "${PROJECT_BINARY_DIR}/tests/precompiled.cpp")
hocket_own_code(hocket_test_precompiled)
target_link_libraries(hocket_test_precompiled PRIVATE hocket_test_support)
target_precompile_headers(hocket_test_precompiled PRIVATE
  <gtest/gtest.h> <gmock/gmock.h> <fmt/format.h> <tl/expected.hpp>)

file(GLOB support_sources CONFIGURE_DEPENDS "${tests_folder}/support/*.cpp")
if(support_sources)
  add_library(hocket_test_fixtures STATIC ${support_sources})
  hocket_own_code(hocket_test_fixtures)
  target_link_libraries(hocket_test_fixtures PRIVATE hocket_test_support)
  target_precompile_headers(hocket_test_fixtures REUSE_FROM hocket_test_precompiled)
endif()

# hocket_gtest(NAME LIBRARY SOURCE...) makes the program NAME_test.
function(hocket_gtest name library)
  set(program ${name}_test)
  add_executable(${program} ${ARGN})
  hocket_own_code(${program})
  target_link_libraries(${program} PRIVATE
    $<TARGET_NAME_IF_EXISTS:hocket_test_fixtures> hocket_test_support ${library} GTest::gmock_main)
  set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  if(library STREQUAL "hocket")
    target_precompile_headers(${program} REUSE_FROM hocket)
  else()
    target_precompile_headers(${program} REUSE_FROM hocket_test_precompiled)
  endif()

  set(long "Long*:*.Long*:*/Long*")
  set(alone "*Alone.Long*") # they measure time: no other test runs meanwhile
  set(discovery TEST_PREFIX ${name}. NO_PRETTY_TYPES NO_PRETTY_VALUES DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60)
  set(longest 120)
  if(HOCKET_SANITIZE)
    set(longest 600)
  endif()
  gtest_discover_tests(${program} ${discovery} TEST_FILTER "-${long}" PROPERTIES TIMEOUT ${longest})
  gtest_discover_tests(${program} ${discovery} TEST_FILTER "${long}-${alone}" TEST_LIST ${program}_LONG_TESTS
    PROPERTIES LABELS long TIMEOUT 1800)
  gtest_discover_tests(${program} ${discovery} TEST_FILTER "${alone}" TEST_LIST ${program}_LONE_TESTS
    PROPERTIES LABELS long TIMEOUT 1800 RUN_SERIAL TRUE)
endfunction()

foreach(room IN LISTS HOCKET_CORE_ROOMS)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${room}/*_test.cpp")
  if(sources)
    hocket_gtest(${room} hocket_core ${sources})
  endif()
endforeach()
if(HOCKET_WITH_TORCH)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/torch/*_test.cpp")
  if(sources)
    hocket_gtest(torch hocket ${sources})
    target_compile_definitions(torch_test PRIVATE HOCKET_TEST_PYTHON="${HOCKET_PYTHON}") # compares with PyTorch's own
    # Results of collectives that are dropped leave nothing behind. LeakSanitizer needs to be linked and nothing else; it does not get on
    # with ranks that are forked processes.
    if(NOT HOCKET_SANITIZE)
      add_executable(torch_leaks_test "${PROJECT_SOURCE_DIR}/src/torch/async_tensor_test.cpp")
      hocket_own_code(torch_leaks_test)
      target_link_libraries(torch_leaks_test PRIVATE
        $<TARGET_NAME_IF_EXISTS:hocket_test_fixtures> hocket_test_support hocket GTest::gmock_main)
      target_link_options(torch_leaks_test PRIVATE -fsanitize=leak)
      target_precompile_headers(torch_leaks_test REUSE_FROM hocket)
      set_target_properties(torch_leaks_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
      add_test(NAME torch.no_leaks_of_async_tensors
        COMMAND torch_leaks_test --gtest_filter=-*throws_where_a_rank_has_died*)
      set_tests_properties(torch.no_leaks_of_async_tensors PROPERTIES TIMEOUT 120)
    endif()
  endif()
endif()

file(GLOB sources CONFIGURE_DEPENDS "${tests_folder}/*/*_test.cpp")
list(FILTER sources EXCLUDE REGEX "/tests/support/")
# What a killed process does to others is no race of threads, and it is promised in times that ThreadSanitizer doesn't keep.
if(HOCKET_SANITIZE STREQUAL "thread")
  list(FILTER sources EXCLUDE REGEX "/tests/faults/")
endif()
# Relacy runs threads as fibers, which sanitizers take for errors of the stack.
find_path(HOCKET_RELACY relacy/relacy.hpp DOC "Where relacy/relacy.hpp is, for the model checks")
if(NOT HOCKET_RELACY OR HOCKET_SANITIZE)
  list(FILTER sources EXCLUDE REGEX "/tests/model/")
  if(NOT HOCKET_RELACY)
    message(STATUS "no model checks of the protocols between ranks: install relacy-dev")
  endif()
endif()
set(folders "${sources}")
list(TRANSFORM folders REPLACE "/[^/]*$" "")
list(REMOVE_DUPLICATES folders)
foreach(folder IN LISTS folders)
  cmake_path(GET folder FILENAME name)
  file(GLOB folder_sources CONFIGURE_DEPENDS "${folder}/*.cpp") # what the tests of a folder share, too
  set(programs ${folder_sources})
  list(FILTER programs INCLUDE REGEX "_program\\.cpp$")
  list(FILTER folder_sources EXCLUDE REGEX "_program\\.cpp$")
  hocket_gtest(${name} hocket_core ${folder_sources})
  set(programs_folder "${PROJECT_BINARY_DIR}/tests/${name}")
  foreach(source IN LISTS programs)
    cmake_path(GET source STEM program)
    add_executable(${program} "${source}")
    hocket_own_code(${program})
    target_link_libraries(${program} PRIVATE hocket_core)
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${programs_folder}")
    add_dependencies(${name}_test ${program})
    target_compile_definitions(${name}_test PRIVATE HOCKET_TEST_PROGRAMS="${programs_folder}")
  endforeach()
  if(TARGET hocket_tool)
    target_compile_definitions(${name}_test PRIVATE HOCKET_TEST_TOOL="$<TARGET_FILE:hocket_tool>")
    add_dependencies(${name}_test hocket_tool)
  endif()
endforeach()

# Ranks on several hosts over gloo: the same programs linked with libtorch, HOCKET_TEST_PROGRAMS/torch_x_program, and those of
# tests/hosts/torch.
if(HOCKET_WITH_TORCH AND TARGET hosts_test)
  file(GLOB programs CONFIGURE_DEPENDS "${tests_folder}/hosts/*_program.cpp" "${tests_folder}/hosts/torch/*_program.cpp")
  foreach(source IN LISTS programs)
    cmake_path(GET source STEM program)
    add_executable(torch_${program} "${source}")
    hocket_own_code(torch_${program})
    target_include_directories(torch_${program} PRIVATE "${tests_folder}/hosts")
    target_link_libraries(torch_${program} PRIVATE hocket)
    set_target_properties(torch_${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/hosts")
    add_dependencies(hosts_test torch_${program})
  endforeach()
endif()
if(TARGET hosts_test)
  target_compile_definitions(hosts_test PRIVATE HOCKET_TEST_PYTHON="${HOCKET_PYTHON}") # whose torchrun starts ranks
endif()

# Checks of the tree itself, once and not for each sanitizer.
if(NOT HOCKET_SANITIZE)
  set(python "${Python3_EXECUTABLE}" -B)
  add_test(NAME includes COMMAND ${python} "${tests_folder}/includes/check_includes.py")
  add_test(NAME names COMMAND ${python} "${tests_folder}/includes/check_names.py")
  add_test(NAME names.self_test COMMAND ${python} "${tests_folder}/includes/check_names_test.py")
  add_test(NAME includes.self_test COMMAND ${python} "${tests_folder}/includes/check_includes_test.py")
  if(HOCKET_WITH_TORCH) # some of the tests need it
    add_test(NAME promises COMMAND ${python} "${PROJECT_SOURCE_DIR}/scripts/promises.py" --ctest "${PROJECT_BINARY_DIR}")
  endif()
  add_test(NAME hk.usage COMMAND "${PROJECT_SOURCE_DIR}/scripts/hk_test.sh")
  add_test(NAME docs.self_test COMMAND ${python} "${tests_folder}/docs/run_blocks_test.py")
  if(TARGET hocket_tool)
    set(package_python)
    if(TARGET hocket_python)
      set(package_python --python "${HOCKET_PYTHON}")
    endif()
    set(run_blocks ${python} "${tests_folder}/docs/run_blocks.py" ${package_python}
      --build "${PROJECT_BINARY_DIR}" --tool $<TARGET_FILE:hocket_tool> --torch ${HOCKET_WITH_TORCH}
      --cmake "${CMAKE_COMMAND}" --cxx "${CMAKE_CXX_COMPILER}")
    add_test(NAME docs COMMAND ${run_blocks})
    set_tests_properties(docs PROPERTIES TIMEOUT 1200)
    # What the test would compile itself, beside tests that measure times.
    add_custom_target(docs_blocks COMMAND ${run_blocks} --compile VERBATIM)
    add_dependencies(docs_blocks hocket_tool)
    add_test(NAME page COMMAND ${python} "${tests_folder}/page/page_test.py" --tool $<TARGET_FILE:hocket_tool>)
    set_tests_properties(page PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
  endif()
  if(HOCKET_INSTALL)
    foreach(way find_package pkg_config add_subdirectory)
      add_test(NAME install.${way} COMMAND ${python} "${tests_folder}/install/install_test.py" ${way}
        --build "${PROJECT_BINARY_DIR}" --torch ${HOCKET_WITH_TORCH}
        --cmake "${CMAKE_COMMAND}" --cxx "${CMAKE_CXX_COMPILER}")
      set_tests_properties(install.${way} PROPERTIES TIMEOUT 600)
    endforeach()
    set_tests_properties(install.add_subdirectory PROPERTIES LABELS long TIMEOUT 3600)
    if(HOCKET_WITH_TORCH)
      add_test(NAME install.examples COMMAND ${python} "${tests_folder}/install/install_test.py" examples
        --build "${PROJECT_BINARY_DIR}" --torch 1 --cmake "${CMAKE_COMMAND}" --cxx "${CMAKE_CXX_COMPILER}")
      set_tests_properties(install.examples PROPERTIES LABELS long TIMEOUT 1800)
    endif()
  endif()
endif()

if(HOCKET_WITH_TORCH AND NOT HOCKET_SANITIZE)
  include(HocketExamples)
endif()

# The Python package: one test for all that is quick, since every Python takes seconds to import PyTorch, and one for what is marked
# long in each file python/tests/test_NAME.py.
if(TARGET hocket_python)
  file(GLOB files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/python/tests/test_*.py")
  set(pytest "${HOCKET_PYTHON}" -B -m pytest -q -p no:cacheprovider)
  foreach(file IN LISTS files)
    cmake_path(GET file STEM stem)
    string(REPLACE "test_" "" name "${stem}")
    add_test(NAME python.${name}.long COMMAND ${pytest} -m "long" "${file}")
    set_tests_properties(python.${name}.long PROPERTIES TIMEOUT 3600 LABELS long)
    list(APPEND python_tests python.${name}.long)
  endforeach()
  add_test(NAME python COMMAND ${pytest} -m "not long" "${PROJECT_SOURCE_DIR}/python/tests")
  set_tests_properties(python PROPERTIES TIMEOUT 900)
  # 5: no test of this kind in the file
  set_tests_properties(python ${python_tests} PROPERTIES
    SKIP_RETURN_CODE 5
    ENVIRONMENT "PYTHONPATH=${PROJECT_BINARY_DIR}/python;OMP_NUM_THREADS=1;HOCKET_TEST_TOOL=$<TARGET_FILE:hocket_tool>")
endif()
