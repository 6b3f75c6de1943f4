#include "comm/rendezvous.h"

#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "comm/launcher_process.h"
#include "hocket/base/digest.h"

namespace hocket {

namespace {

// The facts that tell one launch from another, made into a place. Another user can compute it, but is turned away there.
class PlaceMaker {
 public:
  explicit PlaceMaker(const LaunchInfo& info) {
    add(name_of(info.launcher)).add(std::to_string(info.world_size)).add(std::to_string(getuid()));
  }
  PlaceMaker& add(std::string fact) {
    facts_.push_back(std::move(fact));
    return *this;
  }
  PlaceMaker& add(const ProcessIdentity& process) {
    return add(std::to_string(process.pid)).add(std::to_string(process.start));
  }

  MeetingPlace make() const {
    MeetingPlace place;
    place.name = "hocket-" + digest("name").to_string();
    const Digest halves[2] = {digest("token"), digest("rest of the token")};
    std::size_t at = 0;
    for (const Digest& half : halves) {
      for (const std::uint64_t word : {half.high, half.low}) {
        for (int shift = 56; shift >= 0; shift -= 8) place.token[at++] = static_cast<std::uint8_t>(word >> shift);
      }
    }
    return place;
  }

 private:
  Digest digest(const char* use) const {
    Digester digester;
    digester.add(use);
    for (const std::string& fact : facts_) digester.add(fact);
    return digester.finish();
  }

  std::vector<std::string> facts_;
};

Result<MeetingPlace> of_torchrun(const LaunchInfo& info, const LaunchVariables& from) {
  if (from.master_addr.empty()) {
    return fail(
        ErrorKind::usage,
        "RANK and WORLD_SIZE are set but MASTER_ADDR and MASTER_PORT are not: set them to the host of rank 0 and "
        "a port, the same on all ranks");
  }
  return PlaceMaker(info)
      .add(from.master_addr)
      .add(from.master_port)
      .add(from.torchelastic_run)
      .add(from.torchelastic_restart)
      .add(from.group_rank)
      .make();
}

Result<MeetingPlace> of_open_mpi(const LaunchInfo& info, const LaunchVariables& from) {
  if (!from.pmix_namespace.empty()) {
    return PlaceMaker(info).add(from.pmix_namespace).add(from.pmix_server).make();
  }
  HOCKET_TRY(const ProcessIdentity mpirun, launcher_process("OMPI_COMM_WORLD_RANK"));
  return PlaceMaker(info).add(mpirun).make();
}

Result<MeetingPlace> of_mpich(const LaunchInfo& info) {
  HOCKET_TRY(const ProcessIdentity proxy, launcher_process("PMI_RANK"));
  return PlaceMaker(info).add(proxy).make();
}

Result<MeetingPlace> of_slurm(const LaunchInfo& info, const LaunchVariables& from) {
  if (from.slurm_job.empty()) {
    return fail(ErrorKind::usage, "SLURM_STEP_ID is set ({}) but SLURM_JOB_ID is not: start with srun",
                from.slurm_step);
  }
  return PlaceMaker(info).add(from.slurm_job).add(from.slurm_step).make();
}

const char* what_says_the_local_size(Launcher launcher) {
  switch (launcher) {
    case Launcher::open_mpi: return "OMPI_COMM_WORLD_LOCAL_RANK and OMPI_COMM_WORLD_LOCAL_SIZE";
    case Launcher::mpich: return "MPI_LOCALRANKID and MPI_LOCALNRANKS";
    case Launcher::slurm: return "SLURM_LOCALID, SLURM_NODEID and SLURM_STEP_TASKS_PER_NODE";
    case Launcher::alone:
    case Launcher::hocket:
    case Launcher::torchrun: break;
  }
  return "LOCAL_RANK and LOCAL_WORLD_SIZE";
}

}  // namespace

Result<MeetingPlace> meeting_place(const LaunchInfo& info, const LaunchVariables& variables) {
  if (info.world_size == 1) return MeetingPlace::random();  // nobody else has to find it
  switch (info.launcher) {
    case Launcher::alone: return MeetingPlace::random();
    case Launcher::hocket: return from_variable(variables.hocket_meeting);
    case Launcher::torchrun: return of_torchrun(info, variables);
    case Launcher::open_mpi: return of_open_mpi(info, variables);
    case Launcher::mpich: return of_mpich(info);
    case Launcher::slurm: return of_slurm(info, variables);
  }
  return fail(ErrorKind::internal, "no meeting place for launcher {}", static_cast<int>(info.launcher));
}

Result<bool> on_one_host(const LaunchInfo& info) {
  if (info.world_size == 1) return true;
  if (info.local_size) return *info.local_size == info.world_size;
  return fail(ErrorKind::usage,
              "{} has started {} ranks but doesn't say how many of them are on this host: set {} for each rank",
              name_of(info.launcher), info.world_size, what_says_the_local_size(info.launcher));
}

std::string to_variable(const MeetingPlace& place) {
  std::string text = place.name + ":";
  for (const std::uint8_t byte : place.token) text += fmt::format("{:02x}", byte);
  return text;
}

Result<MeetingPlace> from_variable(const std::string& text) {
  constexpr std::size_t longest_name = sizeof(sockaddr_un::sun_path) - 1;
  const auto malformed = [](const std::string& what) {
    return fail(ErrorKind::usage, "HOCKET_MEETING is malformed ({}): start with hocket launch, which sets it", what);
  };
  if (text.empty()) return malformed("it is not set");
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return malformed("it has no colon between name and token");
  MeetingPlace place;
  place.name = text.substr(0, colon);
  if (place.name.empty() || place.name.size() > longest_name) {
    return malformed(fmt::format("a name of {} characters, expected 1 to {}", place.name.size(), longest_name));
  }
  const std::string digits = text.substr(colon + 1);
  if (digits.size() != 2 * place.token.size()) {
    return malformed(fmt::format("a token of {} digits, expected {}", digits.size(), 2 * place.token.size()));
  }
  for (std::size_t i = 0; i < place.token.size(); ++i) {
    const char* begin = digits.data() + 2 * i;
    const auto [end, error] = std::from_chars(begin, begin + 2, place.token[i], 16);
    if (error != std::errc() || end != begin + 2) return malformed("a token that is no hexadecimal number");
  }
  return place;
}

}  // namespace hocket
