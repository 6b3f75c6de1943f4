// Channels over MPI. Members meet at the first of them, which tells everyone the number that each other one has chosen for its
// own messages.
#include <algorithm>
#include <cstring>

#include "comm/wire_mpi.h"
#include "hocket/base/digest.h"

namespace hocket {

namespace {

class MpiChannel final : public Channel {
 public:
  MpiChannel(std::shared_ptr<MpiLibrary> library, std::shared_ptr<ChannelNumbers> owner,
             std::span<const std::int32_t> ranks, std::vector<std::int32_t> numbers, std::int32_t place)
      : library_(std::move(library)),
        owner_(std::move(owner)),
        ranks_(ranks.begin(), ranks.end()),
        numbers_(std::move(numbers)),
        place_(place) {}
  ~MpiChannel() override { owner_->give_back(numbers_[static_cast<std::size_t>(place_)]); }
  MpiChannel(const MpiChannel&) = delete;
  MpiChannel& operator=(const MpiChannel&) = delete;

  std::int32_t place() const override { return place_; }
  std::span<const std::int32_t> ranks() const override { return ranks_; }

  Result<RequestHandle> isend(std::span<const std::byte> bytes, std::int32_t place, std::int32_t tag) override {
    const std::int32_t rank = ranks_[static_cast<std::size_t>(place)];
    return make_mpi_request(library_, rank, [&](const HocketMpiTable& mpi, HocketMpiRequest** made) {
      return mpi.send(hocket_mpi_channels, bytes.data(), static_cast<std::int64_t>(bytes.size()), rank,
                      tag_at(place, tag), made);
    });
  }
  Result<RequestHandle> irecv(std::span<std::byte> bytes, std::int32_t place, std::int32_t tag) override {
    const std::int32_t rank = ranks_[static_cast<std::size_t>(place)];
    return make_mpi_request(library_, rank, [&](const HocketMpiTable& mpi, HocketMpiRequest** made) {
      return mpi.receive(hocket_mpi_channels, bytes.data(), static_cast<std::int64_t>(bytes.size()), rank,
                         tag_at(place_, tag), made);
    });
  }
  void abandon() override { library_->give_up(); }
  Result<std::optional<std::int32_t>> probe(std::int32_t tag) override {
    std::int32_t rank = -1;
    HOCKET_CHECK(library_->call("look for a message", [&](const HocketMpiTable& mpi) {
      return mpi.probe(hocket_mpi_channels, tag_at(place_, tag), &rank);
    }));
    if (rank < 0) return std::nullopt;
    return static_cast<std::int32_t>(std::find(ranks_.begin(), ranks_.end(), rank) - ranks_.begin());
  }

 private:
  std::int32_t tag_at(std::int32_t receiver, std::int32_t tag) const {
    return numbers_[static_cast<std::size_t>(receiver)] * tags + tag;
  }

  std::shared_ptr<MpiLibrary> library_;
  std::shared_ptr<ChannelNumbers> owner_;
  std::vector<std::int32_t> ranks_;
  std::vector<std::int32_t> numbers_;  // of each member's own choice
  std::int32_t place_;
};

// What a member says to the first one. Two groups may have the same tag by chance: the digest tells them apart.
struct Arrival {
  Digest group;
  std::int64_t number = 0;
};

class Meeting {
 public:
  Meeting(std::shared_ptr<MpiLibrary> library, std::span<const std::int32_t> ranks, Deadline deadline, const Look& look)
      : library_(std::move(library)), ranks_(ranks), deadline_(deadline), look_(look) {
    Digester digester;
    for (const std::int32_t rank : ranks) digester.add(std::int64_t{rank});
    group_ = digester.finish();
    tag_ = static_cast<std::int32_t>(group_.low % static_cast<std::uint64_t>(library_->started().tags));
  }

  // At the first member: takes the others' numbers, and gives them all.
  Status receive(std::vector<std::int32_t>& numbers) {
    std::vector<Arrival> arrivals(ranks_.size());
    std::vector<RequestHandle> requests;
    for (std::size_t i = 1; i < ranks_.size(); ++i) {
      HOCKET_CHECK(begin(requests, false, &arrivals[i], sizeof(Arrival), ranks_[i]));
    }
    HOCKET_CHECK(wait_for_all(requests, deadline_, what(), look_));
    for (std::size_t i = 1; i < ranks_.size(); ++i) {
      if (arrivals[i].group != group_) {
        return fail(ErrorKind::peer, "rank {} forms another group than rank {} at the same time: try again", ranks_[i],
                    ranks_[0]);
      }
      numbers[i] = static_cast<std::int32_t>(arrivals[i].number);
    }
    requests.clear();
    for (std::size_t i = 1; i < ranks_.size(); ++i) {
      HOCKET_CHECK(begin(requests, true, numbers.data(), numbers.size() * sizeof(std::int32_t), ranks_[i]));
    }
    return wait_for_all(requests, deadline_, what(), look_);
  }

  Status arrive(std::int32_t number, std::vector<std::int32_t>& numbers) {
    Arrival arrival{group_, number};
    std::vector<RequestHandle> requests;
    HOCKET_CHECK(begin(requests, true, &arrival, sizeof arrival, ranks_[0]));
    HOCKET_CHECK(begin(requests, false, numbers.data(), numbers.size() * sizeof(std::int32_t), ranks_[0]));
    return wait_for_all(requests, deadline_, what(), look_);
  }

 private:
  std::string what() const { return fmt::format("the forming of a group of {} ranks", ranks_.size()); }
  Status begin(std::vector<RequestHandle>& requests, bool send, void* data, std::size_t bytes, std::int32_t rank) {
    const auto size = static_cast<std::int64_t>(bytes);
    HOCKET_TRY(RequestHandle request,
               make_mpi_request(library_, rank, [&](const HocketMpiTable& mpi, HocketMpiRequest** made) {
                 return send ? mpi.send(hocket_mpi_meetings, data, size, rank, tag_, made)
                             : mpi.receive(hocket_mpi_meetings, data, size, rank, tag_, made);
               }));
    requests.push_back(std::move(request));
    return {};
  }

  std::shared_ptr<MpiLibrary> library_;
  std::span<const std::int32_t> ranks_;
  Deadline deadline_;
  const Look& look_;
  Digest group_;
  std::int32_t tag_ = 0;
};

}  // namespace

Result<std::unique_ptr<Channel>> meet_on_channel(std::shared_ptr<MpiLibrary> library,
                                                 std::shared_ptr<ChannelNumbers> numbers,
                                                 std::span<const std::int32_t> ranks, Deadline deadline,
                                                 const Look& look) {
  const auto found = std::find(ranks.begin(), ranks.end(), library->started().rank);
  if (found == ranks.end()) {
    return fail(ErrorKind::internal, "rank {} forms a channel that it is no member of", library->started().rank);
  }
  const auto place = static_cast<std::size_t>(found - ranks.begin());
  std::vector<std::int32_t> all(ranks.size());
  HOCKET_TRY(all[place], numbers->take());
  const std::int32_t mine = all[place];
  Meeting meeting(library, ranks, deadline, look);
  Status met = place == 0 ? meeting.receive(all) : meeting.arrive(mine, all);
  if (!met) {
    numbers->give_back(mine);
    return fail(std::move(met).error());
  }
  return std::make_unique<MpiChannel>(std::move(library), std::move(numbers), ranks, std::move(all),
                                      static_cast<std::int32_t>(place));
}

}  // namespace hocket
