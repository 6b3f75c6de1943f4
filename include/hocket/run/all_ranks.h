// The ranks of a group as those who agree on estimates and compare what they decided.
#pragma once

#include "hocket/comm/communicator.h"
#include "hocket/cost/agree.h"

namespace hocket {

class AllRanks final : public AllGather {
 public:
  explicit AllRanks(Communicator group) : group_(std::move(group)) {}
  std::int64_t ranks() const override { return group_.group().size(); }
  Result<std::vector<std::vector<std::int64_t>>> gather(std::span<const std::int64_t> mine) override;

 private:
  Communicator group_;
};

}  // namespace hocket
