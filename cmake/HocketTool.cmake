# The command line, bin/hocket. What it does with libtorch is behind functions with two implementations, of which one is
# compiled: tools/hocket/with_torch or tools/hocket/no_torch.

# What `./hk build` builds: the libraries and the command, no tests and benchmarks.
add_custom_target(hocket_product)
add_dependencies(hocket_product ${hocket_whole})

set(tool_folder "${PROJECT_SOURCE_DIR}/tools/hocket")
if(HOCKET_WITH_TORCH)
  hocket_sources(tool_sources "${tool_folder}/*.cpp" "${tool_folder}/with_torch/*.cpp")
else()
  hocket_sources(tool_sources "${tool_folder}/*.cpp" "${tool_folder}/no_torch/*.cpp")
endif()
if(NOT tool_sources)
  message(STATUS "tools/hocket has no sources: no command is built")
  return()
endif()

add_executable(hocket_tool ${tool_sources})
hocket_own_code(hocket_tool)
target_compile_definitions(hocket_tool PRIVATE HOCKET_WITH_TORCH=${HOCKET_WITH_TORCH})
target_include_directories(hocket_tool PRIVATE "${PROJECT_SOURCE_DIR}/tools/hocket")
target_link_libraries(hocket_tool PRIVATE ${hocket_whole} CLI11::CLI11 nlohmann_json::nlohmann_json)
set_target_properties(hocket_tool PROPERTIES
  OUTPUT_NAME hocket
  RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin"
  INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
if(HOCKET_WITH_TORCH)
  set_property(TARGET hocket_tool APPEND PROPERTY INSTALL_RPATH "${HOCKET_TORCH_ROOT}/lib")
endif()
add_dependencies(hocket_product hocket_tool)
