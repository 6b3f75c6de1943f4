#include "hocket/comm/launch_info.h"

#include <charconv>
#include <limits>
#include <string_view>

#include "comm/rendezvous.h"
#include "comm/slurm_tasks.h"

namespace hocket {

namespace {

struct Variable {
  const char* name;
  const std::string& value;
  bool set() const { return !value.empty(); }
};

// What one launcher sets: the same four numbers under names of its own.
struct Numbers {
  Launcher launcher;
  Variable rank;
  Variable size;
  Variable local_rank;
  Variable local_size;
};

Result<std::int32_t> number_in(const Variable& variable, std::int32_t low, std::int32_t high) {
  std::int32_t number = 0;
  const std::string& text = variable.value;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (whole && number >= low && number <= high) return number;
  constexpr std::int32_t unlimited = std::numeric_limits<std::int32_t>::max();
  const std::string range =
      high == unlimited ? fmt::format("of at least {}", low) : fmt::format("from {} to {}", low, high);
  return fail(ErrorKind::usage, "{} is \"{}\", expected a number {}", variable.name, text, range);
}

constexpr std::int32_t any_size = std::numeric_limits<std::int32_t>::max();

tl::unexpected<Error> half_set(const Numbers& numbers) {
  const Variable& set = numbers.rank.set() ? numbers.rank : numbers.size;
  const Variable& absent = numbers.rank.set() ? numbers.size : numbers.rank;
  return fail(ErrorKind::usage, "{} is set ({}) but {} is not: set both, or unset both to run alone", set.name,
              set.value, absent.name);
}

// The place on this host is optional, but what is said must fit.
Status read_local(const Numbers& numbers, LaunchInfo& info) {
  if (numbers.local_size.set()) {
    HOCKET_TRY(info.local_size, number_in(numbers.local_size, 1, info.world_size));
  }
  if (numbers.local_rank.set()) {
    HOCKET_TRY(info.local_rank, number_in(numbers.local_rank, 0, info.local_size.value_or(info.world_size) - 1));
  }
  return {};
}

Result<LaunchInfo> read_numbers(const Numbers& numbers) {
  if (numbers.rank.set() != numbers.size.set()) return half_set(numbers);
  LaunchInfo info;
  info.launcher = numbers.launcher;
  HOCKET_TRY(info.world_size, number_in(numbers.size, 1, any_size));
  HOCKET_TRY(info.rank, number_in(numbers.rank, 0, info.world_size - 1));
  HOCKET_CHECK(read_local(numbers, info));
  return info;
}

Status read_master(const LaunchVariables& from, LaunchInfo& info) {
  const Variable address{"MASTER_ADDR", from.master_addr};
  const Variable port{"MASTER_PORT", from.master_port};
  if (address.set() != port.set()) {
    return fail(ErrorKind::usage, "{} is set but {} is not: rank 0 is met at both",
                address.set() ? address.name : port.name, address.set() ? port.name : address.name);
  }
  if (!port.set()) return {};
  HOCKET_TRY(const std::int32_t number, number_in(port, 1, std::numeric_limits<std::uint16_t>::max()));
  info.master_addr = address.value;
  info.master_port = static_cast<std::uint16_t>(number);
  return {};
}

// hocket launch starts all ranks on its own host, and tells them where they meet there.
Result<LaunchInfo> read_hocket(const Numbers& numbers, const std::string& meeting) {
  HOCKET_TRY(LaunchInfo info, read_numbers(numbers));
  info.local_rank = info.rank;
  info.local_size = info.world_size;
  if (meeting.empty() && info.world_size > 1) {
    return fail(ErrorKind::usage,
                "HOCKET_RANK is set ({}) but HOCKET_MEETING is not: start with hocket launch, which sets both",
                info.rank);
  }
  if (!meeting.empty()) HOCKET_CHECK(from_variable(meeting));
  return info;
}

Result<LaunchInfo> read_slurm(const Numbers& numbers, const LaunchVariables& from) {
  HOCKET_TRY(LaunchInfo info, read_numbers(numbers));
  if (from.slurm_node.empty() || from.slurm_step_tasks.empty()) return info;
  HOCKET_TRY(const std::int32_t node, number_in({"SLURM_NODEID", from.slurm_node}, 0, info.world_size - 1));
  const std::optional<std::int32_t> tasks = tasks_of_node(from.slurm_step_tasks, node);
  if (!tasks || *tasks > info.world_size) {
    return fail(
        ErrorKind::usage,
        "SLURM_STEP_TASKS_PER_NODE is \"{}\", expected the ranks of each host, as 4(x2),3, with host {} among them "
        "and {} ranks in all",
        from.slurm_step_tasks, node, info.world_size);
  }
  info.local_size = tasks;
  if (info.local_rank) HOCKET_CHECK(number_in(numbers.local_rank, 0, *tasks - 1));
  return info;
}

// torchrun started by mpirun, once for each host, is in order; numbers set by hand must be those of mpirun.
Status check_same(const LaunchInfo& chosen, const Numbers& chosen_numbers, const Numbers& other) {
  if (!other.rank.set() || !other.size.set()) return {};
  HOCKET_TRY(const LaunchInfo same, read_numbers(other));
  if (same.rank == chosen.rank && same.world_size == chosen.world_size) return {};
  return fail(ErrorKind::usage,
              "{}={} and {}={} contradict {}={} and {}={}: unset those that were not set by the program's launcher",
              chosen_numbers.rank.name, chosen.rank, chosen_numbers.size.name, chosen.world_size, other.rank.name,
              same.rank, other.size.name, same.world_size);
}

}  // namespace

const char* name_of(Launcher launcher) {
  switch (launcher) {
    case Launcher::alone: return "nobody";
    case Launcher::hocket: return "hocket launch";
    case Launcher::torchrun: return "torchrun";
    case Launcher::open_mpi: return "Open MPI";
    case Launcher::mpich: return "MPICH";
    case Launcher::slurm: return "Slurm";
  }
  return "unknown";
}

std::string LaunchInfo::to_string() const {
  if (launcher == Launcher::alone && world_size == 1) return "rank 0 of 1, started alone";
  return fmt::format("rank {} of {}, started by {}", rank, world_size, name_of(launcher));
}

Result<LaunchInfo> launch_info(const LaunchVariables& from) {
  const std::string none;
  const Variable absent{"", none};
  const Numbers hocket{Launcher::hocket,
                       {"HOCKET_RANK", from.hocket_rank},
                       {"HOCKET_WORLD_SIZE", from.hocket_world_size},
                       absent,
                       absent};
  const Numbers torchrun{Launcher::torchrun,
                         {"RANK", from.rank},
                         {"WORLD_SIZE", from.world_size},
                         {"LOCAL_RANK", from.local_rank},
                         {"LOCAL_WORLD_SIZE", from.local_world_size}};
  const Numbers open_mpi{Launcher::open_mpi,
                         {"OMPI_COMM_WORLD_RANK", from.ompi_rank},
                         {"OMPI_COMM_WORLD_SIZE", from.ompi_size},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", from.ompi_local_rank},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", from.ompi_local_size}};
  const Numbers mpich{Launcher::mpich,
                      {"PMI_RANK", from.pmi_rank},
                      {"PMI_SIZE", from.pmi_size},
                      {"MPI_LOCALRANKID", from.mpi_local_rank},
                      {"MPI_LOCALNRANKS", from.mpi_local_size}};
  const bool has_step_size = !from.slurm_step_size.empty();
  const Numbers slurm{Launcher::slurm,
                      {"SLURM_PROCID", from.slurm_rank},
                      has_step_size ? Variable{"SLURM_STEP_NUM_TASKS", from.slurm_step_size}
                                    : Variable{"SLURM_NTASKS", from.slurm_size},
                      {"SLURM_LOCALID", from.slurm_local_rank},
                      absent};

  if (hocket.rank.set() || hocket.size.set()) {
    return read_hocket(hocket, from.hocket_meeting);
  }
  if (!from.hocket_meeting.empty()) {
    return fail(ErrorKind::usage,
                "HOCKET_MEETING is set but HOCKET_RANK and HOCKET_WORLD_SIZE are not: start with hocket launch, which "
                "sets all three, or unset it");
  }
  if (torchrun.rank.set() || torchrun.size.set()) {
    HOCKET_TRY(LaunchInfo info, read_numbers(torchrun));
    HOCKET_CHECK(read_master(from, info));
    if (from.torchelastic_run.empty()) HOCKET_CHECK(check_same(info, torchrun, open_mpi));
    if (from.torchelastic_run.empty()) HOCKET_CHECK(check_same(info, torchrun, mpich));
    return info;
  }
  if (open_mpi.rank.set() || open_mpi.size.set()) return read_numbers(open_mpi);
  if (mpich.rank.set() || mpich.size.set()) return read_numbers(mpich);
  if (!from.slurm_step.empty() && (slurm.rank.set() || slurm.size.set())) return read_slurm(slurm, from);
  if (!from.pmix_rank.empty()) {
    return fail(ErrorKind::usage,
                "PMIX_RANK is set ({}) but no number of ranks: start with mpirun, srun, torchrun or hocket launch, "
                "or set RANK and WORLD_SIZE",
                from.pmix_rank);
  }
  return LaunchInfo{};
}

}  // namespace hocket
