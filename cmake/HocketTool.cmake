# The command line: bin/hocket, which starts at once because it does without libtorch, and beside it bin/hocket-torch, which
# has the same commands and libtorch. What needs libtorch is behind functions with two implementations: tools/hocket/with_torch
# in hocket-torch, and tools/hocket/no_torch in hocket, which hands over to hocket-torch.

# What `./hk build` builds: the libraries and the command, no tests and benchmarks.
add_custom_target(hocket_product)
add_dependencies(hocket_product hocket_core)
if(HOCKET_WITH_TORCH)
  add_dependencies(hocket_product hocket)
endif()

set(tool_folder "${PROJECT_SOURCE_DIR}/tools/hocket")
hocket_sources(tool_sources "${tool_folder}/*.cpp")
if(NOT tool_sources)
  message(STATUS "tools/hocket has no sources: no command is built")
  return()
endif()

# What both programs have.
add_library(hocket_commands OBJECT ${tool_sources})
hocket_own_code(hocket_commands)
target_include_directories(hocket_commands PUBLIC "${tool_folder}")
target_link_libraries(hocket_commands PUBLIC hocket_core CLI11::CLI11 nlohmann_json::nlohmann_json)
# What takes time is in the library. Templates of these two headers take most of a file's compilation.
target_compile_options(hocket_commands PRIVATE $<$<CONFIG:RelWithDebInfo,Release>:-O1>)
target_precompile_headers(hocket_commands PRIVATE <CLI/CLI.hpp> <nlohmann/json.hpp> <fmt/format.h>)

# hocket_program(TARGET NAME LIBRARY FOLDER): FOLDER has the sources that the other program has not.
function(hocket_program target name library folder)
  hocket_sources(own_sources "${tool_folder}/${folder}/*.cpp")
  add_executable(${target} ${own_sources})
  hocket_own_code(${target})
  target_link_libraries(${target} PRIVATE hocket_commands ${library})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin"
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  add_dependencies(hocket_product ${target})
endfunction()

hocket_program(hocket_tool hocket hocket_core no_torch)
if(HOCKET_WITH_TORCH)
  hocket_program(hocket_torch_tool hocket-torch hocket with_torch)
  set_property(TARGET hocket_torch_tool APPEND PROPERTY INSTALL_RPATH "${HOCKET_TORCH_ROOT}/lib")
  add_dependencies(hocket_tool hocket_torch_tool) # whoever builds and runs the command has all of it
endif()
