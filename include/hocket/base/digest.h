// A 128-bit digest that is the same on every machine, run and rank, whatever the addresses or hash seeds.
//
//   Digest digest = Digester().add("all_reduce").add(std::int64_t{4096}).finish();
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace hocket {

struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  std::string to_string() const;  // 32 hexadecimal digits
  friend constexpr auto operator<=>(const Digest&, const Digest&) = default;
};

// Fields are length-prefixed and little-endian, so ("ab","c") and ("a","bc") differ.
class Digester {
 public:
  Digester();
  ~Digester();
  Digester(Digester&&) noexcept;
  Digester& operator=(Digester&&) noexcept;

  Digester& add(std::string_view text);
  Digester& add(std::int64_t number);
  Digest finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hocket
