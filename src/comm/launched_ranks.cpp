#include "comm/launched_ranks.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "comm/rendezvous.h"

namespace hocket {

namespace {

bool is_same_file(int one, int other) {
  struct stat a {};
  struct stat b {};
  return fstat(one, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

tl::unexpected<StartFailure> no_descriptor(std::string step) { return tl::unexpected(StartFailure{errno, step}); }

// The environment with other values for what the launch decides.
std::vector<std::string> environment_of(const LaunchOptions& options, const MeetingPlace& place, int rank) {
  constexpr std::string_view decided[] = {"HOCKET_RANK=", "HOCKET_WORLD_SIZE=", "HOCKET_MEETING="};
  std::vector<std::string> environment;
  for (const std::string& variable : options.environment) {
    const auto is_decided = [&](std::string_view name) { return variable.starts_with(name); };
    if (std::none_of(std::begin(decided), std::end(decided), is_decided)) environment.push_back(variable);
  }
  environment.push_back(fmt::format("{}{}", decided[0], rank));
  environment.push_back(fmt::format("{}{}", decided[1], options.ranks));
  environment.push_back(fmt::format("{}{}", decided[2], to_variable(place)));
  return environment;
}

}  // namespace

LaunchTargets::LaunchTargets(const LaunchOptions& options) : output(std::make_unique<LineTarget>(options.output)) {
  if (!is_same_file(options.output, options.errors)) own_errors = std::make_unique<LineTarget>(options.errors);
}

LaunchedRanks::LaunchedRanks(const LaunchOptions& options, const ProcessGroup& group, LaunchTargets& targets, int input,
                             const sigset_t& blocked)
    : options_(options), group_(group), targets_(targets), input_(input), blocked_(blocked) {}

tl::expected<void, StartFailure> LaunchedRanks::start(const std::string& program, const MeetingPlace& place,
                                                      const std::vector<std::vector<int>>& cores) {
  for (int rank = 0; rank < options_.ranks; ++rank) {
    ProcessStart start;
    start.program = program;
    start.arguments = options_.command;
    start.environment = environment_of(options_, place, rank);
    start.group = group_.id();
    start.blocked = blocked_;
    if (!cores.empty()) start.cores = cores[static_cast<std::size_t>(rank) % cores.size()];
    if (auto started = start_one(std::move(start), rank); !started) return started;
  }
  return {};
}

tl::expected<void, StartFailure> LaunchedRanks::start_one(ProcessStart start, int rank) {
  const FileDescriptor nothing(rank == 0 ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (rank > 0 && !nothing.valid()) return no_descriptor("can't open /dev/null");
  auto output = open_output(rank, false);
  if (!output) return tl::unexpected(output.error());
  auto errors = open_output(rank, true);
  if (!errors) return tl::unexpected(errors.error());
  start.input = rank == 0 ? input_ : nothing.number();
  start.output = output->number();
  start.errors = errors->number();
  auto process = start_process(start);
  if (!process) return tl::unexpected(process.error());
  ranks_.push_back({std::move(*process), std::nullopt});
  return {};
}

// What the rank writes to: a file, or the end of a pipe whose other end becomes a source.
tl::expected<FileDescriptor, StartFailure> LaunchedRanks::open_output(int rank, bool errors) {
  if (!options_.output_folder.empty()) {
    const std::string path = fmt::format("{}/rank_{}.{}", options_.output_folder, rank, errors ? "err" : "out");
    constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC;
    FileDescriptor file(open(path.c_str(), flags, 0666));
    if (!file.valid()) return no_descriptor(fmt::format("can't open {}", path));
    return file;
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return no_descriptor("can't make a pipe");
  const int number = 2 * rank + (errors ? 1 : 0);
  const std::string prefix = options_.prefix ? fmt::format("[{}] ", rank) : "";
  sources_.emplace_back(FileDescriptor(ends[0]), number, prefix, errors ? targets_.errors() : *targets_.output);
  return FileDescriptor(ends[1]);
}

bool LaunchedRanks::all_ended() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const LaunchedRank& rank) { return rank.status.has_value(); });
}

std::vector<int> LaunchedRanks::running() const {
  std::vector<int> running;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (!ranks_[rank].status) running.push_back(static_cast<int>(rank));
  }
  return running;
}

}  // namespace hocket
