// Messages on their way over a C10dLine, seen from both ends.
#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "hocket/base/digest.h"
#include "hocket/base/error.h"

namespace hocket {

// Which receives a message is for: those of the same channel and tag.
struct LetterKey {
  Digest channel;
  std::int32_t tag = 0;
  friend constexpr auto operator<=>(const LetterKey&, const LetterKey&) = default;
};

// A message that nobody has asked for yet.
struct Letter {
  std::vector<std::byte> inside{};  // a short one
  std::int64_t bytes = 0;           // of a long one
  std::int32_t slot = -1;           // where the other end keeps it
};

// What a send request and the line share.
struct Sending {
  std::atomic<bool> done = false;
};

// What a receive request and the line share. Once it is cancelled, nobody writes its memory any more.
class Receiving {
 public:
  explicit Receiving(std::span<std::byte> to) : to_(to) {}

  std::int64_t bytes() const { return static_cast<std::int64_t>(to_.size()); }
  // Bytes that have come.
  void write(std::int64_t first, const std::byte* data, std::int64_t bytes);
  // They come now: the other end has them still, but sends nothing else first.
  void begin();
  void finish();
  void fail(Error error);
  void cancel();

  bool has_begun() const;
  // True when all bytes are there.
  Result<bool> result() const;

 private:
  mutable std::mutex mutex_;  // guards what follows
  std::span<std::byte> to_;
  bool begun_ = false;
  bool done_ = false;
  bool cancelled_ = false;
  std::optional<Error> error_;
};

}  // namespace hocket
