# The Python package: python/hocket with the module _C from python/src, together in python/hocket of the build directory, so that
# PYTHONPATH=<build>/python imports it. `pip install .` (pyproject.toml) takes the same target.

if(NOT HOCKET_PACKAGE OR NOT HOCKET_WITH_TORCH OR HOCKET_SANITIZE)
  return()
endif()

execute_process(
  COMMAND "${HOCKET_PYTHON}" -I -c
    "import sysconfig as s; print(s.get_paths()['include'], s.get_config_var('EXT_SUFFIX'), sep=';')"
  OUTPUT_VARIABLE python_says OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
list(GET python_says 0 python_include)
list(GET python_says 1 module_suffix)
if(NOT EXISTS "${python_include}/Python.h")
  message(FATAL_ERROR "no Python.h in ${python_include}: install the headers of ${HOCKET_PYTHON} (python3-dev), "
    "or build without the Python package: -DHOCKET_PACKAGE=OFF")
endif()

set(package_build "${PROJECT_BINARY_DIR}/python/hocket")
hocket_sources(module_sources "${PROJECT_SOURCE_DIR}/python/src/*.cpp")
add_library(hocket_python MODULE ${module_sources})
hocket_own_code(hocket_python)
target_include_directories(hocket_python PRIVATE "${PROJECT_SOURCE_DIR}/python/src")
target_include_directories(hocket_python SYSTEM PRIVATE "${python_include}")
target_compile_definitions(hocket_python PRIVATE HOCKET_TORCH_VERSION="${HOCKET_TORCH_VERSION}")
target_link_libraries(hocket_python PRIVATE hocket nlohmann_json::nlohmann_json "${HOCKET_TORCH_ROOT}/lib/libtorch_python.so")
# Other modules of the process may bring the same libraries in another version.
target_link_options(hocket_python PRIVATE LINKER:--exclude-libs,ALL)
target_precompile_headers(hocket_python PRIVATE <torch/csrc/distributed/c10d/Backend.hpp>)
set_target_properties(hocket_python PROPERTIES
  OUTPUT_NAME _C PREFIX "" SUFFIX "${module_suffix}"
  CXX_VISIBILITY_PRESET hidden
  LIBRARY_OUTPUT_DIRECTORY "${package_build}"
  INSTALL_RPATH "$ORIGIN/../torch/lib")

# The files that people edit, not copies of them.
file(GLOB package_files CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/python/hocket"
  "${PROJECT_SOURCE_DIR}/python/hocket/*.py" "${PROJECT_SOURCE_DIR}/python/hocket/*.pyi" "${PROJECT_SOURCE_DIR}/python/hocket/py.typed")
file(MAKE_DIRECTORY "${package_build}")
foreach(file IN LISTS package_files)
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/python/hocket/${file}" "${package_build}/${file}" SYMBOLIC)
endforeach()

add_dependencies(hocket_product hocket_python)
install(TARGETS hocket_python LIBRARY DESTINATION hocket COMPONENT python EXCLUDE_FROM_ALL)
