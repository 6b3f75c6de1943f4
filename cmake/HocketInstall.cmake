# Install rules: headers, libraries, the command, a CMake package with hocket::core and hocket::hocket, pkg-config files.

include(CMakePackageConfigHelpers)

set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/hocket")
set(pkgconfig_folder "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

install(TARGETS hocket_core EXPORT hocketCoreTargets)
install(EXPORT hocketCoreTargets NAMESPACE hocket:: DESTINATION "${package_folder}")
export(EXPORT hocketCoreTargets NAMESPACE hocket:: FILE "${PROJECT_BINARY_DIR}/hocketCoreTargets.cmake")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/hocket" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.h" PATTERN "torch" EXCLUDE)
if(HOCKET_WITH_TORCH)
  install(TARGETS hocket EXPORT hocketTargets)
  install(EXPORT hocketTargets NAMESPACE hocket:: DESTINATION "${package_folder}")
  export(EXPORT hocketTargets NAMESPACE hocket:: FILE "${PROJECT_BINARY_DIR}/hocketTargets.cmake")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/hocket/torch" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/hocket"
    FILES_MATCHING PATTERN "*.h")
  install(DIRECTORY "${HOCKET_FMT_FIRST}" DESTINATION "${CMAKE_INSTALL_LIBDIR}/hocket")
endif()
if(TARGET hocket_tool)
  install(TARGETS hocket_tool)
  if(HOCKET_WITH_TORCH)
    install(TARGETS hocket_torch_tool)
  endif()
endif()

# The same package files stand in the build directory, where the tests of the documentation find them.
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/hocketConfig.cmake.in" "${PROJECT_BINARY_DIR}/hocketConfig.cmake"
  INSTALL_DESTINATION "${package_folder}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/hocketConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
configure_file("${PROJECT_SOURCE_DIR}/cmake/hocket-dependencies.cmake" "${PROJECT_BINARY_DIR}/hocket-dependencies.cmake" COPYONLY)
install(FILES
  "${PROJECT_BINARY_DIR}/hocketConfig.cmake"
  "${PROJECT_BINARY_DIR}/hocketConfigVersion.cmake"
  "${PROJECT_BINARY_DIR}/hocket-dependencies.cmake"
  DESTINATION "${package_folder}")

# The .pc files find their prefix from where they are, so that the installed tree can be moved.
file(RELATIVE_PATH pc_to_prefix "/${pkgconfig_folder}" "/")
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/hocket-core.pc.in" "${PROJECT_BINARY_DIR}/hocket-core.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/hocket-core.pc" DESTINATION "${pkgconfig_folder}")
if(HOCKET_WITH_TORCH)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/hocket.pc.in" "${PROJECT_BINARY_DIR}/hocket.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/hocket.pc" DESTINATION "${pkgconfig_folder}")
endif()
