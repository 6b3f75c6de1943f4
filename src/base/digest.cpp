#include "hocket/base/digest.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <array>
#include <new>

namespace hocket {

struct Digester::State {
  XXH3_state_t* xxh = XXH3_createState();
  State() {
    if (xxh == nullptr) throw std::bad_alloc();
    XXH3_128bits_reset(xxh);
  }
  ~State() { XXH3_freeState(xxh); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void add_number(std::uint64_t number) {
    std::array<unsigned char, 8> little_endian{};
    for (std::size_t i = 0; i < 8; ++i) little_endian[i] = static_cast<unsigned char>(number >> (8 * i));
    XXH3_128bits_update(xxh, little_endian.data(), little_endian.size());
  }
};

Digester::Digester() : state_(std::make_unique<State>()) {}
Digester::~Digester() = default;
Digester::Digester(Digester&&) noexcept = default;
Digester& Digester::operator=(Digester&&) noexcept = default;

Digester& Digester::add(std::string_view text) {
  state_->add_number(text.size());
  XXH3_128bits_update(state_->xxh, text.data(), text.size());
  return *this;
}

Digester& Digester::add(std::int64_t number) {
  state_->add_number(static_cast<std::uint64_t>(number));
  return *this;
}

Digest Digester::finish() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_->xxh);
  return {hash.high64, hash.low64};
}

std::string Digest::to_string() const { return fmt::format("{:016x}{:016x}", high, low); }

}  // namespace hocket
