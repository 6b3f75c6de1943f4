// The files of src/report/page, built in by cmake/HocketPage.cmake.
#pragma once

#include <string_view>

namespace hocket {

std::string_view page_html();    // with the marks {{title}}, {{style}}, {{script}} and {{data}}
std::string_view page_style();   // all *.css, by name
std::string_view page_script();  // all *.js, by name

}  // namespace hocket
