#include "comm/call_checks.h"

#include <limits>

#include "comm/any_source.h"

namespace hocket {

namespace {

// Of the largest dtype and for any number of ranks, their bytes can be counted.
constexpr std::int64_t most_elements = std::numeric_limits<std::int64_t>::max() / 16 / 4096;

struct Range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

Range range_of(const void* data, std::int64_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  return {begin, begin + static_cast<std::uintptr_t>(bytes)};
}

bool overlap(const Range& a, const Range& b) { return a.begin < b.end && b.begin < a.end; }

// How often each side of a part holds its count.
std::int64_t inputs_of(Operator op, std::int64_t ranks) { return gives_shares(op) ? ranks : 1; }
std::int64_t outputs_of(Operator op, std::int64_t ranks) { return gets_shares(op) ? ranks : 1; }

// The output may be the input itself, and where one is larger, this rank's part of it may be the smaller.
bool same_place(const GroupCall& call, const RankGroup& group, const Transfer& part) {
  const std::int64_t own = group.place() * part.count * size_of(call.dtype);
  const auto* const input = static_cast<const std::byte*>(part.input);
  const auto* const output = static_cast<const std::byte*>(part.output);
  if (call.op == Operator::all_gather) return output + own == input;
  if (call.op == Operator::reduce_scatter) return input + own == output;
  if (call.op == Operator::all_to_all) return input == output && call.input_splits == call.output_splits;
  return input == output;
}

bool reads(const GroupCall& call, const RankGroup& group) {
  if (call.op == Operator::broadcast) return call.root == group.place();
  return call.op != Operator::receive;
}

Status check_part(const GroupCall& call, const RankGroup& group, const Transfer& part, std::int64_t input_count,
                  std::int64_t output_count) {
  const std::int64_t size = size_of(call.dtype);
  const bool writes = call.op != Operator::send;
  if (part.input == nullptr && input_count > 0 && reads(call, group)) {
    return fail(ErrorKind::usage, "the input of {} is null, expected {} elements", call.to_string(), input_count);
  }
  if (part.output == nullptr && output_count > 0 && writes) {
    return fail(ErrorKind::usage, "the output of {} is null, expected {} elements", call.to_string(), output_count);
  }
  if (!reads(call, group) || !writes || same_place(call, group, part)) return {};
  if (overlap(range_of(part.input, input_count * size), range_of(part.output, output_count * size))) {
    return fail(ErrorKind::usage, "the output of {} overlaps its input: let it be the same place or another",
                call.to_string());
  }
  return {};
}

Status check_splits(const GroupCall& call, const RankGroup& group) {
  for (const auto* splits : {&call.input_splits, &call.output_splits}) {
    const char* which = splits == &call.input_splits ? "input" : "output";
    if (splits->size() != static_cast<std::size_t>(group.size())) {
      return fail(ErrorKind::usage, "all_to_all got {} {} splits, expected one for each of the {} ranks of {}",
                  splits->size(), which, group.size(), group.name());
    }
    for (const std::int64_t count : *splits) {
      if (count < 0 || count > most_elements) {
        return fail(ErrorKind::usage, "all_to_all got {} as {} split", count, which);
      }
    }
  }
  return {};
}

std::int64_t sum_of(const std::vector<std::int64_t>& splits) {
  std::int64_t sum = 0;
  for (const std::int64_t count : splits) sum += count;
  return sum;
}

}  // namespace

Status check_and_count(GroupCall& call, const RankGroup& group) {
  if (reduces(call.op)) HOCKET_CHECK(check_reducible(call.dtype, call.reduce));
  if (call.op == Operator::broadcast && (call.root < 0 || call.root >= group.size())) {
    return fail(ErrorKind::usage, "broadcast from place {}, expected 0 to {} in {}", call.root, group.size() - 1,
                group.name());
  }
  const bool from_anyone = call.op == Operator::receive && call.root == any_source;
  if ((call.op == Operator::send || call.op == Operator::receive) && !from_anyone &&
      (call.root < 0 || call.root >= group.size())) {
    return fail(ErrorKind::usage, "{} {} place {}, expected 0 to {} in {}", name_of(call.op),
                call.op == Operator::send ? "to" : "from", call.root, group.size() - 1, group.name());
  }
  if (call.has_splits) {
    HOCKET_CHECK(check_splits(call, group));
    const std::int64_t own_place = group.place();
    const std::int64_t sent = call.input_splits[static_cast<std::size_t>(own_place)];
    const std::int64_t expected = call.output_splits[static_cast<std::size_t>(own_place)];
    if (sent != expected) {
      return fail(ErrorKind::usage, "all_to_all: this rank sends {} elements to itself but expects {}", sent, expected);
    }
    return check_part(call, group, call.first, sum_of(call.input_splits), sum_of(call.output_splits));
  }
  call.count = 0;
  for (const Transfer& part : call.parts()) {
    if (part.count < 0 || part.count > most_elements) {
      return fail(ErrorKind::usage, "{} of {} elements, expected 0 or more", name_of(call.op), part.count);
    }
    call.count += part.count;
    HOCKET_CHECK(check_part(call, group, part, part.count * inputs_of(call.op, group.size()),
                            part.count * outputs_of(call.op, group.size())));
  }
  return {};
}

}  // namespace hocket
