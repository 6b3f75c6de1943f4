// The ranks of one launch: their processes, and the pipes on which they speak.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/host_link.h"
#include "comm/launch.h"
#include "comm/line_output.h"
#include "comm/process_group.h"
#include "comm/start_process.h"

namespace hocket {

struct LaunchedRank {
  Process process;
  std::optional<int> status;  // as wait() gives it, once it has ended
};

// What the ranks print is put to these. They are one where both go to the same file, so that lines stay whole there.
struct LaunchTargets {
  explicit LaunchTargets(const LaunchOptions& options);
  std::unique_ptr<LineTarget> output;
  std::unique_ptr<LineTarget> own_errors;  // null where they are one
  LineTarget& errors() const { return own_errors ? *own_errors : *output; }
};

class LaunchedRanks {
 public:
  // `input` is what rank 0 reads; `blocked` the signals that are blocked in the ranks.
  LaunchedRanks(const LaunchOptions& options, const ProcessGroup& group, LaunchTargets& targets, int input,
                const sigset_t& blocked);

  // Starts them all, or says which can't be and why; those that were started before stay for the group to be killed.
  tl::expected<void, StartFailure> start(const std::string& program, const MeetingPlace& place,
                                         const std::vector<std::vector<int>>& cores);

  std::vector<LaunchedRank>& ranks() { return ranks_; }
  std::vector<LineSource>& sources() { return sources_; }
  bool all_ended() const;
  std::vector<int> running() const;

 private:
  tl::expected<void, StartFailure> start_one(ProcessStart start, int rank);
  tl::expected<FileDescriptor, StartFailure> open_output(int rank, bool errors);

  const LaunchOptions& options_;
  const ProcessGroup& group_;
  LaunchTargets& targets_;
  int input_;
  sigset_t blocked_;
  std::vector<LaunchedRank> ranks_;
  std::vector<LineSource> sources_;
};

}  // namespace hocket
