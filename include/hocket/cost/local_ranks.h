// Ranks that are threads of one process, for tests and simulations of agreement.
//
//   LocalRanks ranks(4);
//   std::thread other([&] { use(ranks.rank(1)); });
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "hocket/cost/agree.h"

namespace hocket {

class LocalRanks {
 public:
  // A rank that does not come within the time is named in the error that the others get.
  explicit LocalRanks(std::int64_t ranks, std::chrono::milliseconds patience = std::chrono::seconds(10));
  ~LocalRanks();
  LocalRanks(const LocalRanks&) = delete;
  LocalRanks& operator=(const LocalRanks&) = delete;

  // The end of one rank; each is used by one thread at a time. It lives as long as this object.
  AllGather& rank(std::int64_t rank) { return *ends_[static_cast<std::size_t>(rank)]; }

 private:
  class End;
  using Lists = std::vector<std::vector<std::int64_t>>;
  Result<Lists> gather(std::size_t rank, std::span<const std::int64_t> mine);
  tl::unexpected<Error> missing() const;

  std::chrono::milliseconds patience_;
  std::vector<std::unique_ptr<AllGather>> ends_;

  // All below is guarded by mutex_. A round is over when everybody has arrived; its lists stay until the next one is over,
  // which cannot be before every rank has taken them.
  std::mutex mutex_;
  std::condition_variable arrived_;
  Lists coming_;
  std::vector<bool> here_;
  std::size_t count_ = 0;
  std::uint64_t round_ = 0;
  bool broken_ = false;
  std::shared_ptr<const Lists> complete_;
};

}  // namespace hocket
