#include "hocket/ir/arg.h"

#include <xxhash.h>

#include <algorithm>

namespace hocket {

namespace {
constexpr std::uint32_t empty_slot = 0xffffffff;
}

StringId StringPool::find(std::string_view text) const {
  if (slots_.empty()) return StringId::none();
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = XXH3_64bits(text.data(), text.size()) & mask;; slot = (slot + 1) & mask) {
    if (slots_[slot] == empty_slot) return StringId::none();
    if ((*this)[StringId(slots_[slot])] == text) return StringId(slots_[slot]);
  }
}

StringId StringPool::add(std::string_view text) {
  if (const StringId found = find(text); found.valid()) return found;
  if (slots_.size() < 2 * (size() + 1)) rebuild_slots(std::max<std::size_t>(16, slots_.size() * 2));
  const StringId id(size());
  text_.append(text);
  begin_.push_back(text_.size());
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = XXH3_64bits(text.data(), text.size()) & mask;
  while (slots_[slot] != empty_slot) slot = (slot + 1) & mask;
  slots_[slot] = id.value;
  return id;
}

void StringPool::rebuild_slots(std::size_t capacity) {
  slots_.assign(capacity, empty_slot);
  const std::size_t mask = capacity - 1;
  for (std::size_t i = 0; i < size(); ++i) {
    const std::string_view text = (*this)[StringId(i)];
    std::size_t slot = XXH3_64bits(text.data(), text.size()) & mask;
    while (slots_[slot] != empty_slot) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<std::uint32_t>(i);
  }
}

std::size_t StringPool::memory() const {
  return text_.capacity() + begin_.capacity() * sizeof(begin_[0]) + slots_.capacity() * sizeof(slots_[0]);
}

Range ArgPool::add(std::span<const Arg> elements) {
  const Range range{static_cast<std::uint32_t>(args.size()), static_cast<std::uint32_t>(elements.size())};
  args.insert(args.end(), elements.begin(), elements.end());
  return range;
}

Range ArgPool::add(std::span<const Keyword> elements) {
  const Range range{static_cast<std::uint32_t>(keywords.size()), static_cast<std::uint32_t>(elements.size())};
  keywords.insert(keywords.end(), elements.begin(), elements.end());
  return range;
}

bool same_arg(const ArgPool& pool_a, const Arg& a, const ArgPool& pool_b, const Arg& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case ArgKind::none: return true;
    case ArgKind::boolean: return a.as_bool() == b.as_bool();
    case ArgKind::integer: return a.as_integer() == b.as_integer();
    case ArgKind::real: return std::bit_cast<std::uint64_t>(a.as_real()) == std::bit_cast<std::uint64_t>(b.as_real());
    case ArgKind::symbolic: return a.as_symbolic() == b.as_symbolic();
    case ArgKind::value: return a.as_node() == b.as_node();
    case ArgKind::group: return a.as_group() == b.as_group();
    case ArgKind::dtype: return a.as_dtype() == b.as_dtype();
    case ArgKind::string:
    case ArgKind::device:
    case ArgKind::layout:
    case ArgKind::memory_format:
    case ArgKind::json: return pool_a.text(a) == pool_b.text(b);
    case ArgKind::list:
    case ArgKind::dict: {
      const auto in_a = pool_a.elements(a);
      const auto in_b = pool_b.elements(b);
      return std::equal(in_a.begin(), in_a.end(), in_b.begin(), in_b.end(),
                        [&](const Arg& x, const Arg& y) { return same_arg(pool_a, x, pool_b, y); });
    }
  }
  return false;
}

}  // namespace hocket
