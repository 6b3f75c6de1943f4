// Channels over a C10dOffice.
#pragma once

#include <map>

#include "comm/wire.h"
#include "torch/c10d_office.h"

namespace hocket {

// Each member's n-th channel with the same ranks is the same one, and has the same name everywhere.
class C10dChannelNames {
 public:
  Digest next(std::span<const std::int32_t> ranks);

 private:
  std::mutex mutex_;  // guards what follows
  std::map<std::vector<std::int32_t>, std::int64_t> counts_;
};

// Collective over the ranks. Finds out about those that don't come.
Result<std::unique_ptr<Channel>> meet_on_c10d_channel(std::shared_ptr<C10dOffice> office,
                                                      std::span<const std::int32_t> ranks, const Digest& name,
                                                      Deadline deadline, const Look& look);

}  // namespace hocket
