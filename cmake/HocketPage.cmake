# Builds the files of the report's page into the library: src/report/page/*.{html,css,js} become page_files.cpp, at build time, so that
# whoever edits the page edits plain files. The scripts are put together in the order of their names.

set(page_folder "${PROJECT_SOURCE_DIR}/src/report/page")
file(GLOB page_sources CONFIGURE_DEPENDS "${page_folder}/*.html" "${page_folder}/*.css" "${page_folder}/*.js")
set(page_files "${PROJECT_BINARY_DIR}/page_files.cpp")
add_custom_command(OUTPUT "${page_files}"
  COMMAND "${CMAKE_COMMAND}" -D "FOLDER=${page_folder}" -D "OUTPUT=${page_files}" -P "${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake"
  DEPENDS ${page_sources} "${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake"
  COMMENT "Building in the report's page")
target_sources(hocket_core PRIVATE "${page_files}")
