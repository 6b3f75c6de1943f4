// What `hocket calibrate` has measured, in a file for each kind of machine.
#pragma once

#include <string>
#include <string_view>

#include "comm/host_link.h"
#include "comm/tuning.h"
#include "hocket/base/error.h"

namespace hocket {

// Processor, number of cores and kernel: what was measured on one machine holds on another with the same. Never empty.
std::string machine_name();
// The file of this machine in that folder: "tuning-<digest of the machine>.json".
std::string tuning_path(const std::string& folder);

std::string to_json(const TuningTable& table, std::string_view machine);
// Errors say which field is wrong; a file of another machine or version is an error, too.
Result<TuningTable> parse_tuning(std::string_view text, std::string_view machine);

// What the cache folder has for this machine, else the defaults for ranks that share so many cores. A file that can't be used is worth a warning, an absent one is
// not.
TuningTable load_tuning(const std::string& folder, std::int64_t cores);
// What one has other than another, in words; empty if nothing.
std::string differences(const Tuning& tuning, const Tuning& from);
Status save_tuning(const TuningTable& table, const std::string& folder);

// Collective: what rank 0 of the link has found in its folder. Ranks that cut their messages differently could not talk to each other.
Result<TuningTable> agree_on_tuning(HostLink& link, const std::string& folder, std::int64_t cores, Deadline deadline);

}  // namespace hocket
