#include "support/interpreter_values.h"

#include <cmath>

namespace hocket::interpreter {

namespace {

Word reduced(Word word) {
  word = (word & prime) + (word >> 61);
  return word >= prime ? word - prime : word;
}

Word power(Word base, Word exponent) {
  Word result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = multiply(result, base);
    base = multiply(base, base);
  }
  return result;
}

}  // namespace

Word add(Word a, Word b) { return reduced(a + b); }
Word subtract(Word a, Word b) { return reduced(a + prime - b); }

Word multiply(Word a, Word b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return reduced((static_cast<Word>(product) & prime) + static_cast<Word>(product >> 61));
}

Word inverse(Word a) {
  // Fermat: a^(p-2) · a = 1. Zero gets a word of its own, so that a division by it shows.
  return a == 0 ? as_element(mixed(0, "division by zero")) : power(a, prime - 2);
}

Word from_integer(std::int64_t number) {
  const auto magnitude = static_cast<Word>(number < 0 ? -(number + 1) : number) % prime;
  return number < 0 ? subtract(0, add(magnitude, 1)) : magnitude;
}

Word from_real(double number) {
  if (std::isnan(number)) return as_element(mixed(0, "nan"));
  if (std::isinf(number)) return as_element(mixed(number > 0 ? 1 : 2, "infinity"));
  int exponent = 0;
  const double fraction = std::frexp(number, &exponent);
  constexpr int mantissa_bits = 53;
  const Word mantissa = from_integer(static_cast<std::int64_t>(std::ldexp(fraction, mantissa_bits)));
  exponent -= mantissa_bits;
  const Word scale = power(2, static_cast<Word>(std::abs(exponent)));
  return multiply(mantissa, exponent < 0 ? inverse(scale) : scale);
}

Word mixed(Word hash, std::string_view text) {
  hash = mixed(hash, text.size());
  for (const char letter : text) hash = mixed(hash, static_cast<unsigned char>(letter));
  return hash;
}

}  // namespace hocket::interpreter
