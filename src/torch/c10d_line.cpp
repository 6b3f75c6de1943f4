#include "torch/c10d_line.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <pthread.h>

#include <cstring>

#include "torch/c10d_frame.h"

namespace hocket {

namespace {

// A rank that sends much which nobody reads is not to fill its memory with copies. Only the shortest go on then.
constexpr std::int64_t most_outgoing = 8 << 20;
constexpr std::int64_t always_short = 2 << 10;

}  // namespace

C10dLine::C10dLine(std::shared_ptr<const C10dPort> port, std::int32_t peer, Reader& reader)
    : port_(std::move(port)), peer_(peer), reader_(reader) {
  const Lock lock(mutex_);
  if (Status opened = open(); !opened) {
    break_off(opened.error().message);
    return;
  }
  frame_thread_ = std::thread([this] { read_frames(); });
  pthread_setname_np(frame_thread_.native_handle(), "hocket-frames");
}

void C10dLine::stop() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
    abort_all();
  }
  changed_.notify_all();
  if (frame_thread_.joinable()) frame_thread_.join();
  if (taking_thread_.joinable()) taking_thread_.join();
}

Status C10dLine::open() {
  for (Incoming& one : frames_) HOCKET_CHECK(begin(one, longest_frame, index_of_frames));
  return {};
}

Status C10dLine::begin(Incoming& incoming, std::int64_t bytes, std::int32_t index) {
  if (!incoming.bytes.defined()) incoming.bytes = at::empty({bytes}, at::kByte);
  HOCKET_TRY(incoming.message, port_->receive(incoming.bytes, peer_, index));
  return {};
}

void C10dLine::call() {
  const Lock lock(mutex_);
  if (is_over()) return;
  Result<C10dPort::Message> called = port_->send(at::zeros({bytes_of_call}, at::kByte), peer_, index_of_calls);
  if (called) called_ = std::move(*called);
  else break_off(called.error().message);
}

Result<std::shared_ptr<Sending>> C10dLine::send(const LetterKey& key, std::span<const std::byte> bytes) {
  auto sending = std::make_shared<Sending>();
  const Lock lock(mutex_);
  if (is_over() || left_at_) return sending;
  Frame frame{.kind = Frame::Kind::short_letter, .tag = key.tag, .channel = key.channel};
  frame.bytes = static_cast<std::int64_t>(bytes.size());
  if (frame.bytes <= fits_inside && (frame.bytes <= always_short || outgoing_bytes_ < most_outgoing)) {
    post(frame, bytes);
    sending->done = true;
    return sending;
  }
  frame.kind = Frame::Kind::long_letter;
  HOCKET_TRY(frame.slot, hold(sending, bytes));
  post(frame);
  return sending;
}

Result<std::int32_t> C10dLine::hold(std::shared_ptr<Sending> sending, std::span<const std::byte> bytes) {
  if (free_slots_.empty()) {
    const auto slot = static_cast<std::int32_t>(held_.size());
    if (slot >= C10dPort::indices - first_slot) {
      return fail(ErrorKind::usage,
                  "{} long messages to rank {} wait for their receives, which is all that there can be", slot, peer_);
    }
    free_slots_.push_back(slot);
  }
  const std::int32_t slot = free_slots_.back();
  free_slots_.pop_back();
  Held& held = held_[slot];
  held.sending = std::move(sending);
  const auto size = static_cast<std::int64_t>(bytes.size());
  for (std::int64_t first = 0; first < size && !is_over(); first += largest_piece) {
    auto* const data = const_cast<std::byte*>(bytes.data() + first);  // c10d has one type for what it reads and writes
    const at::Tensor piece = at::from_blob(data, {std::min(largest_piece, size - first)}, at::kByte);
    Result<C10dPort::Message> begun = port_->send(piece, peer_, first_slot + slot);
    if (begun) held.pieces.push_back(std::move(*begun));
    else break_off(begun.error().message);
  }
  return slot;
}

void C10dLine::post(Frame frame, std::span<const std::byte> inside) {
  if (is_over() || closed_) return;
  frame.seen = told_ = seen_;
  const std::int64_t size = static_cast<std::int64_t>(sizeof frame + inside.size());
  at::Tensor bytes = at::empty({size}, at::kByte);
  auto* const data = static_cast<std::byte*>(bytes.data_ptr());
  std::memcpy(data, &frame, sizeof frame);
  if (!inside.empty()) std::memcpy(data + sizeof frame, inside.data(), inside.size());
  Result<C10dPort::Message> begun = port_->send(std::move(bytes), peer_, index_of_frames);
  if (!begun) return break_off(begun.error().message);
  outgoing_.push_back({size, std::move(*begun)});
  outgoing_bytes_ += size;
}

Status C10dLine::check(bool has_begun) const {
  if (!troubled_) return {};
  const Lock lock(mutex_);
  const Deadline now = std::chrono::steady_clock::now();
  if (left_at_ && (!has_begun || broken_at_)) {
    if (now < *left_at_ + grace) return {};
    return fail(ErrorKind::peer, "rank {} has left: it sends and receives nothing any more", peer_);
  }
  if (!broken_at_ || now < *broken_at_ + grace) return {};
  return fail(ErrorKind::peer, "the connection to rank {} is lost: it has died, or its host can't be reached ({})",
              peer_, broken_by_);
}

void C10dLine::leave() {
  const Lock lock(mutex_);
  leaving_ = true;
  say_last();
}

// The last frame of this end, if it is time for that.
void C10dLine::say_last() {
  if (closed_ || !takings_.empty() || (!leaving_ && !left_at_)) return;
  post({.kind = left_at_ ? Frame::Kind::parted : Frame::Kind::leaving});
  closed_ = true;
  changed_.notify_all();
}

void C10dLine::wait_until_parted(Deadline deadline) {
  Lock lock(mutex_);
  changed_.wait_until(lock, deadline, [this] { return have_parted() || is_over(); });
}

std::vector<C10dPort::Message> C10dLine::unfinished() const {
  const Lock lock(mutex_);
  std::vector<C10dPort::Message> all{called_};  // nobody says that it was heard
  if (have_parted() || broken_at_) return all;
  for (const Incoming& one : frames_) all.push_back(one.message);
  for (const Outgoing& one : outgoing_) all.push_back(one.message);
  for (const auto& [slot, held] : held_) all.insert(all.end(), held.pieces.begin(), held.pieces.end());
  for (const Taking& taking : takings_) {
    for (const Piece& piece : taking.pieces) all.push_back(piece.incoming.message);
  }
  return all;
}

void C10dLine::break_off(const std::string& words) {
  if (is_over()) return;
  broken_at_ = std::chrono::steady_clock::now();
  broken_by_ = words;
  troubled_ = true;
  abort_all();
  changed_.notify_all();
}

// A connection that breaks ends the wait for messages that have not begun, but not for one in the middle.
void C10dLine::abort_all() {
  const auto abort = [](const C10dPort::Message& message) {
    if (message) message->abort();
  };
  for (const Incoming& one : frames_) abort(one.message);
  for (const Taking& taking : takings_) {
    for (const Piece& piece : taking.pieces) abort(piece.incoming.message);
  }
}

}  // namespace hocket
