#include "support/interpreter_memory.h"

namespace hocket::interpreter {

std::int64_t Layout::count() const {
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) elements *= size;
  return elements;
}

std::int64_t Layout::end_bytes() const {
  if (count() == 0) return 0;
  std::int64_t last = offset;
  for (std::size_t i = 0; i < shape.size(); ++i) last += (shape[i] - 1) * strides[i];
  return base + (last + 1) * element_bytes;
}

Word Reinterpretations::join(std::span<const Cell> cells, std::int64_t granule) {
  Word hash = static_cast<Word>(granule);
  for (const Cell& cell : cells) {
    if (is_poison(cell.word)) return cell.word;
    hash = mixed(mixed(hash, cell.word), Word{cell.begin} << 8 | cell.size);
  }
  const Word word = as_element(hash);
  pieces_.try_emplace(word, Pieces{granule, {cells.begin(), cells.end()}});
  return word;
}

std::vector<Cell> Reinterpretations::split(Word word, std::int64_t granule) const {
  if (pieces_.empty()) return {};
  const auto found = pieces_.find(word);
  if (found == pieces_.end() || found->second.granule % granule != 0) return {};
  std::vector<Cell> cells;
  for (const Cell& piece : found->second.cells) {
    for (std::int64_t begin = 0; begin < found->second.granule; begin += granule)
      cells.push_back({piece.word, static_cast<std::uint8_t>(piece.begin + begin), piece.size});
  }
  return cells;
}

Memory::Memory(std::int64_t bytes, std::int64_t granule, Reinterpretations& reinterpretations)
    : granule_(granule),
      reinterpretations_(&reinterpretations),
      cells_(static_cast<std::size_t>((bytes + granule - 1) / granule)) {}

Word Memory::read_element(std::int64_t address, std::int64_t element_bytes) const {
  const auto first = static_cast<std::size_t>(address / granule_);
  const auto count = static_cast<std::size_t>(element_bytes / granule_);
  bool whole = true;
  for (std::size_t i = 0; i < count && whole; ++i) {
    const Cell expected{cells_[first].word, static_cast<std::uint8_t>(static_cast<std::int64_t>(i) * granule_),
                        static_cast<std::uint8_t>(element_bytes)};
    whole = cells_[first + i] == expected;
  }
  return whole ? cells_[first].word : reinterpretations_->join(std::span(cells_).subspan(first, count), granule_);
}

void Memory::write_element(std::int64_t address, std::int64_t element_bytes, Word word) {
  const auto first = static_cast<std::size_t>(address / granule_);
  const auto count = static_cast<std::size_t>(element_bytes / granule_);
  const std::vector<Cell> pieces = reinterpretations_->split(word, granule_);
  for (std::size_t i = 0; i < count; ++i) {
    cells_[first + i] = pieces.size() == count
                            ? pieces[i]
                            : Cell{word, static_cast<std::uint8_t>(static_cast<std::int64_t>(i) * granule_),
                                   static_cast<std::uint8_t>(element_bytes)};
  }
}

std::vector<Word> Memory::read(const Layout& layout) const {
  std::vector<Word> words;
  words.reserve(static_cast<std::size_t>(layout.count()));
  const std::int64_t bytes = layout.element_bytes;
  if (bytes != granule_) {
    for_each_element(layout, [&](std::int64_t at) { words.push_back(read_element(layout.base + at * bytes, bytes)); });
    return words;
  }
  // most memories hold elements of one size, a cell for each
  const std::int64_t first = layout.base / granule_;
  for_each_element(layout, [&](std::int64_t at) {
    const Cell& cell = cells_[static_cast<std::size_t>(first + at)];
    words.push_back(cell.begin == 0 && cell.size == bytes ? cell.word : read_element(layout.base + at * bytes, bytes));
  });
  return words;
}

Word Memory::in_flight(const Layout& layout) const {
  Word found = 0;
  for_each_element(layout, [&](std::int64_t at) {
    const std::int64_t begin = layout.base + at * layout.element_bytes;
    for (std::int64_t byte = begin; byte < begin + layout.element_bytes; byte += granule_) {
      const Word word = cells_[static_cast<std::size_t>(byte / granule_)].word;
      if (is_poison(word) && poison_kind(word) == PoisonKind::in_flight) found = word;
    }
  });
  return found;
}

void Memory::write(const Layout& layout, std::span<const Word> words) {
  std::size_t next = 0;
  const std::int64_t bytes = layout.element_bytes;
  if (bytes != granule_ || !reinterpretations_->empty()) {
    for_each_element(layout, [&](std::int64_t at) { write_element(layout.base + at * bytes, bytes, words[next++]); });
    return;
  }
  const std::int64_t first = layout.base / granule_;
  const auto size = static_cast<std::uint8_t>(bytes);
  for_each_element(layout, [&](std::int64_t at) {
    cells_[static_cast<std::size_t>(first + at)] = {words[next++], 0, size};
  });
}

}  // namespace hocket::interpreter
