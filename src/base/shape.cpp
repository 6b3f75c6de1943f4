#include "hocket/base/shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>

namespace hocket {

bool all_static(Dims dims) {
  return std::all_of(dims.begin(), dims.end(), [](Dim dim) { return dim.is_static(); });
}

namespace {

// Bounds that no real program meets, so that a hostile expression stays small.
constexpr std::size_t max_terms = 64;
constexpr std::size_t max_degree = 16;

// Numbers whose negative exists too: texts have no way to write the one that has none.
constexpr std::int64_t smallest = -std::numeric_limits<std::int64_t>::max();

std::optional<std::int64_t> multiply_checked(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product) || product < smallest) return std::nullopt;
  return product;
}

std::optional<std::int64_t> add_checked(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum) || sum < smallest) return std::nullopt;
  return sum;
}

std::optional<Dim> static_dim(std::optional<std::int64_t> value) {
  if (!value || *value < 0 || *value > Dim::max) return std::nullopt;
  return Dim(*value);
}

}  // namespace

SymbolTable::Polynomial SymbolTable::polynomial(Dim dim) const {
  if (!dim.is_static()) return expressions_[dim.expression()];
  if (dim.value() == 0) return {};
  return {{Monomial{}, dim.value()}};
}

std::optional<Dim> SymbolTable::intern(Polynomial polynomial) {
  if (polynomial.empty()) return Dim(0);
  if (polynomial.size() == 1 && polynomial[0].first.empty()) return static_dim(polynomial[0].second);
  const auto number = static_cast<std::uint32_t>(expressions_.size());
  const auto [entry, is_new] = expression_index_.try_emplace(polynomial, number);
  if (is_new) expressions_.push_back(std::move(polynomial));
  return Dim::symbolic(entry->second);
}

std::uint32_t SymbolTable::symbol(std::string_view name) {
  if (const auto found = name_index_.find(name); found != name_index_.end()) return found->second;
  const auto number = static_cast<std::uint32_t>(names_.size());
  names_.emplace_back(name);
  name_index_.emplace(name, number);
  return number;
}

std::optional<SymbolTable::Polynomial> SymbolTable::plus(const Polynomial& a, const Polynomial& b) {
  Polynomial sum;
  auto i = a.begin();
  auto j = b.begin();
  while (i != a.end() || j != b.end()) {
    if (j == b.end() || (i != a.end() && i->first < j->first)) {
      sum.push_back(*i++);
    } else if (i == a.end() || j->first < i->first) {
      sum.push_back(*j++);
    } else {
      const auto coefficient = add_checked(i->second, j->second);
      if (!coefficient) return std::nullopt;
      if (*coefficient != 0) sum.emplace_back(i->first, *coefficient);
      ++i;
      ++j;
    }
  }
  if (sum.size() > max_terms) return std::nullopt;
  return sum;
}

std::optional<SymbolTable::Polynomial> SymbolTable::times(const Polynomial& a, const Polynomial& b) {
  Polynomial product;
  for (const auto& [monomial_a, factor_a] : a) {
    Polynomial row;
    for (const auto& [monomial_b, factor_b] : b) {
      Monomial monomial = monomial_a;
      monomial.insert(monomial.end(), monomial_b.begin(), monomial_b.end());
      if (monomial.size() > max_degree) return std::nullopt;
      std::sort(monomial.begin(), monomial.end());
      const auto factor = multiply_checked(factor_a, factor_b);
      if (!factor) return std::nullopt;
      row.emplace_back(std::move(monomial), *factor);
    }
    std::sort(row.begin(), row.end());
    auto sum = plus(product, row);
    if (!sum) return std::nullopt;
    product = std::move(*sum);
  }
  return product;
}

std::optional<Dim> SymbolTable::add(Dim a, Dim b) {
  if (a.is_static() && b.is_static()) return static_dim(add_checked(a.value(), b.value()));
  auto sum = plus(polynomial(a), polynomial(b));
  return sum ? intern(std::move(*sum)) : std::nullopt;
}

std::optional<Dim> SymbolTable::multiply(Dim a, Dim b) {
  if (a.is_static() && b.is_static()) return static_dim(multiply_checked(a.value(), b.value()));
  auto product = times(polynomial(a), polynomial(b));
  return product ? intern(std::move(*product)) : std::nullopt;
}

std::optional<Dim> SymbolTable::divide_exactly(Dim a, std::int64_t divisor) {
  if (divisor <= 0) return std::nullopt;
  Polynomial quotient = polynomial(a);
  for (auto& [monomial, factor] : quotient) {
    if (factor % divisor != 0) return std::nullopt;
    factor /= divisor;
  }
  return intern(std::move(quotient));
}

std::optional<Dim> SymbolTable::product(Dims dims) {
  std::optional<Dim> result = Dim(1);
  for (const Dim dim : dims) {
    result = multiply(*result, dim);
    if (!result) return std::nullopt;
  }
  return result;
}

// The text must not depend on the order in which a table met its symbols: equal programs have equal texts and digests.
// So terms stand by degree, then by the names of their symbols; the constant comes last.
std::string SymbolTable::to_string(Dim dim) const {
  if (dim.is_static()) return std::to_string(dim.value());
  struct Term {
    std::vector<std::string> symbols;
    std::int64_t factor;
  };
  std::vector<Term> terms;
  for (const auto& [monomial, factor] : expressions_[dim.expression()]) {
    Term term{{}, factor};
    for (const std::uint32_t symbol : monomial) term.symbols.push_back(names_[symbol]);
    std::sort(term.symbols.begin(), term.symbols.end());
    terms.push_back(std::move(term));
  }
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
    return a.symbols.size() != b.symbols.size() ? a.symbols.size() > b.symbols.size() : a.symbols < b.symbols;
  });
  std::string text;
  for (const Term& term : terms) {
    const bool negative = term.factor < 0;
    if (!text.empty()) text += negative ? " - " : " + ";
    else if (negative) text += "-";
    const std::uint64_t size =
        negative ? 0 - static_cast<std::uint64_t>(term.factor) : static_cast<std::uint64_t>(term.factor);
    std::string product;
    for (const std::string& symbol : term.symbols) product += (product.empty() ? "" : "*") + symbol;
    if (term.symbols.empty()) product = std::to_string(size);
    else if (size != 1) product += "*" + std::to_string(size);
    text += product;
  }
  return text;
}

// expression := ["-"] term {("+" | "-") term};  term := factor {"*" factor};  factor := number | symbol | "(" expression ")"
class SymbolParser {
 public:
  SymbolParser(SymbolTable& table, std::string_view text) : table_(table), text_(text) {}

  Result<Dim> parse() {
    HOCKET_TRY(SymbolTable::Polynomial polynomial, expression(0));
    skip_spaces();
    if (next_ != text_.size()) return error("does not end there");
    const bool negative = !polynomial.empty() && polynomial[0].second < 0;
    const auto dim = table_.intern(std::move(polynomial));
    if (!dim) return error(negative ? "is negative" : "is larger than 2^60");
    return *dim;
  }

 private:
  using Polynomial = SymbolTable::Polynomial;
  static constexpr int max_nesting = 32;

  Result<Polynomial> expression(int depth) {
    if (depth > max_nesting) return error("is nested too deeply");
    Polynomial sum;
    bool negative = accept('-');
    do {
      HOCKET_TRY(Polynomial next, term(depth));
      if (negative) {
        for (auto& entry : next) entry.second = -entry.second;
      }
      auto total = SymbolTable::plus(sum, next);
      if (!total) return error("has too many terms or too large numbers");
      sum = std::move(*total);
      negative = accept('-');
    } while (negative || accept('+'));
    return sum;
  }

  Result<Polynomial> term(int depth) {
    HOCKET_TRY(Polynomial product, factor(depth));
    while (accept('*')) {
      HOCKET_TRY(Polynomial next, factor(depth));
      auto result = SymbolTable::times(product, next);
      if (!result) return error("has too many terms or too large numbers");
      product = std::move(*result);
    }
    return product;
  }

  Result<Polynomial> factor(int depth) {
    skip_spaces();
    if (accept('(')) {
      HOCKET_TRY(Polynomial inner, expression(depth + 1));
      if (!accept(')')) return error("lacks a closing parenthesis");
      return inner;
    }
    if (next_ < text_.size() && is_digit(text_[next_])) return number();
    if (next_ < text_.size() && is_letter(text_[next_])) {
      const std::size_t begin = next_;
      while (next_ < text_.size() && (is_letter(text_[next_]) || is_digit(text_[next_]))) ++next_;
      return Polynomial{{{table_.symbol(text_.substr(begin, next_ - begin))}, 1}};
    }
    return error("lacks a number or a symbol");
  }

  Result<Polynomial> number() {
    std::int64_t value = 0;
    for (; next_ < text_.size() && is_digit(text_[next_]); ++next_) {
      const auto tens = multiply_checked(value, 10);
      const auto sum = tens ? add_checked(*tens, text_[next_] - '0') : std::nullopt;
      if (!sum) return error("has a number above 2^63");
      value = *sum;
    }
    if (value == 0) return Polynomial{};
    return Polynomial{{{}, value}};
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
  void skip_spaces() {
    while (next_ < text_.size() && text_[next_] == ' ') ++next_;
  }
  bool accept(char c) {
    skip_spaces();
    if (next_ >= text_.size() || text_[next_] != c) return false;
    ++next_;
    return true;
  }
  tl::unexpected<Error> error(std::string_view what) const {
    return fail(ErrorKind::input, "size expression '{}' {} (column {}); expected something like s0*1024 + 8",
                text_.substr(0, 80), what, next_ + 1);
  }

  SymbolTable& table_;
  std::string_view text_;
  std::size_t next_ = 0;
};

Result<Dim> SymbolTable::parse(std::string_view text) { return SymbolParser(*this, text).parse(); }

std::optional<Strides> contiguous_strides(Dims shape, SymbolTable& symbols) {
  Strides strides{std::vector<Dim>(shape.size(), Dim(1))};
  Dim step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides.dims[i] = step;
    // PyTorch steps over an empty dimension as if it had one element
    const Dim size = shape[i] == Dim(0) ? Dim(1) : shape[i];
    const auto next = symbols.multiply(step, size);
    if (!next) return std::nullopt;
    step = *next;
  }
  return strides;
}

}  // namespace hocket
