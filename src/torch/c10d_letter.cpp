#include "torch/c10d_letter.h"

#include <cstring>

namespace hocket {

void Receiving::write(std::int64_t first, const std::byte* data, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (cancelled_ || bytes == 0) return;
  std::memcpy(to_.data() + first, data, static_cast<std::size_t>(bytes));
}

void Receiving::begin() {
  const std::lock_guard lock(mutex_);
  begun_ = true;
}

void Receiving::finish() {
  const std::lock_guard lock(mutex_);
  done_ = true;
}

void Receiving::fail(Error error) {
  const std::lock_guard lock(mutex_);
  error_ = std::move(error);
}

void Receiving::cancel() {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
}

bool Receiving::has_begun() const {
  const std::lock_guard lock(mutex_);
  return begun_;
}

Result<bool> Receiving::result() const {
  const std::lock_guard lock(mutex_);
  if (error_) return hocket::fail(*error_);
  return done_;
}

}  // namespace hocket
