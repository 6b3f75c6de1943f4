// Sizes of tensors: integers, or symbolic expressions such as s0*1024 where a program was captured with dynamic shapes.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hocket/base/error.h"

namespace hocket {

// One size. Static sizes are 0 … Dim::max; a symbolic one is the number of an expression in a SymbolTable.
class Dim {
 public:
  static constexpr std::int64_t max = std::int64_t{1} << 60;

  constexpr Dim() = default;
  constexpr Dim(std::int64_t size) : raw_(size) {}  // NOLINT: sizes are written as numbers everywhere
  static constexpr Dim symbolic(std::uint32_t expression) { return Dim(~static_cast<std::int64_t>(expression)); }

  constexpr bool is_static() const { return raw_ >= 0; }
  constexpr std::int64_t value() const { return raw_; }  // only where is_static()
  constexpr std::uint32_t expression() const { return static_cast<std::uint32_t>(~raw_); }

  friend constexpr bool operator==(Dim, Dim) = default;

 private:
  std::int64_t raw_ = 0;
};

using Dims = std::span<const Dim>;

bool all_static(Dims dims);

// Owned lists. They are different types so that strides are never passed for a shape.
struct Shape {
  std::vector<Dim> dims;
  friend bool operator==(const Shape&, const Shape&) = default;
};
struct Strides {
  std::vector<Dim> dims;
  friend bool operator==(const Strides&, const Strides&) = default;
};

// Symbols and the expressions made of them: sums of integer multiples of products, kept in one normal form,
// so that equal expressions have equal Dims. Arithmetic answers nothing where a result has no such form or overflows.
class SymbolTable {
 public:
  // Parses "s0*1024", "2*s0 + 8"; a plain number gives a static Dim.
  Result<Dim> parse(std::string_view text);
  std::string to_string(Dim dim) const;

  std::optional<Dim> add(Dim a, Dim b);
  std::optional<Dim> multiply(Dim a, Dim b);
  std::optional<Dim> divide_exactly(Dim a, std::int64_t divisor);  // only if every term divides
  std::optional<Dim> product(Dims dims);

  bool empty() const { return expressions_.empty(); }
  friend bool operator==(const SymbolTable&, const SymbolTable&) = default;

 private:
  using Monomial = std::vector<std::uint32_t>;  // sorted symbol numbers, with repetition; empty is the constant 1
  using Polynomial = std::vector<std::pair<Monomial, std::int64_t>>;  // sorted by monomial, no zero coefficient

  Polynomial polynomial(Dim dim) const;
  std::optional<Dim> intern(Polynomial polynomial);
  std::uint32_t symbol(std::string_view name);
  static std::optional<Polynomial> times(const Polynomial& a, const Polynomial& b);
  static std::optional<Polynomial> plus(const Polynomial& a, const Polynomial& b);

  friend class SymbolParser;
  std::vector<std::string> names_;
  std::map<std::string, std::uint32_t, std::less<>> name_index_;
  std::vector<Polynomial> expressions_;
  std::map<Polynomial, std::uint32_t> expression_index_;
};

// Strides of a dense row-major tensor. Empty where a product has no representation.
std::optional<Strides> contiguous_strides(Dims shape, SymbolTable& symbols);

}  // namespace hocket
