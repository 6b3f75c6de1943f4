# The parts of bench_comm: the driver's, which its tests share, and one program for each contestant, bench/contestant_NAME.
# An MPI library that is not on this machine has no program, and bench_comm says so.

set(comm_folder "${bench_folder}/comm")
file(GLOB comm_sources CONFIGURE_DEPENDS "${comm_folder}/*.cpp")
file(GLOB comm_tests CONFIGURE_DEPENDS "${comm_folder}/*_test.cpp")
file(GLOB contestants CONFIGURE_DEPENDS "${comm_folder}/contestant_*.cpp")
list(REMOVE_ITEM comm_sources ${comm_tests} ${contestants})

add_library(hocket_bench_comm STATIC ${comm_sources})
hocket_own_code(hocket_bench_comm)
target_compile_definitions(hocket_bench_comm PRIVATE HOCKET_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
target_link_libraries(hocket_bench_comm PUBLIC hocket_bench_support hocket_core nlohmann_json::nlohmann_json)
# Loops that stand for what memory allows: vectorised in every build that is measured.
set_source_files_properties("${comm_folder}/values.cpp" PROPERTIES COMPILE_OPTIONS "-O3")
target_link_libraries(bench_comm PRIVATE hocket_bench_comm)

# hocket_contestant(NAME SOURCE) makes the program contestant_NAME beside bench_comm.
function(hocket_contestant name source)
  set(program contestant_${name})
  add_executable(${program} EXCLUDE_FROM_ALL "${comm_folder}/${source}")
  hocket_own_code(${program})
  target_link_libraries(${program} PRIVATE hocket_bench_comm)
  set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
  add_dependencies(bench_comm ${program})
endfunction()

# hocket_mpi_contestant(NAME WRAPPER): with the folders and libraries that the compiler wrapper of the MPI library names.
function(hocket_mpi_contestant name wrapper)
  find_program(HOCKET_WRAPPER_${name} ${wrapper})
  mark_as_advanced(HOCKET_WRAPPER_${name})
  if(NOT HOCKET_WRAPPER_${name})
    message(STATUS "no ${wrapper}: bench_comm will measure without it")
    return()
  endif()
  execute_process(COMMAND "${HOCKET_WRAPPER_${name}}" -show OUTPUT_VARIABLE shown OUTPUT_STRIP_TRAILING_WHITESPACE)
  separate_arguments(words UNIX_COMMAND "${shown}")
  set(folders "${words}")
  list(FILTER folders INCLUDE REGEX "^-I")
  list(TRANSFORM folders REPLACE "^-I" "")
  list(FILTER words INCLUDE REGEX "^-[Ll]")
  hocket_contestant(${name} contestant_mpi.cpp)
  target_include_directories(contestant_${name} SYSTEM PRIVATE ${folders})
  target_compile_definitions(contestant_${name} PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX) # the C interface alone
  target_link_libraries(contestant_${name} PRIVATE ${words})
endfunction()

hocket_contestant(hocket contestant_hocket.cpp)
hocket_contestant(floor contestant_floor.cpp)
hocket_mpi_contestant(open_mpi mpicc.openmpi)
hocket_mpi_contestant(mpich mpicc.mpich)

# What ./hk bench comm --pypi has installed.
set(pypi_folder "${PROJECT_SOURCE_DIR}/.cache/contestants")
function(hocket_pypi_contestant name source)
  hocket_contestant(${name} ${source})
  target_include_directories(contestant_${name} SYSTEM PRIVATE "${pypi_folder}/include")
  target_compile_definitions(contestant_${name} PRIVATE MPICH_SKIP_MPICXX)
  target_link_directories(contestant_${name} PRIVATE "${pypi_folder}/lib")
  target_link_libraries(contestant_${name} PRIVATE ${ARGN})
  # What these libraries need in turn stands beside them.
  target_link_options(contestant_${name} PRIVATE "LINKER:-rpath,${pypi_folder}/lib,-rpath-link,${pypi_folder}/lib")
endfunction()
if(EXISTS "${pypi_folder}/hocket-complete")
  hocket_pypi_contestant(intel_mpi contestant_mpi.cpp mpi)
  hocket_pypi_contestant(oneccl contestant_oneccl.cpp ccl mpi)
endif()

if(HOCKET_TESTS)
  hocket_gtest(bench_comm hocket_bench_comm ${comm_tests})
endif()
