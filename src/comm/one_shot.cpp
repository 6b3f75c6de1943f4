#include "comm/one_shot.h"

#include <algorithm>
#include <cstring>

// Lines and slots are there twice, and steps take turns. A rank that begins step n+2 has seen everybody's flag of step n+1;
// they raised it after they had read all of step n. So nobody reads any more what step n+2 overwrites, and one
// synchronisation for each step is enough.

namespace hocket {

namespace {

constexpr std::int64_t turns = 2;

// output = first + second, one after the other in memory.
void add(const float* first, const float* second, std::span<float> output) {
  for (std::size_t i = 0; i < output.size(); ++i) output[i] = first[i] + second[i];
}

}  // namespace

Result<OneShot> OneShot::create(SymmetricMemory& memory, const PeerWatch& watch, OneShotOptions options,
                                Deadline deadline) {
  if (options.slot < Bytes(FirstFit::alignment)) {
    return fail(ErrorKind::usage, "a slot of {} bytes, expected at least {}", options.slot.count, FirstFit::alignment);
  }
  options.slot = Bytes(options.slot.count / FirstFit::alignment * FirstFit::alignment);
  OneShot calls(memory, watch, options);
  HOCKET_TRY(calls.lines_, memory.allocate(Bytes(turns * static_cast<std::int64_t>(sizeof(Line))), deadline));
  HOCKET_TRY(calls.slots_, memory.allocate(Bytes(turns * options.slot.count), deadline));
  // The memory may have been used before. Nobody may raise a flag before everyone has lowered its own.
  std::memset(memory.at(memory.rank(), calls.lines_), 0, turns * sizeof(Line));
  HOCKET_TRY(const std::vector<Packet> all, memory.link().exchange("", {}, deadline));
  return calls;
}

OneShot::Line& OneShot::line_of(std::int32_t rank) const {
  const std::int64_t turn = step_ % turns;
  return *reinterpret_cast<Line*>(memory_->at(rank, lines_ + turn * static_cast<std::int64_t>(sizeof(Line))));
}

float* OneShot::slot_of(std::int32_t rank) const {
  return reinterpret_cast<float*>(memory_->at(rank, slots_ + step_ % turns * options_.slot.count));
}

std::string OneShot::Call::to_string() const {
  const std::string name = op == Operator::barrier ? "barrier()" : fmt::format("all_reduce_sum(f32[{}])", count);
  return fmt::format("{} as call {}", name, number);
}

Status OneShot::barrier() {
  if (!failure_.empty()) return fail(ErrorKind::peer, "{}", failure_);
  ++calls_;
  return remember(step(Operator::barrier, 0, 0, {}));
}

Status OneShot::all_reduce_sum(std::span<const float> input, std::span<float> output) {
  if (input.size() != output.size()) {
    return fail(ErrorKind::usage, "all_reduce_sum of {} elements into {}, expected as many", input.size(),
                output.size());
  }
  if (!failure_.empty()) return fail(ErrorKind::peer, "{}", failure_);
  ++calls_;
  const std::size_t most = static_cast<std::size_t>(options_.slot.count) / sizeof(float);
  std::size_t first = 0;
  do {  // once for an empty input, too: it may differ from what the others have
    const std::size_t count = std::min(most, input.size() - first);
    HOCKET_CHECK(remember(step(Operator::all_reduce_sum, static_cast<std::int64_t>(input.size()),
                               static_cast<std::int64_t>(first), input.subspan(first, count))));
    const std::span<float> part = output.subspan(first, count);
    if (memory_->size() == 1) std::copy_n(slot_of(0), count, part.begin());
    else add(slot_of(0), slot_of(1), part);
    for (std::int32_t rank = 2; rank < memory_->size(); ++rank) add(part.data(), slot_of(rank), part);
    first += count;
  } while (first < input.size());
  return {};
}

// When it returns, the slots of all ranks hold their inputs of this step.
Status OneShot::step(Operator op, std::int64_t count, std::int64_t part, std::span<const float> input) {
  ++step_;
  std::copy(input.begin(), input.end(), slot_of(memory_->rank()));
  Line& mine = line_of(memory_->rank());
  mine.call = {op, count, part, calls_};
  raise(mine.flag, step_);
  return meet(std::chrono::steady_clock::now() + options_.timeout);
}

// All are compared with rank 0, so that all ranks come to the same conclusion.
Status OneShot::meet(Deadline deadline) const {
  for (std::int32_t rank = 0; rank < memory_->size(); ++rank) {
    HOCKET_CHECK(wait_for(line_of(rank).flag, step_, {*watch_, rank, options_.policy, deadline}));
  }
  const Call& expected = line_of(0).call;
  for (std::int32_t rank = 1; rank < memory_->size(); ++rank) {
    const Call& call = line_of(rank).call;
    if (call == expected) continue;
    return fail(ErrorKind::peer, "ranks made different calls: rank 0 made {}, rank {} made {}", expected.to_string(),
                rank, call.to_string());
  }
  return {};
}

Status OneShot::remember(Status status) {
  if (!status) failure_ = status.error().message;
  return status;
}

}  // namespace hocket
