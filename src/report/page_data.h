// What the page is told, as JSON. src/report/page/data.js is the other side.
//
// Columns instead of records, differences instead of values, and steps that several timelines have in common once: after gzip a step
// costs some 15 bytes, so that a program of 50,000 steps makes a page of less than 2 MB. Times are whole picoseconds.
#pragma once

#include <string>

#include "hocket/report/report_data.h"

namespace hocket {

std::string page_data(const ReportData& report);

}  // namespace hocket
