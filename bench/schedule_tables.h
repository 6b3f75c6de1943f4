// The figures of bench schedule for people and for programs.
#pragma once

#include "schedule_holdout.h"
#include "schedule_rows.h"

namespace hocket {

std::string markdown_of(const std::vector<GraphRow>& rows, const std::vector<Growth>& growth, bool quick);
std::string json_of(const std::vector<GraphRow>& rows, const std::vector<Growth>& growth,
                    const std::vector<Holdout>& holdout, const std::vector<std::string>& missed);

}  // namespace hocket
