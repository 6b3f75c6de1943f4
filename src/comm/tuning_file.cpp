#include "comm/tuning_file.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "comm/rounds.h"
#include "hocket/base/digest.h"
#include "hocket/base/file.h"
#include "hocket/base/log.h"

namespace hocket {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view schema = "hocket-tuning/3";
constexpr std::int64_t smallest_block = 4096;

struct Field {
  const char* name;
  std::int64_t Tuning::*value;
  std::int64_t least;
  std::int64_t most;
};

constexpr Field fields[] = {
    {"one_shot_until", &Tuning::one_shot_until, 0, Tuning::always},
    {"whole_until", &Tuning::whole_until, 0, Tuning::always},
    {"block", &Tuning::block, smallest_block, Rounds::slot_bytes},
    {"broadcast_block", &Tuning::broadcast_block, smallest_block, Rounds::slot_bytes},
    {"streaming_from", &Tuning::streaming_from, 0, Tuning::always},
    {"pushing_streams_from", &Tuning::pushing_streams_from, 0, Tuning::always},
    {"pulling_from", &Tuning::pulling_from, 0, Tuning::always},
    {"reading_from", &Tuning::reading_from, 0, Tuning::always},
    {"measured_ranks", &Tuning::measured_ranks, 0, Tuning::always},
    {"round_ns", &Tuning::round_ns, 0, Tuning::always},
};

std::string processor_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name") || line.starts_with("CPU part")) return line.substr(line.find(':') + 1);
  }
  return "";
}

Result<Tuning> parse_row(const Json& row, std::string_view name) {
  Tuning tuning;
  for (const Field& field : fields) {
    const auto value = row.find(field.name);
    const bool present = value != row.end() && value->is_number_integer();
    if (!present) return fail(ErrorKind::input, "ranks {}: {} is missing or no whole number", name, field.name);
    const bool fits = !value->is_number_unsigned() || value->get<std::uint64_t>() <= std::uint64_t{Tuning::always};
    const std::int64_t bytes = fits ? value->get<std::int64_t>() : -1;
    if (bytes < field.least || bytes > field.most) {
      return fail(ErrorKind::input, "ranks {}: {} is {}, expected {} to {}", name, field.name, value->dump(),
                  field.least, field.most);
    }
    tuning.*field.value = bytes;
  }
  return tuning;
}

}  // namespace

// By the cores of the machine, not those that this process may run on: ranks that a launcher binds to a core each have the same file.
std::string machine_name() {
  utsname kernel{};
  uname(&kernel);
  return fmt::format("{}{} {} cores, {} {}", kernel.machine, processor_model(), sysconf(_SC_NPROCESSORS_ONLN),
                     kernel.sysname, kernel.release);
}

std::string tuning_path(const std::string& folder) {
  Digester digester;
  digester.add(machine_name());
  return fmt::format("{}/tuning-{}.json", folder, digester.finish().to_string());
}

std::string to_json(const TuningTable& table, std::string_view machine) {
  Json ranks = Json::object();
  for (std::size_t row = 0; row < TuningTable::rows; ++row) {
    Json& object = ranks[std::string(TuningTable::name_of_row(row))];
    for (const Field& field : fields) object[field.name] = table.row(row).*field.value;
  }
  const Json whole = {{"schema", schema}, {"machine", machine}, {"ranks", std::move(ranks)}};
  return whole.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<TuningTable> parse_tuning(std::string_view text, std::string_view machine) {
  const Json whole = Json::parse(text, nullptr, false);
  if (!whole.is_object()) return fail(ErrorKind::input, "is no JSON object");
  if (whole.value("schema", Json()) != schema) {
    return fail(ErrorKind::input, "has schema {}, expected \"{}\"", whole.value("schema", Json()).dump(), schema);
  }
  if (whole.value("machine", Json()) != machine) {
    return fail(ErrorKind::input, "is of machine {}, expected \"{}\"", whole.value("machine", Json()).dump(), machine);
  }
  const Json ranks = whole.value("ranks", Json());
  TuningTable table;
  for (std::size_t row = 0; row < TuningTable::rows; ++row) {
    const std::string name(TuningTable::name_of_row(row));
    if (!ranks.is_object() || !ranks.contains(name) || !ranks[name].is_object()) {
      return fail(ErrorKind::input, "has no object for ranks {}", name);
    }
    HOCKET_TRY(table.row(row), parse_row(ranks[name], name));
  }
  return table;
}

TuningTable load_tuning(const std::string& folder, std::int64_t cores) {
  const TuningTable defaults(cores);
  if (folder.empty()) return defaults;
  const std::string path = tuning_path(folder);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return defaults;
  const Result<TuningTable> table =
      read_file(path).and_then([](const std::string& text) { return parse_tuning(text, machine_name()); });
  if (table) return *table;
  log().warn("{}; using default thresholds: hocket calibrate writes the file anew",
             at(table.error(), path).to_string());
  return defaults;
}

std::string differences(const Tuning& tuning, const Tuning& from) {
  std::vector<std::string> all;
  for (const Field& field : fields) {
    const std::int64_t value = tuning.*field.value;
    if (value == from.*field.value) continue;
    const bool is_lower_end = std::string_view(field.name).ends_with("_from");
    all.push_back(fmt::format("{} {}", field.name,
                              value != Tuning::always ? std::to_string(value)
                              : is_lower_end          ? "never"
                                                      : "any size"));
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

Status save_tuning(const TuningTable& table, const std::string& folder) {
  if (folder.empty()) {
    return fail(ErrorKind::usage, "there is no folder for the file: set HOCKET_CACHE, XDG_CACHE_HOME or HOME");
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail({ErrorKind::system, "can't be made: " + error.message(), folder});
  return write_file(tuning_path(folder), to_json(table, machine_name()));
}

Result<TuningTable> agree_on_tuning(HostLink& link, const std::string& folder, std::int64_t cores, Deadline deadline) {
  // The text of the file, so that what is sent is checked like what is read.
  constexpr std::string_view agreed = "agreed";
  const std::string mine = link.rank() == 0 ? to_json(load_tuning(folder, cores), agreed) : "";
  HOCKET_TRY(const std::vector<Packet> all, link.exchange(mine, {}, deadline));
  return parse_tuning(all.front().bytes, agreed);
}

}  // namespace hocket
