// Dense ids: an index with a type, so that a node's id can't be taken for a storage's.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace hocket {

template <class Tag>
struct Id {
  std::uint32_t value = none_value;

  static constexpr std::uint32_t none_value = std::numeric_limits<std::uint32_t>::max();

  constexpr Id() = default;
  constexpr explicit Id(std::size_t index) : value(static_cast<std::uint32_t>(index)) {}

  // An id that names nothing: the value of an absent optional field in dense records.
  static constexpr Id none() { return Id(); }
  constexpr bool valid() const { return value != none_value; }
  constexpr std::size_t index() const { return value; }

  friend constexpr auto operator<=>(Id, Id) = default;
};

// The number of a process in the world, from 0.
struct Rank {
  std::int32_t value = 0;
  friend constexpr auto operator<=>(Rank, Rank) = default;
};

}  // namespace hocket
