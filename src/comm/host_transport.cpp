#include "comm/host_transport.h"

#include <algorithm>

#include "comm/copy.h"
#include "comm/round_time.h"

namespace hocket {

namespace {

constexpr std::int64_t least_bytes_with_thresholds = std::int64_t{16} << 10;
constexpr std::int64_t bytes_between_looks = std::int64_t{32} << 20;

// The larger of what a rank gives and what it gets.
std::int64_t bytes_of(const GroupCall& call, std::int32_t ranks) {
  const std::int64_t bytes = call.count * size_of(call.dtype);
  return gives_shares(call.op) || gets_shares(call.op) ? bytes * ranks : bytes;
}

bool in_place(const GroupCall& call) { return call.parts().front().input == call.parts().front().output; }

bool can_read(const GroupCall& call) {
  return call.op == Operator::all_to_all && call.input_splits.empty() && (call.count == 0 || !in_place(call));
}

}  // namespace

Status HostTransport::run(const GroupCall& call) {
  const std::int64_t small_slot = small_slot_of(call);
  rounds_->begin(call, small_slot);
  Status status = small_slot == 0 ? run_rounds(call) : call.many.empty() ? run_small(call) : run_copying(call);
  if (status) rounds_->end();
  return status;
}

Result<SymmetricPlace> HostTransport::allocate(const GroupCall& call) {
  rounds_->begin(call);
  Result<SymmetricPlace> place = heap_.allocate(call.count);
  if (place) rounds_->end();
  return place;
}

// Not 0 where all that one rank gives fits beside its flag.
std::int64_t HostTransport::small_slot_of(const GroupCall& call) const {
  const std::int64_t gives = call.count * size_of(call.dtype) * (gives_shares(call.op) ? shares_of(*rounds_) : 1);
  const bool fits =
      gives <= Rounds::two_lines_bytes && call.input_splits.empty() &&
      (call.algorithm == CollectiveAlgorithm::automatic || call.algorithm == CollectiveAlgorithm::one_shot) &&
      call.op != Operator::allocate;
  if (!fits) return 0;
  return gives <= Rounds::one_line_bytes ? Rounds::one_line_bytes : Rounds::two_lines_bytes;
}

Result<std::int64_t> HostTransport::time_rounds(const GroupCall& call) {
  rounds_->begin(call);
  HOCKET_TRY(const std::int64_t ns, round_time_ns(*rounds_));
  rounds_->end();
  return ns;
}

// Now and then, which takes some millionths of the time between: a host may move the cores of a virtual machine, and the kernel the ranks.
Status HostTransport::choose_tuning(const GroupCall& call) {
  if (measured_.round_ns == 0 || rounds_->size() == 1) return {};
  const std::int64_t whole = bytes_of(call, rounds_->size());
  if (whole < least_bytes_with_thresholds) return {};
  until_next_look_ -= std::min(whole, until_next_look_);
  if (until_next_look_ > 0) return {};
  until_next_look_ = bytes_between_looks;
  HOCKET_TRY(const std::int64_t ns, round_time_ns(*rounds_));
  tuning_ = measured_.hold_at(rounds_->size(), ns) ? measured_ : otherwise_;
  return {};
}

Status HostTransport::run_rounds(const GroupCall& call) {
  HOCKET_CHECK(choose_tuning(call));
  HOCKET_TRY(const bool done, run_shared(call));
  return done ? Status{} : run_copying(call);
}

// Without a look at what else there is: that takes as long as a call of this size.
Status HostTransport::run_small(const GroupCall& call) {
  if (call.op == Operator::barrier) return meet(*rounds_);
  if (call.op == Operator::all_reduce || call.op == Operator::all_to_all) rounds_->use(CollectiveAlgorithm::one_shot);
  HOCKET_CHECK(one_round(*rounds_, call, {}));
  return {};
}

Cut HostTransport::cut_of(const GroupCall& call, std::int64_t whole) const {
  Cut cut;
  if (call.block > 0) cut.block = call.block;
  else if (whole <= tuning_.whole_until) cut.block = tuning_.whole_until;
  else cut.block = call.op == Operator::broadcast ? tuning_.broadcast_block : tuning_.block;
  // At least a cache line for every rank.
  cut.block =
      std::clamp<std::int64_t>(cut.block, (std::int64_t{rounds_->size()} + 1) * 2 * cache_line, Rounds::slot_bytes);
  // Small calls have a small slot, which holds all shares in one round.
  if (rounds_->small_slot() > 0) cut.block = rounds_->small_slot();
  cut.streaming = whole >= tuning_.streaming_from && !in_place(call);
  return cut;
}

// What an algorithm that was asked for can't do. That of symmetric memory says so itself.
Status HostTransport::check_algorithm(const GroupCall& call) {
  if (call.algorithm == CollectiveAlgorithm::two_shot && call.op != Operator::all_reduce) {
    return fail(ErrorKind::usage, "{} can't use algorithm two_shot, which only all_reduce has", call.to_string());
  }
  if (call.algorithm == CollectiveAlgorithm::reading && !can_read(call)) {
    return fail(ErrorKind::usage,
                "{} can't use algorithm reading, which only all_to_all of equal parts between two buffers has",
                call.to_string());
  }
  return {};
}

bool HostTransport::reads(const GroupCall& call, std::int64_t whole) const {
  if (reading_.allowed == PeerReading::Allowed::no) return false;
  if (call.algorithm == CollectiveAlgorithm::reading) return true;
  return call.algorithm == CollectiveAlgorithm::automatic && whole >= tuning_.reading_from && can_read(call);
}

Status HostTransport::run_copying(const GroupCall& call) {
  HOCKET_CHECK(check_algorithm(call));
  const std::int64_t whole = bytes_of(call, rounds_->size());
  const Cut cut = cut_of(call, whole);
  if (reads(call, whole)) {
    rounds_->use(CollectiveAlgorithm::reading);
    HOCKET_TRY(const bool done, reading_all_to_all(*rounds_, call, cut, reading_));
    if (done) return {};
  }
  for (;;) {
    HOCKET_TRY(const bool done, run_copying(call, cut, whole));
    if (done) return {};
  }
}

Result<bool> HostTransport::run_copying(const GroupCall& call, Cut cut, std::int64_t whole) {
  const bool fits = fits_one_round(*rounds_, call, cut);
  const auto copying = [&](auto* in_blocks) { return (fits ? &one_round : in_blocks)(*rounds_, call, cut); };
  switch (call.op) {
    case Operator::all_reduce: {
      const bool two = call.algorithm == CollectiveAlgorithm::two_shot ||
                       (call.algorithm == CollectiveAlgorithm::automatic && rounds_->small_slot() == 0 &&
                        whole > tuning_.one_shot_until);
      rounds_->use(two ? CollectiveAlgorithm::two_shot : CollectiveAlgorithm::one_shot);
      return two ? two_shot_all_reduce(*rounds_, call, cut) : one_shot_all_reduce(*rounds_, call, cut);
    }
    case Operator::all_gather: return copying(&copying_all_gather);
    case Operator::reduce_scatter: return copying(&copying_reduce_scatter);
    case Operator::all_to_all: rounds_->use(CollectiveAlgorithm::one_shot); return copying(&copying_all_to_all);
    case Operator::broadcast: return copying(&copying_broadcast);
    case Operator::barrier: return meet(*rounds_).map([] { return true; });
    case Operator::allocate:
    case Operator::send:
    case Operator::receive: break;
  }
  return fail(ErrorKind::internal, "{} is not run by this transport", call.to_string());
}

Result<bool> HostTransport::run_shared(const GroupCall& call) {
  const bool forced = call.algorithm == CollectiveAlgorithm::symmetric;
  if (!forced && call.algorithm != CollectiveAlgorithm::automatic) return false;
  const std::int64_t whole = bytes_of(call, rounds_->size());
  const bool pulls = call.op == Operator::reduce_scatter || call.op == Operator::broadcast;
  if (!forced && pulls && whole < tuning_.pulling_from) return false;
  const bool one_part = call.many.empty() && call.input_splits.empty() && call.op != Operator::barrier;
  const bool overlapping = call.op == Operator::all_to_all && in_place(call);
  const bool reads = call.op == Operator::all_reduce || call.op == Operator::reduce_scatter;
  const bool writes = call.op != Operator::reduce_scatter;
  const bool fits = one_part && !overlapping;
  const auto input = fits && reads ? heap_.offset_of(call.first.input) : std::nullopt;
  const auto output = fits && writes ? heap_.offset_of(call.first.output) : std::nullopt;
  if (!fits || (reads && !input) || (writes && !output)) {
    if (!forced) return false;
    return fail(ErrorKind::usage,
                "{} can't use algorithm symmetric: its buffers must be one buffer each of this group's "
                "symmetric memory",
                call.to_string());
  }
  // Never 0, and the same only for the same places.
  const auto note = static_cast<std::uint64_t>(input.value_or(0)) * 0x9e3779b97f4a7c15ULL ^
                    (static_cast<std::uint64_t>(output.value_or(0)) << 1 | 1U);
  rounds_->use(CollectiveAlgorithm::symmetric);
  HOCKET_TRY(std::byte * slot, rounds_->open());
  if (call.op == Operator::broadcast && rounds_->place() == call.root)
    *slot = static_cast<std::byte>(call.first.input == call.first.output);
  rounds_->post(note);
  HOCKET_CHECK(rounds_->take_all());
  if (!rounds_->notes_are(note)) {
    rounds_->use(call.algorithm);
    return false;
  }

  std::vector<std::byte*> inputs;
  std::vector<std::byte*> outputs;
  for (std::int32_t place = 0; place < rounds_->size(); ++place) {
    if (input) inputs.push_back(heap_.at(place, *input));
    if (output) outputs.push_back(heap_.at(place, *output));
  }
  const SharedBuffers buffers{inputs, outputs};
  const Cut cut{0, whole >= tuning_.pushing_streams_from};
  Status status;
  switch (call.op) {
    case Operator::all_reduce: status = fused_all_reduce(*rounds_, call, buffers); break;
    case Operator::all_gather: status = pushing_all_gather(*rounds_, call, buffers, cut); break;
    case Operator::reduce_scatter: status = pulling_reduce_scatter(*rounds_, call, buffers); break;
    case Operator::all_to_all: status = pushing_all_to_all(*rounds_, call, buffers, cut); break;
    case Operator::broadcast: {
      const bool source_is_shared = *rounds_->slot_of(call.root) != std::byte{};
      status = shared_broadcast(*rounds_, call, buffers, source_is_shared, cut);
      break;
    }
    default: return fail(ErrorKind::internal, "{} has no algorithm symmetric", call.to_string());
  }
  if (!status) return fail(status.error());
  return true;
}

}  // namespace hocket
