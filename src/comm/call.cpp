#include "comm/call.h"

#include <bit>

#include "comm/any_source.h"

namespace hocket {

namespace {

// Mixes a number into a hash, in a handful of instructions.
std::uint64_t mix(std::uint64_t hash, std::uint64_t number) {
  hash = (hash ^ number) * 0x9e3779b97f4a7c15ULL;
  return std::rotl(hash, 31) * 0xbf58476d1ce4e5b9ULL ^ hash >> 32;
}

std::uint64_t word(std::int64_t number) { return static_cast<std::uint64_t>(number); }

}  // namespace

std::string_view name_of(Operator op) {
  switch (op) {
    case Operator::barrier: return "barrier";
    case Operator::all_reduce: return "all_reduce";
    case Operator::all_gather: return "all_gather";
    case Operator::reduce_scatter: return "reduce_scatter";
    case Operator::all_to_all: return "all_to_all";
    case Operator::broadcast: return "broadcast";
    case Operator::allocate: return "allocate";
    case Operator::send: return "send";
    case Operator::receive: return "receive";
  }
  return "unknown";
}

std::string_view name_of(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
    case CollectiveAlgorithm::automatic: return "automatic";
    case CollectiveAlgorithm::one_shot: return "one_shot";
    case CollectiveAlgorithm::two_shot: return "two_shot";
    case CollectiveAlgorithm::symmetric: return "symmetric";
    case CollectiveAlgorithm::reading: return "reading";
  }
  return "unknown";
}

std::uint64_t GroupCall::fingerprint() const {
  const std::uint64_t kinds = word(static_cast<std::int64_t>(op)) | word(static_cast<std::int64_t>(dtype)) << 8 |
                              word(static_cast<std::int64_t>(reduces(op) ? reduce : ReduceOp::sum)) << 16 |
                              word(static_cast<std::int64_t>(algorithm)) << 24 | word(root) << 32;
  // The three that every call has are spread by multiplications that do not wait for each other.
  std::uint64_t hash = mix(number * 0xd6e8feb86659fd93ULL ^ std::rotl(word(count) * 0xff51afd7ed558ccdULL, 32), kinds);
  if (block != 0) hash = mix(hash, word(block));
  if (reduces(op) && reduce == ReduceOp::premul_sum) hash = mix(hash, std::bit_cast<std::uint64_t>(factor));
  for (const Transfer& part : many) hash = mix(hash, word(part.count));
  if (!input_splits.empty()) hash = mix(hash, 1);  // their rounds are others than those of equal parts
  return hash;
}

std::string describe(const CallFacts& facts, std::string_view file) {
  std::string text = fmt::format("{}(", name_of(facts.op));
  if (facts.op == Operator::allocate) text += fmt::format("{} bytes", facts.count);
  else if (facts.op != Operator::barrier) text += fmt::format("{}[{}]", short_name(facts.dtype), facts.count);
  if (facts.parts > 0) text += fmt::format(" in {} part{}", facts.parts, facts.parts == 1 ? "" : "s");
  if (reduces(facts.op)) text += fmt::format(", {}", name_of(facts.reduce));
  if (reduces(facts.op) && facts.reduce == ReduceOp::premul_sum) text += fmt::format(" by {}", facts.factor);
  if (facts.op == Operator::broadcast) text += fmt::format(", from {}", facts.root);
  if (facts.op == Operator::send) text += fmt::format(", to {}, tag {}", facts.root, facts.tag);
  if (facts.op == Operator::receive) {
    text += facts.root == any_source ? fmt::format(", from anyone, tag {}", facts.tag)
                                     : fmt::format(", from {}, tag {}", facts.root, facts.tag);
  }
  if (facts.algorithm != CollectiveAlgorithm::automatic) text += fmt::format(", {}", name_of(facts.algorithm));
  text += fmt::format(") as call {}", facts.number);
  // Options that were made without a list of their fields have the place of their own constructor.
  const bool known = facts.line != 0 && file != "call_options.h";
  if (known) text += fmt::format(" at {}:{}", file, facts.line);
  return text;
}

CallFacts GroupCall::facts() const {
  return {op,    dtype,  reduce, algorithm, root, tag,      static_cast<std::int32_t>(many.size()),
          count, factor, number, site.line, 0,    algorithm};
}

std::string_view GroupCall::file() const {
  const std::string_view path = site.file;
  return path.substr(path.find_last_of('/') + 1);
}

std::string GroupCall::to_string() const { return describe(facts(), file()); }

}  // namespace hocket
