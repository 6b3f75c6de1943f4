#include "hocket/comm/symmetric_buffer.h"

#include "comm/symmetric_heap.h"

namespace hocket {

std::byte* SymmetricBuffer::data() const { return block_ ? data(block_->place()) : nullptr; }

std::byte* SymmetricBuffer::data(std::int32_t place) const {
  if (!block_ || place < 0 || static_cast<std::size_t>(place) >= block_->parts().size()) return nullptr;
  return block_->parts()[static_cast<std::size_t>(place)];
}

Bytes SymmetricBuffer::bytes() const { return block_ ? block_->bytes() : Bytes(); }

std::int64_t SymmetricBuffer::offset() const { return block_ ? block_->offset() : 0; }

}  // namespace hocket
