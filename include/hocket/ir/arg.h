// An argument of an operator call, 16 bytes. Lists and dicts hold their elements in the ArgPool that the call belongs to.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hocket/base/dtype.h"
#include "hocket/base/shape.h"
#include "hocket/ir/ids.h"

namespace hocket {

enum class ArgKind : std::uint8_t {
  none,
  boolean,
  integer,
  real,
  symbolic,  // an integer expression, such as s0*1024
  string,
  value,  // the result of a node (Graph) or an operand (Program)
  group,
  dtype,
  device,
  layout,
  memory_format,
  list,
  dict,  // elements alternate: key (string), value
  json,  // a JSON text that fits none of the other kinds, kept as it is
};

class Arg {
 public:
  constexpr Arg() = default;
  static constexpr Arg none() { return {}; }
  static constexpr Arg boolean(bool value) { return {ArgKind::boolean, 0, value ? 1U : 0U}; }
  static constexpr Arg integer(std::int64_t value) { return {ArgKind::integer, 0, static_cast<std::uint64_t>(value)}; }
  static constexpr Arg real(double value) { return {ArgKind::real, 0, std::bit_cast<std::uint64_t>(value)}; }
  static constexpr Arg symbolic(Dim dim) { return {ArgKind::symbolic, 0, dim.expression()}; }
  static constexpr Arg value(NodeId node) { return {ArgKind::value, 0, node.value}; }
  static constexpr Arg value(OperandId operand) { return {ArgKind::value, 0, operand.value}; }
  static constexpr Arg group(GroupId group) { return {ArgKind::group, 0, group.value}; }
  static constexpr Arg dtype(Dtype dtype) { return {ArgKind::dtype, 0, static_cast<std::uint64_t>(dtype)}; }
  // string, device, layout, memory_format and json carry a text.
  static constexpr Arg text(ArgKind kind, StringId text) { return {kind, 0, text.value}; }
  static constexpr Arg list(Range elements) { return {ArgKind::list, elements.count, elements.begin}; }
  static constexpr Arg dict(Range pairs) { return {ArgKind::dict, pairs.count, pairs.begin}; }

  constexpr ArgKind kind() const { return kind_; }
  constexpr bool is(ArgKind kind) const { return kind_ == kind; }

  // Each only where kind() says so.
  constexpr bool as_bool() const { return payload_ != 0; }
  constexpr std::int64_t as_integer() const { return static_cast<std::int64_t>(payload_); }
  constexpr double as_real() const { return std::bit_cast<double>(payload_); }
  constexpr Dim as_symbolic() const { return Dim::symbolic(static_cast<std::uint32_t>(payload_)); }
  constexpr NodeId as_node() const { return NodeId(payload_); }
  constexpr OperandId as_operand() const { return OperandId(payload_); }
  constexpr GroupId as_group() const { return GroupId(payload_); }
  constexpr Dtype as_dtype() const { return static_cast<Dtype>(payload_); }
  constexpr StringId as_text() const { return StringId(payload_); }
  constexpr Range as_range() const { return {static_cast<std::uint32_t>(payload_), count_}; }

 private:
  constexpr Arg(ArgKind kind, std::uint32_t count, std::uint64_t payload)
      : payload_(payload), count_(count), kind_(kind) {}

  std::uint64_t payload_ = 0;
  std::uint32_t count_ = 0;
  ArgKind kind_ = ArgKind::none;
};

struct Keyword {
  StringId key;
  Arg value;
};

// Strings, each kept once.
class StringPool {
 public:
  StringId add(std::string_view text);
  StringId find(std::string_view text) const;  // none() if it was never added
  std::string_view operator[](StringId id) const {
    return std::string_view(text_).substr(begin_[id.index()], begin_[id.index() + 1] - begin_[id.index()]);
  }
  std::size_t size() const { return begin_.size() - 1; }
  std::size_t memory() const;

 private:
  std::string text_;
  std::vector<std::uint64_t> begin_{0};
  std::vector<std::uint32_t> slots_;  // open addressing over the ids; rebuilt as it fills
  void rebuild_slots(std::size_t capacity);
};

// The arguments of all calls of one Graph or Program.
struct ArgPool {
  std::vector<Arg> args;
  std::vector<Keyword> keywords;
  StringPool strings;

  std::span<const Arg> elements(Arg list_or_dict) const { return elements(list_or_dict.as_range()); }
  std::span<const Arg> elements(Range range) const { return std::span(args).subspan(range.begin, range.count); }
  std::span<const Keyword> keyword_args(Range range) const {
    return std::span(keywords).subspan(range.begin, range.count);
  }
  std::string_view text(Arg arg) const { return strings[arg.as_text()]; }

  Range add(std::span<const Arg> elements);
  Range add(std::span<const Keyword> elements);

  // Calls visit for every value reference inside arg, depth first. Nesting is bounded by max_depth, which the readers enforce.
  static constexpr int max_depth = 64;
  template <class Visit>
  void for_each_value(const Arg& arg, Visit&& visit) const {
    if (arg.is(ArgKind::value)) {
      visit(arg);
    } else if (arg.is(ArgKind::list) || arg.is(ArgKind::dict)) {
      for (const Arg& element : elements(arg)) for_each_value(element, visit);
    }
  }
};

// Do two arguments of two pools mean the same? Values and groups compare by number.
bool same_arg(const ArgPool& pool_a, const Arg& a, const ArgPool& pool_b, const Arg& b);

}  // namespace hocket
