# cmake -D FOLDER=… -D OUTPUT=… -P embed_page.cmake: writes a source with the files of the page, see HocketPage.cmake.

# Compilers limit the length of one literal, so a file is cut into pieces, which the compiler puts together again.
set(piece_length 12000)

function(add_function name pattern)
  file(GLOB files "${FOLDER}/${pattern}")
  list(SORT files)
  set(content)
  foreach(file IN LISTS files)
    file(READ "${file}" text)
    string(APPEND content "${text}")
  endforeach()
  string(LENGTH "${content}" length)
  set(literals)
  foreach(begin RANGE 0 ${length} ${piece_length})
    string(SUBSTRING "${content}" ${begin} ${piece_length} piece)
    string(APPEND literals "\n    R\"piece(${piece})piece\"")
  endforeach()
  set(source "${source}\nstd::string_view ${name}() {\n  return std::string_view(${literals});\n}\n" PARENT_SCOPE)
endfunction()

set(source "// Made by cmake/embed_page.cmake from src/report/page.\n#include \"report/page.h\"\n\nnamespace hocket {\n")
add_function(page_html "*.html")
add_function(page_style "*.css")
add_function(page_script "*.js")
file(WRITE "${OUTPUT}" "${source}\n}  // namespace hocket\n")
