#include "torch/c10d_office.h"

#include <ATen/ops/empty.h>
#include <pthread.h>

#include <algorithm>

#include "hocket/base/log.h"

namespace hocket {

namespace {

// How long the goodbye takes at most: for a rank that lives but is stopped.
constexpr std::chrono::seconds longest_goodbye{2};
constexpr std::chrono::milliseconds abandoned_goodbye{100};

Error another_size(std::int32_t from, std::int64_t sent, std::int64_t expected) {
  return {
      ErrorKind::peer,
      fmt::format("rank {} sent {} bytes, but this rank expected {}: both ends of a message have to agree on its size",
                  from, sent, expected),
      ""};
}

// Messages that can still come over a back end which others go on using.
void keep_for_ever(std::vector<C10dPort::Message> messages) {
  static std::mutex mutex;
  static auto* const all = new std::vector<C10dPort::Message>;
  const std::lock_guard lock(mutex);
  all->insert(all->end(), messages.begin(), messages.end());
}

}  // namespace

C10dOffice::C10dOffice(std::shared_ptr<const C10dPort> port, bool shared) : port_(std::move(port)), shared_(shared) {
  calls_thread_ = std::thread([this] { answer_calls(); });
  pthread_setname_np(calls_thread_.native_handle(), "hocket-calls");
}

C10dOffice::~C10dOffice() {
  part();
  {
    const std::lock_guard lock(calls_mutex_);
    closing_ = true;
    if (next_call_) next_call_->abort();
  }
  calls_thread_.join();
  std::vector<C10dPort::Message> unfinished{next_call_};
  for (const auto& [rank, line] : lines_) {
    line->stop();
    for (C10dPort::Message& message : line->unfinished()) unfinished.push_back(std::move(message));
  }
  if (shared_) keep_for_ever(std::move(unfinished));
}

void C10dOffice::part() {
  std::vector<C10dLine*> lines;
  {
    const std::lock_guard lock(lines_mutex_);
    for (const auto& [rank, line] : lines_) lines.push_back(line.get());
  }
  for (C10dLine* line : lines) line->leave();
  const auto longest = abandoned_ ? std::chrono::milliseconds(abandoned_goodbye) : longest_goodbye;
  const Deadline deadline = std::chrono::steady_clock::now() + longest;
  for (C10dLine* line : lines) line->wait_until_parted(deadline);
}

void C10dOffice::answer_calls() {
  const at::Tensor bytes = at::empty({C10dLine::bytes_of_call}, at::kByte);
  for (;;) {
    C10dPort::Message call;
    {
      const std::lock_guard lock(calls_mutex_);
      if (closing_) return;
      Result<C10dPort::Message> begun = port_->receive_from_any(bytes, C10dLine::index_of_calls);
      if (!begun) {
        log().warn("ranks that have sent this one nothing so far can't begin to: {}", begun.error().message);
        return;
      }
      call = next_call_ = std::move(*begun);
    }
    // An error is that of a rank which has died before it had said what it wanted.
    if (Result<bool> come = C10dPort::wait(call); come && *come) line_to(call->sourceRank(), false);
  }
}

C10dLine* C10dOffice::existing_line(std::int32_t rank) const {
  const std::lock_guard lock(lines_mutex_);
  const auto found = lines_.find(rank);
  return found == lines_.end() ? nullptr : found->second.get();
}

C10dLine& C10dOffice::line_to(std::int32_t rank, bool call) {
  const std::lock_guard lock(lines_mutex_);
  std::unique_ptr<C10dLine>& line = lines_[rank];
  if (line) return *line;
  line = std::make_unique<C10dLine>(port_, rank, *this);
  if (call) line->call();
  return *line;
}

Result<std::shared_ptr<Sending>> C10dOffice::send(std::int32_t to, const LetterKey& key,
                                                  std::span<const std::byte> bytes) {
  if (to != rank()) return line_to(to, true).send(key, bytes);
  arrived(to, key, bytes);
  auto sending = std::make_shared<Sending>();
  sending->done = true;
  return sending;
}

std::shared_ptr<Receiving> C10dOffice::receive(std::int32_t from, const LetterKey& key, std::span<std::byte> bytes) {
  auto receiving = std::make_shared<Receiving>(bytes);
  if (from != rank()) line_to(from, true);  // so that it is known when that rank dies
  const std::lock_guard lock(mutex_);
  const auto box = boxes_.try_emplace({key, from}).first;
  if (box->second.letters.empty()) {
    box->second.receivings.push_back(receiving);
    return receiving;
  }
  const Letter letter = std::move(box->second.letters.front());
  box->second.letters.pop_front();
  if (box->second.letters.empty()) boxes_.erase(box);
  if (letter.slot >= 0) fetch(from, letter, receiving);
  else deliver(from, letter.inside, *receiving);
  return receiving;
}

std::shared_ptr<Receiving> C10dOffice::next_receiving(std::int32_t from, const LetterKey& key) {
  const auto box = boxes_.find({key, from});
  if (box == boxes_.end() || box->second.receivings.empty()) return nullptr;
  std::shared_ptr<Receiving> receiving = std::move(box->second.receivings.front());
  box->second.receivings.pop_front();
  if (box->second.receivings.empty()) boxes_.erase(box);
  return receiving;
}

void C10dOffice::arrived(std::int32_t from, const LetterKey& key, std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  if (const auto receiving = next_receiving(from, key)) return deliver(from, bytes, *receiving);
  boxes_[{key, from}].letters.push_back({.inside = {bytes.begin(), bytes.end()}});
}

void C10dOffice::announced(std::int32_t from, const LetterKey& key, std::int64_t bytes, std::int32_t slot) {
  const std::lock_guard lock(mutex_);
  const Letter letter{.bytes = bytes, .slot = slot};
  if (auto receiving = next_receiving(from, key)) return fetch(from, letter, std::move(receiving));
  boxes_[{key, from}].letters.push_back(letter);
}

void C10dOffice::deliver(std::int32_t from, std::span<const std::byte> bytes, Receiving& receiving) {
  const auto count = static_cast<std::int64_t>(bytes.size());
  if (count != receiving.bytes()) return receiving.fail(another_size(from, count, receiving.bytes()));
  receiving.write(0, bytes.data(), count);
  receiving.finish();
}

void C10dOffice::fetch(std::int32_t from, const Letter& letter, std::shared_ptr<Receiving> receiving) {
  if (letter.bytes != receiving->bytes()) {
    receiving->fail(another_size(from, letter.bytes, receiving->bytes()));
    receiving = nullptr;  // it still has to leave the other end
  }
  existing_line(from)->take(letter.slot, letter.bytes, std::move(receiving));
}

void C10dOffice::forget(std::int32_t from, const LetterKey& key, const std::shared_ptr<Receiving>& receiving) {
  receiving->cancel();
  const std::lock_guard lock(mutex_);
  const auto box = boxes_.find({key, from});
  if (box == boxes_.end()) return;
  std::erase(box->second.receivings, receiving);
  if (box->second.receivings.empty() && box->second.letters.empty()) boxes_.erase(box);
}

bool C10dOffice::has_letter(std::int32_t from, const LetterKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto box = boxes_.find({key, from});
  return box != boxes_.end() && !box->second.letters.empty();
}

void C10dOffice::forget(const Digest& channel) {
  const std::lock_guard lock(mutex_);
  std::erase_if(boxes_, [&](const auto& one) { return one.first.first.channel == channel; });
}

Status C10dOffice::check(std::int32_t rank, bool has_begun) const {
  const C10dLine* const line = existing_line(rank);
  return line != nullptr ? line->check(has_begun) : Status{};
}

}  // namespace hocket
