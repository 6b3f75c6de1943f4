#include "hocket/cost/local_ranks.h"

#include <fmt/format.h>

#include <string>

namespace hocket {

class LocalRanks::End final : public AllGather {
 public:
  End(LocalRanks& all, std::size_t rank) : all_(all), rank_(rank) {}
  std::int64_t ranks() const override { return static_cast<std::int64_t>(all_.ends_.size()); }
  Result<Lists> gather(std::span<const std::int64_t> mine) override { return all_.gather(rank_, mine); }

 private:
  LocalRanks& all_;
  std::size_t rank_;
};

LocalRanks::LocalRanks(std::int64_t ranks, std::chrono::milliseconds patience)
    : patience_(patience), coming_(static_cast<std::size_t>(ranks)), here_(static_cast<std::size_t>(ranks), false) {
  for (std::size_t rank = 0; rank < coming_.size(); ++rank) ends_.push_back(std::make_unique<End>(*this, rank));
}

LocalRanks::~LocalRanks() = default;

tl::unexpected<Error> LocalRanks::missing() const {
  std::vector<std::size_t> absent;
  for (std::size_t rank = 0; rank < here_.size(); ++rank) {
    if (!here_[rank]) absent.push_back(rank);
  }
  return fail(ErrorKind::peer, "waited {} ms for rank {}: it did not take part in the agreement", patience_.count(),
              fmt::join(absent, ", "));
}

Result<LocalRanks::Lists> LocalRanks::gather(std::size_t rank, std::span<const std::int64_t> mine) {
  std::unique_lock lock(mutex_);
  if (broken_) return missing();
  coming_[rank].assign(mine.begin(), mine.end());
  here_[rank] = true;
  if (++count_ == coming_.size()) {
    complete_ = std::make_shared<const Lists>(coming_);
    here_.assign(here_.size(), false);
    count_ = 0;
    ++round_;
    arrived_.notify_all();
    return *complete_;
  }
  const std::uint64_t mine_round = round_;
  const bool over = arrived_.wait_for(lock, patience_, [&] { return round_ != mine_round || broken_; });
  if (!over || round_ == mine_round) {
    broken_ = true;  // the others need not wait for the whole time too
    arrived_.notify_all();
    return missing();
  }
  return *complete_;
}

}  // namespace hocket
