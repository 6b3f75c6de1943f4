# Libraries that a program linked with hocket needs. Read by hocket's own build and by the installed hocketConfig.cmake;
# each defines hocket_dependency() beforehand, as find_package or find_dependency.

hocket_dependency(Threads)
hocket_dependency(fmt)
hocket_dependency(spdlog)
hocket_dependency(simdjson)

# These come with a pkg-config file only.
hocket_dependency(PkgConfig)
pkg_check_modules(hocket_xxhash REQUIRED QUIET IMPORTED_TARGET libxxhash)
pkg_check_modules(hocket_deflate REQUIRED QUIET IMPORTED_TARGET libdeflate)
pkg_check_modules(hocket_highway REQUIRED QUIET IMPORTED_TARGET libhwy)
