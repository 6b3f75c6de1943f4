# libtorch from the Python wheel, in the one version that scripts/requirements.txt pins.

file(STRINGS "${PROJECT_SOURCE_DIR}/scripts/requirements.txt" pin REGEX "^torch==")
string(REPLACE "torch==" "" HOCKET_TORCH_VERSION "${pin}")

# Ask Python where the package is without importing it, which would take two seconds.
if(NOT Torch_DIR AND EXISTS "${HOCKET_PYTHON}")
  execute_process(
    COMMAND "${HOCKET_PYTHON}" -I -c # -I: pip hides from builds what is installed, through the environment
      "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
    OUTPUT_VARIABLE torch_package OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(torch_package)
    list(APPEND CMAKE_PREFIX_PATH "${torch_package}/share/cmake")
  endif()
endif()

set(kineto_LIBRARY torch) # not in the wheel and not needed; without this TorchConfig warns about it
find_package(Torch QUIET)
if(NOT Torch_FOUND)
  message(FATAL_ERROR
    "libtorch not found: no torch package in ${HOCKET_PYTHON} and no Torch in CMAKE_PREFIX_PATH\n"
    "Run ./hk setup, or set HOCKET_PYTHON to a Python with torch==${HOCKET_TORCH_VERSION}, "
    "or build without it: -DHOCKET_TORCH=OFF")
endif()
if(NOT Torch_VERSION VERSION_EQUAL HOCKET_TORCH_VERSION)
  message(FATAL_ERROR "libtorch ${Torch_VERSION} found in ${Torch_DIR}, expected ${HOCKET_TORCH_VERSION}: "
    "run ./hk setup, or pip install torch==${HOCKET_TORCH_VERSION}")
endif()
set(HOCKET_TORCH_ROOT "${TORCH_INSTALL_PREFIX}")

# The wheel brings fmt's headers in a version of its own, but spdlog and hocket_core are built with the system's. This
# folder holds the system's fmt alone and is searched before libtorch's headers, so that there is one fmt in a program.
find_path(HOCKET_FMT_INCLUDE fmt/format.h NO_CMAKE_PATH REQUIRED)
set(HOCKET_FMT_FIRST "${PROJECT_BINARY_DIR}/fmt_first")
file(MAKE_DIRECTORY "${HOCKET_FMT_FIRST}")
file(CREATE_LINK "${HOCKET_FMT_INCLUDE}/fmt" "${HOCKET_FMT_FIRST}/fmt" SYMBOLIC)
