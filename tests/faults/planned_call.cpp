#include "planned_call.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace hocket {

namespace {

using Kind = PlannedCall::Kind;

constexpr std::byte poison{0xa5};
constexpr std::int64_t most_splits = 40;

// Small whole numbers, so that sums are exact in every dtype that is drawn.
double value(std::int32_t rank, std::int64_t index, std::int64_t salt) {
  return static_cast<double>((rank * 31 + index * 7 + salt) % 61);
}

template <class T>
void put_as(std::byte* at, double number) {
  const T typed = static_cast<T>(number);
  std::memcpy(at, &typed, sizeof typed);
}

template <class T>
double get_as(const std::byte* at) {
  T typed;
  std::memcpy(&typed, at, sizeof typed);
  return static_cast<double>(typed);
}

void put(Dtype dtype, std::byte* buffer, std::int64_t index, double number) {
  std::byte* const at = buffer + index * size_of(dtype);
  if (dtype == Dtype::i32) put_as<std::int32_t>(at, number);
  else if (dtype == Dtype::i64) put_as<std::int64_t>(at, number);
  else put_as<float>(at, number);
}

double get(Dtype dtype, const std::byte* buffer, std::int64_t index) {
  const std::byte* const at = buffer + index * size_of(dtype);
  if (dtype == Dtype::i32) return get_as<std::int32_t>(at);
  return dtype == Dtype::i64 ? get_as<std::int64_t>(at) : get_as<float>(at);
}

std::int64_t split(std::int32_t from, std::int32_t to, std::int64_t salt) {
  return (from * 13 + to * 7 + salt) % most_splits;
}

std::int64_t sum_of(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

}  // namespace

bool PlannedCall::reduces() const {
  return kind == Kind::all_reduce || kind == Kind::reduce_scatter || kind == Kind::coalesced_all_reduce ||
         kind == Kind::coalesced_reduce_scatter;
}

std::string PlannedCall::to_string() const {
  return fmt::format("kind {} of {}[{}], {} parts, {} by {}, {} to {}, salt {}", static_cast<int>(kind),
                     short_name(dtype), count, parts.size(), name_of(op), factor, source, destination, salt);
}

PlannedCall random_call_of(Kind kind, Random& random, std::int32_t ranks) {
  PlannedCall call;
  call.kind = kind;
  call.dtype = random.pick({Dtype::i32, Dtype::i64, Dtype::f32});
  call.op = random.pick({ReduceOp::sum, ReduceOp::max, ReduceOp::min});
  call.count = random.between(0, 9);
  if (random.chance(30)) call.count = random.between(10, 3000);
  if (random.chance(2)) call.count = random.between(50'000, 150'000);
  const bool coalesced = kind == Kind::coalesced_all_reduce || kind == Kind::coalesced_all_gather ||
                         kind == Kind::coalesced_reduce_scatter;
  for (std::int64_t left = coalesced ? random.between(1, 4) : 0; left > 0; --left) {
    call.parts.push_back(random.between(0, 300));
  }
  if (call.reduces() && call.dtype == Dtype::f32 && random.chance(40)) {
    call.op = ReduceOp::premul_sum;
    call.factor = static_cast<double>(random.between(2, 5));
  }
  call.source = static_cast<std::int32_t>(random.index(static_cast<std::size_t>(ranks)));
  call.salt = random.between(0, 999);
  call.blocking = random.chance(30);
  call.reading = kind == Kind::all_to_all && random.chance(50);
  return call;
}

PlannedCall random_call(Random& random, std::int32_t ranks) {
  constexpr auto collectives = static_cast<std::int64_t>(Kind::allocate);
  return random_call_of(static_cast<Kind>(random.between(0, collectives - 1)), random, ranks);
}

PlannedCall random_message(Random& random, std::int32_t ranks) {
  PlannedCall call = random_call_of(Kind::message, random, ranks);
  call.destination = static_cast<std::int32_t>((call.source + random.between(1, ranks - 1)) % ranks);
  call.blocking = false;  // two ranks that send to each other
  return call;
}

struct MadeCall::Shape {
  std::int64_t input = 0;  // elements
  std::int64_t output = 0;
};

MadeCall::MadeCall(const PlannedCall& plan, const Communicator& group, const CallOptions& options)
    : plan_(plan), ranks_(group.group().size()), place_(group.group().place()) {
  if (plan_.is_coalesced()) plan_.count = sum_of(plan_.parts);
  for (std::int32_t other = 0; plan_.kind == Kind::unequal_all_to_all && other < ranks_; ++other) {
    sends_.push_back(split(place_, other, plan_.salt));
    gets_.push_back(split(other, place_, plan_.salt));
  }
  if (!sends_.empty()) sends_[place_ == 0 ? 1 : 0] += plan_.wrong_split;
  const Shape sizes = shape();
  const std::int64_t size = size_of(plan_.dtype);
  input_.resize(static_cast<std::size_t>(sizes.input * size));
  output_.assign(static_cast<std::size_t>(sizes.output * size), poison);
  for (std::int64_t i = 0; i < sizes.input; ++i) put(plan_.dtype, input_.data(), i, value(place_, i, plan_.salt));
  start(group, options);
}

MadeCall::Shape MadeCall::shape() const {
  const std::int64_t count = plan_.count;
  switch (plan_.kind) {
    case Kind::barrier:
    case Kind::allocate: return {};
    case Kind::all_reduce:
    case Kind::coalesced_all_reduce:
    case Kind::broadcast: return {count, count};
    case Kind::all_gather:
    case Kind::coalesced_all_gather: return {count, count * ranks_};
    case Kind::reduce_scatter:
    case Kind::coalesced_reduce_scatter: return {count * ranks_, count};
    case Kind::all_to_all: return {count * ranks_, count * ranks_};
    case Kind::unequal_all_to_all: return {sum_of(sends_), sum_of(gets_)};
    case Kind::message: return {place_ == plan_.source ? count : 0, place_ == plan_.destination ? count : 0};
  }
  return {};
}

std::vector<Transfer> MadeCall::transfers() {
  const bool gathers = plan_.kind == Kind::coalesced_all_gather;
  const bool scatters = plan_.kind == Kind::coalesced_reduce_scatter;
  std::vector<Transfer> transfers;
  std::byte* input = input_.data();
  std::byte* output = output_.data();
  for (const std::int64_t count : plan_.parts) {
    transfers.push_back({input, output, count});
    input += count * size_of(plan_.dtype) * (scatters ? ranks_ : 1);
    output += count * size_of(plan_.dtype) * (gathers ? ranks_ : 1);
  }
  return transfers;
}

void MadeCall::start(const Communicator& group, CallOptions options) {
  options.blocking = plan_.blocking;
  options.factor = plan_.factor;
  const void* const input = input_.data();
  void* const output = output_.data();
  if (plan_.reading && plan_.kind == Kind::all_to_all) options.algorithm = CollectiveAlgorithm::reading;
  const auto& [kind, dtype, op, factor, count, parts, source, destination, salt, wrong, blocking, reading] = plan_;
  switch (kind) {
    case Kind::barrier: work = group.barrier(options); break;
    case Kind::all_reduce: work = group.all_reduce(input, output, count, dtype, op, options); break;
    case Kind::all_gather: work = group.all_gather(input, output, count, dtype, options); break;
    case Kind::reduce_scatter: work = group.reduce_scatter(input, output, count, dtype, op, options); break;
    case Kind::all_to_all: work = group.all_to_all(input, output, count, dtype, options); break;
    case Kind::broadcast: work = group.broadcast(input, output, count, dtype, source, options); break;
    case Kind::unequal_all_to_all: work = group.all_to_all(input, sends_, output, gets_, dtype, options); break;
    case Kind::coalesced_all_reduce: work = group.all_reduce_coalesced(transfers(), dtype, op, options); break;
    case Kind::coalesced_all_gather: work = group.all_gather_coalesced(transfers(), dtype, options); break;
    case Kind::coalesced_reduce_scatter: work = group.reduce_scatter_coalesced(transfers(), dtype, op, options); break;
    case Kind::allocate: {
      Result<SymmetricBuffer> got = group.allocate(Bytes(count), options);
      if (got) memory = std::move(*got);
      else work = Work::failed(std::move(got).error());
      break;
    }
    case Kind::message: {
      const auto tag = static_cast<std::int32_t>(salt);
      if (place_ == source) work = group.isend(input, count, dtype, destination, tag, options);
      else if (place_ == destination) work = group.irecv(output, count, dtype, source, tag, options);
      break;
    }
  }
}

double MadeCall::reduced(std::int64_t index) const {
  double result = value(0, index, plan_.salt);
  for (std::int32_t rank = 1; rank < ranks_; ++rank) {
    const double next = value(rank, index, plan_.salt);
    if (plan_.op == ReduceOp::max) result = std::max(result, next);
    else if (plan_.op == ReduceOp::min) result = std::min(result, next);
    else result += next;
  }
  return plan_.op == ReduceOp::premul_sum ? result * plan_.factor : result;
}

double MadeCall::expected(std::int64_t index) const {
  const std::int64_t count = plan_.count;
  // A coalesced call is as many calls, one behind the other in memory.
  std::int64_t before = 0;  // elements of the parts before
  std::int64_t part = count;
  const bool gathers = plan_.kind == Kind::coalesced_all_gather;
  for (const std::int64_t one : plan_.parts) {
    part = one;
    if (index < (before + one) * (gathers ? ranks_ : 1)) break;
    before += one;
  }
  switch (plan_.kind) {
    case Kind::all_reduce:
    case Kind::coalesced_all_reduce: return reduced(index);
    case Kind::reduce_scatter:
    case Kind::coalesced_reduce_scatter: return reduced(before * ranks_ + place_ * part + index - before);
    case Kind::all_gather:
    case Kind::coalesced_all_gather: {
      const std::int64_t inside = index - before * ranks_;
      return value(static_cast<std::int32_t>(inside / part), before + inside % part, plan_.salt);
    }
    case Kind::all_to_all:
      return value(static_cast<std::int32_t>(index / count), place_ * count + index % count, plan_.salt);
    case Kind::unequal_all_to_all: {
      std::int32_t from = 0;
      for (; index >= gets_[static_cast<std::size_t>(from)]; ++from) index -= gets_[static_cast<std::size_t>(from)];
      for (std::int32_t to = 0; to < place_; ++to) index += split(from, to, plan_.salt);
      return value(from, index, plan_.salt);
    }
    case Kind::broadcast:
    case Kind::message: return value(plan_.source, index, plan_.salt);
    case Kind::barrier:
    case Kind::allocate: break;
  }
  return 0;
}

bool MadeCall::is_right() const {
  if (plan_.kind == Kind::allocate) return memory.data() != nullptr && memory.bytes().count == plan_.count;
  const std::int64_t elements = static_cast<std::int64_t>(output_.size()) / size_of(plan_.dtype);
  for (std::int64_t i = 0; i < elements; ++i) {
    if (get(plan_.dtype, output_.data(), i) != expected(i)) return false;
  }
  return true;
}

bool MadeCall::is_untouched() const {
  return std::all_of(output_.begin(), output_.end(), [](std::byte one) { return one == poison; });
}

}  // namespace hocket
