#include "report/page.h"

#include <stdexcept>

#include "hocket/ir/file.h"
#include "hocket/report/report.h"
#include "report/base64.h"
#include "report/page_data.h"

namespace hocket {

namespace {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  }
  return result;
}

}  // namespace

std::string report_page(const ReportData& report) {
  const Result<std::string> packed = gzip(page_data(report));
  if (!packed) throw std::runtime_error(packed.error().to_string());  // only without memory
  std::string page;
  std::string_view rest = page_html();
  const auto put = [&](std::string_view mark, std::string_view content) {
    const std::size_t at = rest.find(mark);
    page += rest.substr(0, at);
    page += content;
    rest.remove_prefix(at + mark.size());
  };
  put("{{title}}", escaped(report.title));
  put("{{style}}", page_style());
  put("{{data}}", base64(*packed));
  put("{{script}}", page_script());
  page += rest;
  return page;
}

}  // namespace hocket
