#include "comm/wire_mpi.h"

#include <algorithm>
#include <array>
#include <thread>

#include "comm/broken_pipes.h"
#include "comm/wire_hosts.h"
#include "hocket/base/log.h"

namespace hocket {

namespace {

// What is under way between hosts that live is there by then: a call has no more than a megabyte under way, which a gigabit link takes in
// 8 ms. Messages to and from a dead rank are not waited for any longer.
constexpr std::chrono::milliseconds time_to_settle{10};
constexpr std::chrono::milliseconds between_failures{100};
constexpr std::chrono::microseconds between_looks{50};

}  // namespace

void MpiLibrary::give_up() {
  if (broken_.exchange(true)) return;
  farewell_->say();
  calls_.watch(name());
}

Deadline MpiLibrary::settled_by() {
  const Deadline now = std::chrono::steady_clock::now();
  Deadline end = settled_by_;
  if (now > end + between_failures) settled_by_ = end = now + time_to_settle;
  return end;
}

Status MpiLibrary::failure(std::string_view what, int error) const {
  std::array<char, 512> words{};
  table_.explain(error, words.data(), static_cast<std::int32_t>(words.size()));
  return fail(ErrorKind::peer, "MPI could not {}: {}", what, words.data());
}

std::string MpiLibrary::name() const {
  std::array<char, 64> text{};
  table_.library(text.data(), static_cast<std::int32_t>(text.size()));
  std::string name(text.data());
  std::replace(name.begin(), name.end(), '\t', ' ');
  return name.substr(0, name.find_first_of(",\n"));
}

Status MpiLibrary::choose_thread(bool one_thread) {
  if (started_.threads == hocket_mpi_any_thread) {
    direct_ = !one_thread;
    return {};
  }
  if (started_.by_program != 0) {
    return fail(
        ErrorKind::usage,
        "the program has initialised MPI for one thread at a time, and hocket communicates from threads of its own, "
        "at any time: call MPI_Init_thread with MPI_THREAD_MULTIPLE, or join the world before and leave MPI to hocket");
  }
  log().info("{} allows no calls from several threads: one thread makes them all", name());
  return {};
}

Result<std::shared_ptr<MpiLibrary>> MpiLibrary::start(const HocketMpiTable& table, bool one_thread) {
  ignore_broken_pipes();
  std::shared_ptr<MpiLibrary> library(new MpiLibrary(table));
  HOCKET_CHECK(library->call("start", [&](const HocketMpiTable& mpi) { return mpi.start(&library->started_); }));
  library->farewell_.emplace();
  HOCKET_CHECK(library->choose_thread(one_thread));
  return library;
}

MpiLibrary::~MpiLibrary() {
  if (farewell_ && !broken_) thread_.run([this] { table_.stop(); });
}

Result<std::int32_t> ChannelNumbers::take() {
  const std::lock_guard lock(mutex_);
  if (next_ < most_) return next_++;
  if (free_.empty()) {
    return fail(ErrorKind::usage, "this process has {} groups that span hosts, which is all that MPI has tags for",
                most_);
  }
  const std::int32_t number = free_.front();
  free_.erase(free_.begin());
  return number;
}

void ChannelNumbers::give_back(std::int32_t number) {
  const std::lock_guard lock(mutex_);
  free_.push_back(number);  // taken again as late as possible, when no old message can be under way any more
}

namespace {

tl::unexpected<Error> message_failed(std::int32_t peer, const Error& why) {
  return fail(ErrorKind::peer, "the message from or to rank {} failed: {}", peer, why.message);
}

class MpiRequest final : public Request {
 public:
  MpiRequest(std::shared_ptr<MpiLibrary> library, std::int32_t peer, HocketMpiRequest* request)
      : library_(std::move(library)), peer_(peer), request_(request) {}
  ~MpiRequest() override {
    if (request_ == nullptr) return;
    library_->give_up();  // nobody leaves a request alone unless something went wrong
    cancel();
  }
  MpiRequest(const MpiRequest&) = delete;
  MpiRequest& operator=(const MpiRequest&) = delete;

  Result<bool> test() override {
    if (request_ == nullptr) return true;
    std::int32_t done = 0;
    const Status status =
        library_->call("pass a message on", [&](const HocketMpiTable& mpi) { return mpi.test(request_, &done); });
    if (done != 0 || !status) request_ = nullptr;
    if (!status) return message_failed(peer_, status.error());
    return done != 0;
  }
  std::int32_t peer() const override { return peer_; }
  // The caller takes its memory back. MPI goes on writing a receive of which a part has come: that one has to end first.
  void cancel() final {
    if (request_ == nullptr) return;
    if (!is_over()) {
      const Deadline end = library_->settled_by();
      bool over = false;
      while (!over && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(between_looks);
        over = is_over();
      }
      if (!over) library_->run([this](const HocketMpiTable& mpi) { mpi.drop(request_); });
    }
    request_ = nullptr;
  }

 private:
  bool is_over() {
    std::int32_t done = 0;
    library_->run([&](const HocketMpiTable& mpi) { mpi.cancel(request_, &done); });
    return done != 0;
  }

  std::shared_ptr<MpiLibrary> library_;
  std::int32_t peer_;
  HocketMpiRequest* request_;
};

class MpiWire final : public Wire {
 public:
  MpiWire(std::shared_ptr<MpiLibrary> library, std::shared_ptr<ChannelNumbers> numbers)
      : library_(std::move(library)), numbers_(std::move(numbers)), name_(library_->name()) {}

  std::string_view name() const override { return name_; }
  std::int32_t rank() const override { return library_->started().rank; }
  std::int32_t size() const override { return library_->started().size; }
  std::int32_t host_of(std::int32_t rank) const override { return hosts_[static_cast<std::size_t>(rank)]; }

  Result<std::vector<std::string>> exchange(const std::string& bytes, Deadline deadline) override {
    const auto length = static_cast<std::int64_t>(bytes.size());
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(size()));
    HOCKET_CHECK(all_gather(&length, lengths.data(), sizeof length, deadline));
    const auto longest = static_cast<std::size_t>(*std::max_element(lengths.begin(), lengths.end()));
    std::string mine = bytes;
    mine.resize(longest);
    std::string all(longest * lengths.size(), '\0');
    HOCKET_CHECK(all_gather(mine.data(), all.data(), static_cast<std::int32_t>(longest), deadline));
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      texts.push_back(all.substr(i * longest, static_cast<std::size_t>(lengths[i])));
    }
    return texts;
  }

  Status find_hosts(Deadline deadline) {
    HOCKET_TRY(const std::vector<std::string> keys, exchange(host_key(), deadline));
    hosts_ = number_hosts(keys);
    return {};
  }

 private:
  Result<std::unique_ptr<Channel>> form_channel(std::span<const std::int32_t> ranks, Deadline deadline,
                                                const Look& look) override {
    return meet_on_channel(library_, numbers_, ranks, deadline, look);
  }

  Status all_gather(const void* mine, void* all, std::int32_t bytes, Deadline deadline) {
    HOCKET_TRY(const RequestHandle request,
               make_mpi_request(library_, -1, [&](const HocketMpiTable& mpi, HocketMpiRequest** made) {
                 return mpi.all_gather(mine, all, bytes, made);
               }));
    Patience patience(deadline);
    for (;;) {
      HOCKET_TRY(const bool done, request->test());
      if (done) return {};
      if (patience.over()) {
        return fail(ErrorKind::peer, "not all {} ranks have come in time to an exchange of all", size());
      }
      patience.pause();
    }
  }

  std::shared_ptr<MpiLibrary> library_;
  std::shared_ptr<ChannelNumbers> numbers_;
  std::string name_;
  std::vector<std::int32_t> hosts_;
};

}  // namespace

Result<RequestHandle> make_mpi_request(std::shared_ptr<MpiLibrary> library, std::int32_t peer,
                                       const std::function<int(const HocketMpiTable&, HocketMpiRequest**)>& begin) {
  HocketMpiRequest* made = nullptr;
  const Status begun = library->call("begin a message", [&](const HocketMpiTable& mpi) { return begin(mpi, &made); });
  if (!begun) {
    library->give_up();
    return message_failed(peer, begun.error());
  }
  return std::make_unique<MpiRequest>(std::move(library), peer, made);
}

Result<std::unique_ptr<Wire>> make_mpi_wire(const HocketMpiTable& table, bool one_thread, Deadline deadline) {
  HOCKET_TRY(const std::shared_ptr<MpiLibrary> library, MpiLibrary::start(table, one_thread));
  const auto numbers = std::make_shared<ChannelNumbers>(library->started().tags / Channel::tags);
  auto wire = std::make_unique<MpiWire>(library, numbers);
  HOCKET_CHECK(wire->find_hosts(deadline));
  return wire;
}

}  // namespace hocket
