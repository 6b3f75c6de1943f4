// Numbers of a known range, the lowest first: a tree of bits, 64 to a node, which is several times as fast as a heap.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace hocket::overlap {

class NumberQueue {
 public:
  explicit NumberQueue(std::size_t range) {
    do {
      range = range / bits + 1;
      levels_.emplace_back(range, 0);
    } while (range > 1);
  }

  bool empty() const { return levels_.back()[0] == 0; }
  void add(std::uint32_t number) {
    for (auto& level : levels_) {
      level[number / bits] |= std::uint64_t{1} << (number % bits);
      number /= bits;
    }
  }
  std::uint32_t take_lowest() {
    std::uint32_t number = 0;
    for (std::size_t l = levels_.size(); l-- > 0;)
      number = number * bits + static_cast<std::uint32_t>(std::countr_zero(levels_[l][number]));
    std::uint32_t at = number;
    for (auto& level : levels_) {
      std::uint64_t& node = level[at / bits];
      node &= ~(std::uint64_t{1} << (at % bits));
      if (node != 0) break;
      at /= bits;
    }
    return number;
  }

 private:
  static constexpr std::uint32_t bits = 64;
  std::vector<std::vector<std::uint64_t>> levels_;  // from the numbers themselves to one node
};

}  // namespace hocket::overlap
