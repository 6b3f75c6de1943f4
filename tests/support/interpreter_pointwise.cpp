// Arithmetic on the elements at one place, and copies.
#include <functional>
#include <map>

#include "support/interpreter_operators.h"

namespace hocket::interpreter {

namespace {

using Operands = std::span<const Word>;

// result[i] = function(operands at i); an operand is a tensor or a number.
void map(Call& call, std::initializer_list<const Item*> items, const std::function<Word(Operands)>& function) {
  Tensor& result = call.results.at(0);
  const auto count = static_cast<std::size_t>(count_of(result.shape));
  std::vector<std::vector<Word>> columns;
  for (const Item* item : items) {
    const Tensor operand = call.tensor(*item);
    const auto positions = broadcast_positions(operand.shape, result.shape);
    if (positions.size() != count) throw Halt("the operands do not fit the result's shape");
    columns.emplace_back();
    for (const std::size_t position : positions) columns.back().push_back(operand.words[position]);
  }
  result.words.clear();
  std::vector<Word> row(columns.size());
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < columns.size(); ++k) row[k] = columns[k][i];
    result.words.push_back(function(row));
  }
}

void unary(Call& call, const std::function<Word(Word)>& function) {
  map(call, {&call.at(0)}, [&](Operands of) { return function(of[0]); });
}

void binary(Call& call, const std::function<Word(Word, Word)>& function) {
  map(call, {&call.at(0), &call.at(1)}, [&](Operands of) { return function(of[0], of[1]); });
}

void add_scaled(Call& call) {
  const Word alpha = call.number(2, "alpha", 1);
  binary(call, [&](Word a, Word b) { return add(a, multiply(alpha, b)); });
}
void subtract_scaled(Call& call) {
  const Word alpha = call.number(2, "alpha", 1);
  binary(call, [&](Word a, Word b) { return subtract(a, multiply(alpha, b)); });
}
void subtract_from(Call& call) {
  const Word alpha = call.number(2, "alpha", 1);
  binary(call, [&](Word a, Word b) { return subtract(b, multiply(alpha, a)); });
}

void product(Call& call) { binary(call, multiply); }

void quotient(Call& call) {
  const Item* mode = call.find(2, "rounding_mode");
  const Word rounding = mode == nullptr ? 0 : mixed(0, mode->text);
  const Item& divisor = call.at(1);
  const Word constant = divisor.is_number() ? inverse(call.number(divisor)) : 0;  // once, not for each element
  binary(call, [&](Word a, Word b) {
    const Word exact = multiply(a, divisor.is_number() ? constant : inverse(b));
    return rounding == 0 ? exact : as_element(mixed(rounding, exact));
  });
}

void negative(Call& call) {
  unary(call, [](Word a) { return subtract(0, a); });
}
void square(Call& call) {
  unary(call, [](Word a) { return multiply(a, a); });
}
void reciprocal(Call& call) { unary(call, inverse); }
void larger(Call& call) {
  binary(call, [](Word a, Word b) { return std::max(a, b); });
}
void smaller(Call& call) {
  binary(call, [](Word a, Word b) { return std::min(a, b); });
}

// self + value · a · b, or a / b
template <bool divides>
void add_combined(Call& call) {
  const Word value = call.number(3, "value", 1);
  map(call, {&call.at(0), &call.at(1), &call.at(2)},
      [&](Operands of) { return add(of[0], multiply(value, multiply(of[1], divides ? inverse(of[2]) : of[2]))); });
}

void interpolate(Call& call) {
  map(call, {&call.at(0), &call.at(1), &call.at(2)},
      [](Operands of) { return add(of[0], multiply(of[2], subtract(of[1], of[0]))); });
}

void choose(Call& call) {
  map(call, {&call.at(0), &call.at(1), &call.at(2)}, [](Operands of) { return of[0] % 2 != 0 ? of[1] : of[2]; });
}
void fill_where(Call& call) {
  map(call, {&call.at(0), &call.at(1), &call.at(2)}, [](Operands of) { return of[1] % 2 != 0 ? of[2] : of[0]; });
}

const std::map<std::string_view, void (*)(Call&)>& rules() {
  static const std::map<std::string_view, void (*)(Call&)> all = {{"add", add_scaled},
                                                                  {"sub", subtract_scaled},
                                                                  {"rsub", subtract_from},
                                                                  {"mul", product},
                                                                  {"div", quotient},
                                                                  {"true_divide", quotient},
                                                                  {"neg", negative},
                                                                  {"square", square},
                                                                  {"reciprocal", reciprocal},
                                                                  {"maximum", larger},
                                                                  {"minimum", smaller},
                                                                  {"addcmul", add_combined<false>},
                                                                  {"addcdiv", add_combined<true>},
                                                                  {"lerp", interpolate},
                                                                  {"where", choose},
                                                                  {"masked_fill", fill_where}};
  return all;
}

}  // namespace

Rule pointwise_rule(std::string_view base) {
  const auto found = rules().find(base);
  return found == rules().end() ? Rule{} : Rule{found->second, false};
}

}  // namespace hocket::interpreter
