// The two threads of a line.
#include <pthread.h>

#include <algorithm>
#include <cstring>

#include "torch/c10d_frame.h"

namespace hocket {

namespace {

constexpr std::size_t pieces_ahead = 2;     // one arrives while the one before it is copied
constexpr std::uint64_t begun_at_once = 8;  // receives, of those for frames
constexpr std::uint64_t seen_in_silence =
    32;  // frames, until the other end hears of them though there is nothing to say

}  // namespace

const std::int64_t C10dLine::longest_frame = sizeof(Frame) + fits_inside;

void C10dLine::read_frames() {
  for (;;) {
    const Result<bool> more = read_frame();
    if (more && *more) continue;
    const Lock lock(mutex_);
    if (!more) break_off(more.error().message);
    return;
  }
}

Result<bool> C10dLine::read_frame() {
  Lock lock(mutex_);
  if (is_over()) return false;
  Incoming& incoming = frames_[seen_ % frames_.size()];
  const C10dPort::Message message = incoming.message;
  lock.unlock();
  HOCKET_TRY(const bool come, C10dPort::wait(message));
  if (!come) return false;
  const auto* const bytes = static_cast<const std::byte*>(incoming.bytes.data_ptr());
  Frame frame;
  std::memcpy(&frame, bytes, sizeof frame);
  HOCKET_TRY(const bool more, handle(frame, bytes + sizeof frame));
  lock.lock();
  if (!more || is_over()) return false;
  note_seen_by_other(frame.seen);
  HOCKET_CHECK(note_seen());
  return true;
}

void C10dLine::note_seen_by_other(std::uint64_t frames) {
  for (; outgoing_seen_ < frames && !outgoing_.empty(); ++outgoing_seen_) {
    outgoing_bytes_ -= outgoing_.front().bytes;
    outgoing_.pop_front();
  }
}

// Their receives begin again, for later frames: several at once, since each tells the other end so in a message of its own.
Status C10dLine::note_seen() {
  ++seen_;
  for (std::uint64_t one = seen_ - begun_at_once; seen_ % begun_at_once == 0 && one < seen_; ++one) {
    HOCKET_CHECK(begin(frames_[one % frames_.size()], longest_frame, index_of_frames));
  }
  if (seen_ - told_ >= seen_in_silence) post({.kind = Frame::Kind::seen});
  return {};
}

Result<bool> C10dLine::handle(const Frame& frame, const std::byte* inside) {
  const LetterKey key{frame.channel, frame.tag};
  if (frame.kind == Frame::Kind::short_letter && frame.bytes >= 0 && frame.bytes <= fits_inside) {
    reader_.arrived(peer_, key, {inside, static_cast<std::size_t>(frame.bytes)});
    return true;
  }
  if (frame.kind == Frame::Kind::long_letter) {
    reader_.announced(peer_, key, frame.bytes, frame.slot);
    return true;
  }
  const Lock lock(mutex_);
  switch (frame.kind) {
    case Frame::Kind::taken: note_taken(frame.slot); return true;
    case Frame::Kind::leaving: note_leaving(); return true;
    case Frame::Kind::parted:
      parted_ = true;
      changed_.notify_all();
      return true;
    case Frame::Kind::seen: return true;
    default: break;
  }
  return fail(ErrorKind::peer, "it sent a frame of kind {}, which this hocket doesn't know: are they of one version?",
              static_cast<int>(frame.kind));
}

void C10dLine::note_taken(std::int32_t slot) {
  const auto held = held_.find(slot);
  if (held == held_.end()) return;
  held->second.sending->done = true;
  held_.erase(held);
  free_slots_.push_back(slot);
}

void C10dLine::note_leaving() {
  left_at_ = std::chrono::steady_clock::now();
  troubled_ = true;
  changed_.notify_all();
  say_last();
}

void C10dLine::take(std::int32_t slot, std::int64_t bytes, std::shared_ptr<Receiving> receiving) {
  const Lock lock(mutex_);
  if (is_over() || closed_) return;
  if (receiving) receiving->begin();
  Taking& taking = takings_.emplace_back();
  taking.slot = slot;
  taking.bytes = bytes;
  taking.receiving = std::move(receiving);
  if (Status asked = ask_for_pieces(taking); !asked) return break_off(asked.error().message);
  if (!taking_thread_.joinable()) {
    taking_thread_ = std::thread([this] { take_all(); });
    pthread_setname_np(taking_thread_.native_handle(), "hocket-letters");
  }
  changed_.notify_all();
}

Status C10dLine::ask_for_pieces(Taking& taking) {
  while (taking.asked < taking.bytes && taking.pieces.size() < pieces_ahead) {
    Piece& piece = taking.pieces.emplace_back();
    piece.first = taking.asked;
    const std::int64_t bytes = std::min(largest_piece, taking.bytes - taking.asked);
    HOCKET_CHECK(begin(piece.incoming, bytes, first_slot + taking.slot));
    taking.asked += bytes;
  }
  return {};
}

void C10dLine::take_all() {
  for (;;) {
    const Result<bool> more = take_piece();
    if (more && *more) continue;
    const Lock lock(mutex_);
    if (!more) break_off(more.error().message);
    return;
  }
}

Result<bool> C10dLine::take_piece() {
  Lock lock(mutex_);
  changed_.wait(lock, [this] { return is_over() || !takings_.empty(); });
  if (is_over()) return false;
  const Piece piece = takings_.front().pieces.front();
  const std::shared_ptr<Receiving> receiving = takings_.front().receiving;
  lock.unlock();
  HOCKET_TRY(const bool come, C10dPort::wait(piece.incoming.message));
  if (!come) return false;
  const at::Tensor& bytes = piece.incoming.bytes;
  if (receiving) receiving->write(piece.first, static_cast<const std::byte*>(bytes.data_ptr()), bytes.numel());
  lock.lock();
  if (is_over()) return false;
  Taking& taking = takings_.front();
  taking.pieces.pop_front();
  HOCKET_CHECK(ask_for_pieces(taking));
  if (taking.pieces.empty()) finish_taking();
  return true;
}

void C10dLine::finish_taking() {
  const Taking taking = std::move(takings_.front());
  takings_.pop_front();
  if (taking.receiving) taking.receiving->finish();
  post({.kind = Frame::Kind::taken, .slot = taking.slot});
  say_last();
}

}  // namespace hocket
