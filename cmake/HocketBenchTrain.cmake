# `./hk bench train`: the driver, which needs no libtorch, and hocket's contestant, which does.

file(GLOB train_sources CONFIGURE_DEPENDS "${bench_folder}/train/*.cpp")
set(contestant_sources ${train_sources})
list(FILTER train_sources INCLUDE REGEX "(race|judge)\\.cpp$")
list(FILTER contestant_sources EXCLUDE REGEX "(race|judge)\\.cpp$")
target_sources(bench_train PRIVATE ${train_sources} "${PROJECT_SOURCE_DIR}/tests/support/namespaces.cpp")
target_include_directories(bench_train PRIVATE "${PROJECT_SOURCE_DIR}/tests" "${bench_folder}/train")
target_compile_definitions(bench_train PRIVATE HOCKET_MPI_FOLDER="${PROJECT_BINARY_DIR}")
target_link_libraries(bench_train PRIVATE hocket_bench_comm)

if(HOCKET_WITH_TORCH)
  add_executable(contestant_train ${contestant_sources} "${PROJECT_SOURCE_DIR}/tools/hocket/with_torch/gpt.cpp")
  hocket_own_code(contestant_train)
  target_include_directories(contestant_train PRIVATE "${PROJECT_SOURCE_DIR}/tools/hocket" "${bench_folder}/train")
  target_link_libraries(contestant_train PRIVATE hocket hocket_bench_comm)
  set_target_properties(contestant_train PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
  add_dependencies(bench_train contestant_train)
endif()
