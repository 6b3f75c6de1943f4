#include "hocket/cost/cost_model.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cost/calls.h"
#include "cost/collective_estimate.h"
#include "hocket/base/log.h"
#include "hocket/cost/roofline.h"

namespace hocket {

namespace {

Nanoseconds scaled(Nanoseconds time, double multiplier) {
  if (multiplier == 1.0) return time;
  return Nanoseconds::from_ns(static_cast<double>(time.picoseconds) * multiplier / 1e3);
}

// One graph or program, call by call. Calls is GraphCalls or ProgramCalls.
template <class Calls>
class Estimator {
 public:
  Estimator(const CostOptions& options, Calls calls) : options_(options), calls_(std::move(calls)) {}

  Estimates run() {
    result_.times.reserve(calls_.size());
    result_.sources.reserve(calls_.size());
    for (std::size_t i = 0; i < calls_.size(); ++i) add(i);
    return std::move(result_);
  }

 private:
  void add(std::size_t i) {
    TimeSource source = TimeSource::nothing;
    Nanoseconds time;
    if (!calls_.takes_nothing(i)) {
      const bool communicates = calls_.collective(i) != nullptr;
      time =
          scaled(unscaled(i, source), communicates ? options_.communication_multiplier : options_.compute_multiplier);
    }
    result_.times.push_back(time);
    result_.sources.push_back(source);
  }

  Nanoseconds unscaled(std::size_t i, TimeSource& source) {
    const std::int64_t captured = calls_.measured(i).picoseconds;
    if (options_.captured && captured >= 0) {
      source = TimeSource::captured;
      return Nanoseconds::from_picoseconds(captured);
    }
    if (const auto time = options_.profile.by_name(calls_.name(i))) {
      source = TimeSource::profile_name;
      return *time;
    }
    if (options_.profile.has_calls()) {
      if (const auto time = options_.profile.by_call(calls_.key(i))) {
        source = TimeSource::profile_call;
        return *time;
      }
    }
    if (calls_.row(i) != nullptr && calls_.row(i)->metadata_only) return {};
    source = TimeSource::machine;
    const Collective* comm = calls_.collective(i);
    return comm != nullptr ? communication(i, *comm) : compute(i);
  }

  Nanoseconds communication(std::size_t i, const Collective& comm) {
    note_symbolic(i, calls_.call(i));
    const auto ranks = calls_.ranks(comm);
    const Bytes moved = calls_.moved(i, comm);
    // A send has no result and a receive writes its argument: what goes over the wire is the larger side.
    const Bytes payload = comm.kind == CollectiveKind::p2p
                              ? std::max(comm.bytes_in, comm.bytes_out)
                              : payload_of(comm.kind, static_cast<std::int64_t>(ranks.size()), moved);
    return estimate_collective(options_.machine, comm.kind, ranks, moved, payload);
  }

  Nanoseconds compute(std::size_t i) {
    const Measured& captured = calls_.measured(i);
    const Call call = calls_.call(i);
    OpWork work{double(captured.flops), Bytes(captured.read), Bytes(captured.written)};
    if (captured.flops < 0 || captured.read < 0 || captured.written < 0) {
      const OpWork modelled = work_by_table(i, call);
      if (captured.flops < 0) work.flops = modelled.flops;
      if (captured.read < 0) work.read = modelled.read;
      if (captured.written < 0) work.written = modelled.written;
    }
    const Dtype dtype = computes_in(i, call);
    if (work.flops > 0) note_rate(dtype);
    return roofline(options_.machine, work.flops, work.read + work.written, dtype);
  }

  OpWork work_by_table(std::size_t i, const Call& call) {
    note_symbolic(i, call);
    const OpSpec* row = calls_.row(i);
    if (row != nullptr && !row->effects.opaque) {
      const auto work = work_of(*row, call, calls_.results(i));
      if (work) return *work;
      note(i, "its work is not known ({}): it counts as moving its tensors", work.error().message);
    } else {
      note(i, "{} is not in the operator table: it counts as moving its tensors, without FLOPs", calls_.op_name(i));
    }
    OpWork moves;
    for_each_tensor(call, [&](const TypeView& type) { moves.read += tensor_bytes(type); });
    for (const TypeView& type : calls_.results(i)) moves.written += tensor_bytes(type);
    return moves;
  }

  // The dtype of the first tensor that it takes: of a matrix product that of the factors, not of the result.
  Dtype computes_in(std::size_t i, const Call& call) {
    std::optional<Dtype> first;
    for_each_tensor(call, [&](const TypeView& type) {
      if (!first) first = type.dtype;
    });
    if (first) return *first;
    const auto results = calls_.results(i);
    return results.empty() ? Dtype::f32 : results[0].dtype;
  }

  template <class Visit>
  void for_each_tensor(const Call& call, Visit&& visit) {
    const auto each = [&](const Arg& value) {
      for (std::size_t output = 0; output < call.values().output_count(value); ++output)
        visit(call.values().output(value, output));
    };
    for (const Arg& arg : call.args()) call.pool().for_each_value(arg, each);
    for (const Keyword& keyword : call.keywords()) call.pool().for_each_value(keyword.value, each);
  }

  void note_symbolic(std::size_t i, const Call& call) {
    std::optional<Dim> size;
    const auto look = [&](const TypeView& type) {
      for (const Dim dim : type.shape) {
        if (!dim.is_static() && !size) size = dim;
      }
    };
    for_each_tensor(call, look);
    for (const TypeView& type : calls_.results(i)) look(type);
    if (!size) return;
    note(i, "its size {} is symbolic and counts as 0; a captured time or a profile can say what it takes",
         calls_.symbols().to_string(*size));
  }

  void note_rate(Dtype dtype) {
    const Dtype taken = compute_rate(options_.machine, dtype).taken;
    if (taken == dtype || std::exchange(noted_[static_cast<std::size_t>(dtype)], true)) return;
    result_.notes.push_back(fmt::format("machine {} has no FLOP/s for {}: those of {} are taken", options_.machine.name,
                                        short_name(dtype), short_name(taken)));
  }

  template <class... Args>
  void note(std::size_t i, fmt::format_string<Args...> format, Args&&... args) {
    result_.notes.push_back(fmt::format("{}: {}", calls_.name(i), fmt::format(format, std::forward<Args>(args)...)));
  }

  const CostOptions& options_;
  Calls calls_;
  Estimates result_;
  std::array<bool, dtype_count> noted_{};
};

Status check_multiplier(double multiplier, std::string_view name) {
  if (multiplier >= 0 && std::isfinite(multiplier)) return {};
  return fail(ErrorKind::usage, "{} is {}, expected a number that is not negative", name, multiplier);
}

}  // namespace

Status check(const CostOptions& options) {
  HOCKET_CHECK(check(options.machine));
  HOCKET_CHECK(check_multiplier(options.compute_multiplier, "compute_multiplier"));
  return check_multiplier(options.communication_multiplier, "communication_multiplier");
}

std::string_view name_of(TimeSource source) {
  constexpr std::array<std::string_view, 5> names = {"nothing", "captured", "profile_name", "profile_call", "machine"};
  return names[static_cast<std::size_t>(source)];
}

void warn_of_notes(std::string_view what, std::span<const std::string> notes) {
  if (notes.empty()) return;
  const std::size_t more = notes.size() - 1;
  log().warn("estimates of {}: {}{}", what, notes.front(), more == 0 ? "" : fmt::format("; and {} more", more));
}

Estimates CostModel::estimate(const Graph& graph) const { return Estimator(options_, GraphCalls(graph)).run(); }
Estimates CostModel::estimate(const Program& program) const { return Estimator(options_, ProgramCalls(program)).run(); }

std::vector<Nanoseconds> CostModel::times(const Graph& graph) const { return estimate(graph).times; }
std::vector<Nanoseconds> CostModel::times(const Program& program) const { return estimate(program).times; }

Nanoseconds CostModel::collective(CollectiveKind kind, std::span<const Rank> ranks, Bytes moved) const {
  return scaled(written_collective(kind, ranks, moved), options_.communication_multiplier);
}

Nanoseconds CostModel::copy(Bytes moved) const { return scaled(written_copy(moved), options_.compute_multiplier); }

Nanoseconds CostModel::written_collective(CollectiveKind kind, std::span<const Rank> ranks, Bytes moved) const {
  const Bytes payload = payload_of(kind, static_cast<std::int64_t>(ranks.size()), moved);
  return estimate_collective(options_.machine, kind, ranks, moved, payload);
}

Nanoseconds CostModel::written_copy(Bytes moved) const { return roofline(options_.machine, 0, moved, Dtype::f32); }

}  // namespace hocket
