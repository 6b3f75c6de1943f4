#include "rank_work.h"

#include "line_socket.h"
#include "values.h"

namespace hocket::comm_bench {

namespace {

constexpr int warm_up_repetitions = 2;
constexpr float untouched = -1;  // in outputs before a check

bool has_input(Operator op, std::int32_t rank, std::int32_t root) {
  return op != Operator::barrier && (op != Operator::broadcast || rank == root);
}

}  // namespace

Status RankWork::provide(Buffer& buffer, std::int64_t elements, BufferKind kind) {
  if (buffer.memory && buffer.elements == elements) return {};
  buffer = {};  // first, or there would be two at once
  HOCKET_TRY(buffer.memory, engine_.allocate(elements, kind));
  buffer.elements = elements;
  fill(buffer.memory.get(), elements, 0);  // the first touch of a page is no part of a collective
  return {};
}

Result<GroupCall> RankWork::prepare(const Task& task) {
  HOCKET_CHECK(engine_.supports(task.op));
  const Extent extent = extent_of(task.op, task.bytes, engine_.size());
  auto& [input, output] = buffers_[static_cast<std::size_t>(task.buffers)];
  GroupCall call{task.op, nullptr, nullptr, extent.count, 0};
  if (task.op == Operator::barrier) return call;
  HOCKET_CHECK(provide(input, extent.input, task.buffers));
  if (!task.in_place) HOCKET_CHECK(provide(output, extent.output, task.buffers));
  call.input = input.memory.get();
  call.output = task.in_place ? input.memory.get() : output.memory.get();
  return call;
}

Status RankWork::barrier() { return engine_.run({}); }

Result<Answer> RankWork::check(const Task& task) {
  HOCKET_TRY(const GroupCall call, prepare(task));
  const Extent extent = extent_of(task.op, task.bytes, engine_.size());
  const std::int32_t rank = engine_.rank();
  for (std::int64_t i = 0; i < extent.output; ++i) call.output[i] = untouched;
  if (has_input(task.op, rank, call.root)) {
    float* input = buffers_[static_cast<std::size_t>(task.buffers)][0].memory.get();
    for (std::int64_t i = 0; i < extent.input; ++i) input[i] = input_value(rank, i);
  }
  HOCKET_CHECK(barrier());
  HOCKET_CHECK(engine_.run(call));
  HOCKET_CHECK(barrier());
  for (std::int64_t i = 0; i < extent.output; ++i) {
    const float expected = expected_value(task.op, rank, engine_.size(), extent.count, i);
    if (call.output[i] == expected) continue;
    return fail(ErrorKind::internal, "wrong result: {} of {} bytes gave rank {} {} at element {}, expected {}",
                name_of(task.op), task.bytes, rank, call.output[i], i, expected);
  }
  return Answer{Answer::Kind::fine};
}

Status RankWork::repeat(const Task& task, GroupCall& call) {
  for (std::int32_t i = 0; i < task.batch; ++i) {
    // Broadcasts take turns as root. Otherwise the root of a batch would run ahead of the others.
    if (++calls_, call.op == Operator::broadcast) call.root = static_cast<std::int32_t>(calls_ % engine_.size());
    if (task.fill && has_input(call.op, engine_.rank(), call.root)) {
      const Extent extent = extent_of(task.op, task.bytes, engine_.size());
      fill(const_cast<float*>(call.input), extent.input, static_cast<float>(calls_));
    }
    HOCKET_CHECK(engine_.run(call));
  }
  return {};
}

Result<Answer> RankWork::measure(const Task& task) {
  if (task.repetitions < 1 || task.batch < 1)
    return fail(ErrorKind::input, "got {} repetitions of {} calls, expected at least one", task.repetitions,
                task.batch);
  HOCKET_TRY(GroupCall call, prepare(task));
  calls_ = 0;
  Answer answer{Answer::Kind::times};
  answer.ns.reserve(static_cast<std::size_t>(task.repetitions));
  for (int i = -warm_up_repetitions; i < task.repetitions; ++i) {
    HOCKET_CHECK(barrier());
    const auto start = Clock::now();
    HOCKET_CHECK(repeat(task, call));
    const std::chrono::duration<double, std::nano> took = Clock::now() - start;
    if (i >= 0) answer.ns.push_back(took.count() / task.batch);
  }
  HOCKET_CHECK(barrier());
  return answer;
}

void RankWork::release() { buffers_ = {}; }

}  // namespace hocket::comm_bench
