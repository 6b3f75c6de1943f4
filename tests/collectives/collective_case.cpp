#include "collective_case.h"

#include <cstring>

namespace hocket {

namespace {

constexpr std::int64_t margin = 192;  // on each side of a buffer: more than the widest store
constexpr std::byte poison{0xa5};

bool takes_share_of_each(Operator op) { return op == Operator::reduce_scatter || op == Operator::all_to_all; }
bool gives_share_to_each(Operator op) { return op == Operator::all_gather || op == Operator::all_to_all; }

// A stretch of poisoned memory and what must be in it afterwards.
class Guarded {
 public:
  Guarded(std::byte* begin, std::int64_t bytes, std::int64_t shift)
      : begin_(begin),
        data_(begin + margin + shift),
        all_(static_cast<std::size_t>(bytes + 2 * margin + shift), poison) {
    std::memset(begin_, static_cast<int>(poison), all_.size());
  }
  std::byte* data() const { return data_; }
  void put(std::int64_t at, const naive::Buffer& what) {
    if (!what.empty()) std::memcpy(data_ + at, what.data(), what.size());
    expect(at, what);
  }
  void expect(std::int64_t at, const naive::Buffer& what) {
    std::copy(what.begin(), what.end(), all_.begin() + (data_ - begin_) + at);
  }
  // The first byte that is not as expected, counted from the data; nothing if all are.
  std::optional<std::int64_t> first_wrong() const {
    if (std::memcmp(begin_, all_.data(), all_.size()) == 0) return std::nullopt;
    const auto wrong = std::mismatch(all_.begin(), all_.end(), begin_).first - all_.begin();
    return wrong - (data_ - begin_);
  }

 private:
  std::byte* begin_;
  std::byte* data_;
  naive::Buffer all_;
};

const char* name_of(Layout layout) {
  switch (layout) {
    case Layout::apart: return "apart";
    case Layout::in_place: return "in place";
    default: return "off by a byte";
  }
}

const char* name_of(Memory memory) {
  switch (memory) {
    case Memory::own: return "own memory";
    case Memory::symmetric: return "symmetric memory";
    default: return "mixed memory";
  }
}

}  // namespace

std::string CollectiveCase::to_string() const {
  return fmt::format("{} {} {} of {} elements, {}, {}, {}, block {}, {}, from {}", hocket::name_of(op),
                     short_name(dtype), hocket::name_of(reduce), count, name_of(layout), name_of(memory),
                     hocket::name_of(algorithm), block, blocking ? "blocking" : "not blocking", source);
}

PreparedCase::PreparedCase(const CollectiveCase& its_facts, std::int32_t its_ranks, std::uint64_t seed)
    : facts(its_facts), ranks(its_ranks) {
  for (std::int32_t place = 0; place < ranks; ++place) {
    inputs.push_back(naive::Input::random(facts.dtype, seed * 1000 + static_cast<std::uint64_t>(place)));
  }
  if (!reduces(facts.op)) return;
  reduced.push_back(naive::reduced({facts.dtype, facts.reduce, facts.factor(), ranks}, inputs));
}

std::int64_t PreparedCase::input_elements() const { return facts.count * (takes_share_of_each(facts.op) ? ranks : 1); }
std::int64_t PreparedCase::output_elements() const { return facts.count * (gives_share_to_each(facts.op) ? ranks : 1); }

naive::Buffer PreparedCase::expected(std::int32_t place) const {
  switch (facts.op) {
    case Operator::all_reduce: return naive::all_reduce(reduced[0], facts.count);
    case Operator::reduce_scatter: return naive::reduce_scatter(reduced[0], facts.count, place);
    case Operator::all_gather: return naive::all_gather(inputs, facts.count);
    case Operator::all_to_all: return naive::all_to_all(inputs, facts.count, place);
    default: return naive::broadcast(inputs, facts.count, facts.source);
  }
}

CaseRunner::CaseRunner(Communicator group, std::int64_t largest_bytes, Complaints& complaints)
    : group_(std::move(group)), room_(largest_bytes + 2 * margin + 64), complaints_(complaints) {
  for (naive::Buffer& buffer : own_) buffer.resize(static_cast<std::size_t>(room_));
  for (SymmetricBuffer& buffer : symmetric_) {
    Result<SymmetricBuffer> fresh = group_.allocate(Bytes(room_));
    if (complaints_.well(fresh, "allocate")) buffer = std::move(*fresh);
  }
}

std::byte* CaseRunner::memory_for(const CollectiveCase& facts, std::size_t which) {
  const bool own = facts.memory == Memory::own || (facts.memory == Memory::mixed && group_.group().place() % 2 == 0);
  return own ? own_[which].data() : symmetric_[which].data();
}

Work CaseRunner::call(const CollectiveCase& facts, const void* input, void* output) const {
  CallOptions options;
  options.blocking = facts.blocking;
  options.algorithm = facts.algorithm;
  options.block = facts.block;
  options.factor = facts.factor();
  switch (facts.op) {
    case Operator::all_reduce: return group_.all_reduce(input, output, facts.count, facts.dtype, facts.reduce, options);
    case Operator::reduce_scatter:
      return group_.reduce_scatter(input, output, facts.count, facts.dtype, facts.reduce, options);
    case Operator::all_gather: return group_.all_gather(input, output, facts.count, facts.dtype, options);
    case Operator::all_to_all: return group_.all_to_all(input, output, facts.count, facts.dtype, options);
    default: return group_.broadcast(input, output, facts.count, facts.dtype, facts.source, options);
  }
}

void CaseRunner::run(const PreparedCase& one) {
  const CollectiveCase& facts = one.facts;
  const std::int32_t place = group_.group().place();
  const std::int64_t size = size_of(facts.dtype);
  const std::int64_t own = place * facts.count * size;
  const std::int64_t input_bytes = one.input_elements() * size;
  const std::int64_t output_bytes = one.output_elements() * size;
  const bool in_place = facts.layout == Layout::in_place;
  const bool shifted = facts.layout == Layout::off_by_a_byte;

  // In place there is one buffer, the larger of both.
  Guarded first(memory_for(facts, 0), in_place ? std::max(input_bytes, output_bytes) : input_bytes, shifted ? 1 : 0);
  Guarded second(memory_for(facts, 1), output_bytes, shifted ? size + 1 : 0);
  Guarded& to = in_place ? first : second;
  const std::int64_t input_at = in_place && facts.op == Operator::all_gather ? own : 0;
  const std::int64_t output_at = in_place && facts.op == Operator::reduce_scatter ? own : 0;
  first.put(input_at, one.inputs[static_cast<std::size_t>(place)].part(0, one.input_elements()));
  to.expect(output_at, one.expected(place));

  // Peers push into symmetric memory: nobody may poison it while they do.
  if (facts.memory != Memory::own && !complaints_.well(group_.barrier(blocking()), "barrier")) return;
  const Work work = call(facts, first.data() + input_at, to.data() + output_at);
  if (!complaints_.well(work, facts.to_string())) return;
  if (const auto wrong = first.first_wrong()) {
    complaints_.add("{}: first wrong byte of {}: {}", facts.to_string(), in_place ? "the buffer" : "the input", *wrong);
  }
  if (const auto wrong = in_place ? std::nullopt : second.first_wrong()) {
    complaints_.add("{}: first wrong byte of the output: {}", facts.to_string(), *wrong);
  }
}

}  // namespace hocket
