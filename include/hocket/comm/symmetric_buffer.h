// Memory of a group: every rank has its own part at the same offset, and sees the parts of all that are on its host.
//
//   HOCKET_TRY(SymmetricBuffer buffer, group.allocate(Bytes(1 << 20)));
//   fill(buffer.data());                                   // one's own part
//   group.all_reduce(buffer.data(), buffer.data(), …);     // without a copy
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "hocket/base/units.h"

namespace hocket {

class SymmetricBlock;

// A value; the memory goes back to the group when the last copy is gone. Before an allocation every rank
// has let go of the same ones.
class SymmetricBuffer {
 public:
  SymmetricBuffer() = default;
  explicit SymmetricBuffer(std::shared_ptr<const SymmetricBlock> block) : block_(std::move(block)) {}

  std::byte* data() const;                    // this rank's part
  std::byte* data(std::int32_t place) const;  // the part of that place of the group; null if it is on another host
  Bytes bytes() const;
  std::int64_t offset() const;  // the same on every rank

 private:
  std::shared_ptr<const SymmetricBlock> block_;
};

}  // namespace hocket
