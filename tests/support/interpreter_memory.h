// Memory as the reference interpreter models it: real addresses, so that views see what is written through other views, and
// buffers that share bytes destroy each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "support/interpreter_values.h"

namespace hocket::interpreter {

// Where the elements of a tensor lie. Sizes, strides and the offset count elements, from byte `base` of the memory on.
struct Layout {
  std::int64_t element_bytes = 4;
  std::int64_t base = 0;
  std::int64_t offset = 0;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;

  std::int64_t count() const;
  std::int64_t end_bytes() const;  // what it reaches of its memory; 0 without elements
  friend bool operator==(const Layout&, const Layout&) = default;
};

// One granule of memory: bytes `begin` and following of an element of `size` bytes.
struct Cell {
  Word word = 0;
  std::uint8_t begin = 0;
  std::uint8_t size = 0;
  friend bool operator==(const Cell&, const Cell&) = default;
};

// What words stand for that were read with another element size than they were written with. To write such a word puts
// the old cells back, so that moving data as other dtypes loses nothing. One for all memories of a run.
class Reinterpretations {
 public:
  Word join(std::span<const Cell> cells, std::int64_t granule);
  // The cells of such a word in a memory of this granule; empty where it is an ordinary word or does not divide so.
  std::vector<Cell> split(Word word, std::int64_t granule) const;
  bool empty() const { return pieces_.empty(); }

 private:
  struct Pieces {
    std::int64_t granule;
    std::vector<Cell> cells;
  };
  std::unordered_map<Word, Pieces> pieces_;
};

class Memory {
 public:
  // `granule` divides the size of every element that will lie here, and its address.
  Memory(std::int64_t bytes, std::int64_t granule, Reinterpretations& reinterpretations);

  std::int64_t bytes() const { return static_cast<std::int64_t>(cells_.size()) * granule_; }
  std::vector<Word> read(const Layout& layout) const;
  // Poison of a collective in flight among these elements; 0 where there is none.
  Word in_flight(const Layout& layout) const;
  void write(const Layout& layout, std::span<const Word> words);

 private:
  Word read_element(std::int64_t address, std::int64_t element_bytes) const;
  void write_element(std::int64_t address, std::int64_t element_bytes, Word word);

  std::int64_t granule_;
  Reinterpretations* reinterpretations_;
  std::vector<Cell> cells_;
};

// Calls visit(address in elements) for each element, row by row.
template <class Visit>
void for_each_element(const Layout& layout, Visit&& visit) {
  if (layout.shape.empty()) return visit(layout.offset);
  const std::size_t last = layout.shape.size() - 1;
  const std::int64_t row = layout.shape[last];
  const std::int64_t stride = layout.strides[last];
  const std::int64_t rows = row == 0 ? 0 : layout.count() / row;
  std::vector<std::int64_t> index(last, 0);
  std::int64_t begin = layout.offset;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < row; ++k) visit(begin + k * stride);
    for (std::size_t dim = last; dim-- > 0;) {
      begin += layout.strides[dim];
      if (++index[dim] < layout.shape[dim]) break;
      begin -= layout.strides[dim] * layout.shape[dim];
      index[dim] = 0;
    }
  }
}

}  // namespace hocket::interpreter
