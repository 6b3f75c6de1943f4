// Random numbers for tests: the same from a seed on every machine and with every standard library.
//
//   Random random(seed);
//   if (random.chance(25)) size = random.between(1, 8);
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace hocket {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  // splitmix64 of Steele, Lea and Flood: every seed is as good as any other.
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    return mixed ^ mixed >> 31;
  }

  // 0 … count-1. The bias is far below anything that a test could notice.
  std::uint64_t below(std::uint64_t count) { return next() % count; }
  std::size_t index(std::size_t count) { return static_cast<std::size_t>(below(count)); }
  // low … high, both included.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
  }
  bool chance(int percent) { return static_cast<int>(below(100)) < percent; }

  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[index(from.size())];
  }
  template <class T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[index(from.size())];
  }
  template <class T>
  void shuffle(std::vector<T>& list) {
    for (std::size_t left = list.size(); left > 1; --left) std::swap(list[left - 1], list[index(left)]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace hocket
