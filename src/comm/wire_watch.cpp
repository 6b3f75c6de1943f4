#include "comm/wire_watch.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "comm/hosts_tags.h"
#include "hocket/base/log.h"

namespace hocket {

namespace {

// News of a death waits twice for a look, on its own host and on the other one, before those who wait there can see it.
constexpr auto between_looks = between_looks_at_peers / 2;
// Whoever waits has heard by then: it looks every 20 ms.
constexpr auto longest_goodbye = 2 * between_looks_at_peers;
constexpr std::chrono::milliseconds between_tests{1};

std::string own_host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

template <std::size_t size>
void write_text(std::array<char, size>& to, std::string_view text) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(to.data(), text.data(), length);
  to[length] = '\0';
}

Digest known_name(const Digest& group) {
  Digester digester;
  digester.add("known failure").add(group.to_string());
  return digester.finish();
}

}  // namespace

WireWatch::WireWatch(std::unique_ptr<Channel> channel, std::shared_ptr<Host> host)
    : channel_(std::move(channel)),
      host_(std::move(host)),
      host_name_(own_host_name()),
      is_here_(channel_->ranks().size()) {
  for (std::int32_t index = 0; index < host_->size(); ++index) {
    is_here_[static_cast<std::size_t>(host_->world_rank(index))] = true;
  }
  thread_ = std::thread([this] { loop(); });
  pthread_setname_np(thread_.native_handle(), "hocket-watch");
}

WireWatch::~WireWatch() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

Status WireWatch::check(std::span<const std::int32_t> ranks) const {
  if (!anyone_dead_.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(mutex_);
  for (const std::int32_t rank : ranks) {
    if (const auto found = dead_.find(rank); found != dead_.end()) return fail(ErrorKind::peer, "{}", found->second);
  }
  return {};
}

void WireWatch::add(const std::shared_ptr<WireListener>& listener) {
  const std::lock_guard lock(mutex_);
  std::erase_if(listeners_, [](const auto& one) { return one.expired(); });
  listeners_.push_back(listener);
}

void WireWatch::tell(const WireListener& group, const Error& error) {
  if (is_known(group.group())) return;
  make_known(group.group());
  News news;
  news.group = group.group();
  write_text(news.text, fmt::format("{}, on host {}", error.message, host_name_));
  const std::lock_guard lock(mutex_);
  to_tell_.emplace_back(news, std::vector(group.ranks().begin(), group.ranks().end()));
  changed_.notify_one();
}

bool WireWatch::is_known(const Digest& group) const {
  const Digest name = known_name(group);
  for (std::int32_t index = 0; index < host_->size(); ++index) {
    if (host_->look_up(name, index)) return true;
  }
  return false;
}

void WireWatch::make_known(const Digest& group) {
  const std::lock_guard lock(publishing_);
  if (host_->look_up(known_name(group), host_->self())) return;
  const Status published = host_->publish(known_name(group), 0);
  if (!published) log().warn("{}", published.error().message);
}

// What was heard is not told again by the ranks of this host that fail because of it.
void WireWatch::inform(WireListener& listener, const Error& error) {
  make_known(listener.group());
  channel_->abandon();
  listener.hear(error);
}

void WireWatch::loop() {
  std::unique_lock lock(mutex_);
  while (!leaving_) {
    changed_.wait_for(lock, between_looks, [this] { return leaving_ || !to_tell_.empty(); });
    const auto to_tell = std::exchange(to_tell_, {});
    lock.unlock();
    for (const auto& [news, ranks] : to_tell) spread(news, ranks);
    look_at_host();
    listen();
    all_sent();
    lock.lock();
  }
  lock.unlock();
  const Deadline end = std::chrono::steady_clock::now() + longest_goodbye;
  while (!all_sent() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(between_tests);
}

void WireWatch::look_at_host() {
  for (std::int32_t index = 0; index < host_->size(); ++index) {
    const std::int32_t rank = host_->world_rank(index);
    if (host_->has_left(index) || !check({&rank, 1})) continue;
    const Status alive = host_->check({&index, 1});
    if (alive || host_->has_left(index)) continue;  // it may have left in between
    const std::string text = fmt::format("{}, on host {}", alive.error().message, host_name_);
    note_death(rank, text);
    if (!tells()) continue;
    News news;
    news.rank = rank;
    write_text(news.text, text);
    spread(news, channel_->ranks());
  }
}

// The lowest rank of the host that is still there. Two may think so for a moment: then it is told twice.
bool WireWatch::tells() const {
  for (std::int32_t index = 0; index < host_->self(); ++index) {
    if (host_->check({&index, 1})) return false;
  }
  return true;
}

void WireWatch::listen() {
  for (;;) {
    const Result<std::optional<std::int32_t>> from = channel_->probe(tag_news);
    if (!from || !*from) return;
    News news;
    Result<RequestHandle> request =
        channel_->irecv({reinterpret_cast<std::byte*>(&news), sizeof news}, **from, tag_news);
    if (!request) return;
    const Deadline deadline = std::chrono::steady_clock::now() + longest_goodbye;
    if (!wait_for_all({&*request, 1}, deadline, "tell what went wrong")) return;
    news.text.back() = '\0';
    if (news.rank >= 0) {
      note_death(news.rank, news.text.data());
      continue;
    }
    for (const auto& listener : listeners()) {
      if (listener->group() == news.group) inform(*listener, {ErrorKind::peer, news.text.data(), ""});
    }
  }
}

void WireWatch::note_death(std::int32_t rank, const std::string& text) {
  {
    const std::lock_guard lock(mutex_);
    if (!dead_.emplace(rank, text).second) return;
    anyone_dead_.store(true, std::memory_order_release);
    channel_->abandon();
  }
  for (const auto& listener : listeners()) {
    const auto ranks = listener->ranks();
    if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) continue;
    if (is_here_[static_cast<std::size_t>(rank)]) listener->hear({ErrorKind::peer, text, ""});
    else inform(*listener, {ErrorKind::peer, text, ""});
  }
}

// To those of the ranks that are on other hosts and live.
void WireWatch::spread(const News& news, std::span<const std::int32_t> ranks) {
  Sending sending{std::make_unique<News>(news), {}};
  const auto* const bytes = reinterpret_cast<const std::byte*>(sending.news.get());
  for (const std::int32_t rank : ranks) {
    if (is_here_[static_cast<std::size_t>(rank)] || !check({&rank, 1})) continue;
    Result<RequestHandle> request = channel_->isend({bytes, sizeof news}, rank, tag_news);
    if (request) sending.requests.push_back(std::move(*request));
  }
  sendings_.push_back(std::move(sending));
}

bool WireWatch::all_sent() {
  const auto is_over = [](const RequestHandle& request) { return request->test().value_or(true); };
  for (Sending& sending : sendings_) std::erase_if(sending.requests, is_over);
  std::erase_if(sendings_, [](const Sending& sending) { return sending.requests.empty(); });
  return sendings_.empty();
}

std::vector<std::shared_ptr<WireListener>> WireWatch::listeners() {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<WireListener>> all;
  for (const auto& listener : listeners_) {
    if (auto one = listener.lock()) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace hocket
