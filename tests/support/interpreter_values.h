// The numbers that the reference interpreter computes with. An element is one word whatever its dtype: an integer modulo the
// prime 2^61 - 1. Sums, products and divisions are exact there and obey the laws of arithmetic, so a pass that divides
// after concatenating instead of before gives the same words, and one that mistakes an element gives others.
//
// A word with its top bit set is poison: memory that nothing has written, or the result of a collective before its wait.
#pragma once

#include <cstdint>
#include <string_view>

namespace hocket::interpreter {

using Word = std::uint64_t;

inline constexpr Word prime = (Word{1} << 61) - 1;

Word add(Word a, Word b);
Word subtract(Word a, Word b);
Word multiply(Word a, Word b);
Word inverse(Word a);  // 0 has none: some other fixed word
Word from_integer(std::int64_t number);
// Every finite double is an integer times a power of two, and so has an exact word: 0.5 is the inverse of 2.
Word from_real(double number);

// Mixes a word into a hash: all 64 bits, poison bit included.
inline Word mixed(Word hash, Word next) {
  // splitmix64's finisher over a sum that tells (a, b) from (b, a)
  Word state = (hash ^ 0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd + next;
  state = (state ^ state >> 30) * 0xbf58476d1ce4e5b9;
  state = (state ^ state >> 27) * 0x94d049bb133111eb;
  return state ^ state >> 31;
}
Word mixed(Word hash, std::string_view text);
// A hash as an element: below the prime.
inline Word as_element(Word hash) { return hash % prime; }

enum class PoisonKind : std::uint8_t { unwritten, in_flight };

// `origin` numbers the collective or the memory that it comes from, below 2^22; `salt` makes each word of it differ.
inline Word poison(PoisonKind kind, std::uint32_t origin, Word salt) {
  return Word{1} << 63 | (kind == PoisonKind::in_flight ? Word{1} << 62 : 0) | Word{origin & 0x3fffff} << 40 |
         salt >> 24;
}
inline bool is_poison(Word word) { return word >> 63 != 0; }
inline PoisonKind poison_kind(Word word) {
  return (word >> 62 & 1) != 0 ? PoisonKind::in_flight : PoisonKind::unwritten;
}
inline std::uint32_t poison_origin(Word word) { return static_cast<std::uint32_t>(word >> 40 & 0x3fffff); }

// What computing with poison gives where that is no error: a word that depends on it.
inline Word without_poison(Word word) { return is_poison(word) ? as_element(mixed(0, word)) : word; }

}  // namespace hocket::interpreter
