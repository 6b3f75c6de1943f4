// The way to one other rank over a C10dPort, where a receive has to be there before its message leaves, and nobody can ask whether
// anything has come.
//
// Each end has receives waiting for the other's next *frames*, as long as a frame can be, and a thread that sleeps until one is there.
// A short message is in the frame, and leaves at once: asking first would have to wait behind what is under way in both directions. A
// long one stays where it is until the other end knows its memory; only then does that end receive it, in pieces, into memory of its
// own that a second thread copies from. So a receive that is cancelled in the middle can be forgotten, and the rest of the message
// still has a place to go. A frame says when a long one was taken, and every frame says how many were seen, so that nobody ever
// waits for a send.
//
// An end that leaves says so, as its last frame, and waits a moment for the other's last one: either the answer to it, or that the
// other leaves, too. All that was sent before has arrived then, and nothing comes any more.
#pragma once

#include <array>
#include <condition_variable>
#include <deque>
#include <map>
#include <thread>

#include "comm/deadline.h"
#include "torch/c10d_letter.h"
#include "torch/c10d_port.h"

namespace hocket {

class C10dLine {
 public:
  // Whom a line gives what it reads.
  class Reader {
   public:
    virtual ~Reader() = default;
    // A short letter, whose bytes stay until this returns; a long one.
    virtual void arrived(std::int32_t from, const LetterKey& key, std::span<const std::byte> bytes) = 0;
    virtual void announced(std::int32_t from, const LetterKey& key, std::int64_t bytes, std::int32_t slot) = 0;
  };
  static constexpr std::int32_t index_of_calls = 0;       // of the port: how a line is opened at the other end
  static constexpr std::int64_t bytes_of_call = 8;        // what they say does not matter
  static constexpr std::int64_t fits_inside = 64 << 10;   // bytes of a short message: what a reduction sends at a time
  static constexpr std::chrono::milliseconds grace{200};  // until a lost rank is an error: others may know why it died

  C10dLine(std::shared_ptr<const C10dPort> port, std::int32_t peer, Reader& reader);
  ~C10dLine() { stop(); }
  C10dLine(const C10dLine&) = delete;
  C10dLine& operator=(const C10dLine&) = delete;

  // Has the other end open its side, where it does not do so by itself.
  void call();
  // Their memory stays until it is done. Never done if the line is broken: check() says why.
  Result<std::shared_ptr<Sending>> send(const LetterKey& key, std::span<const std::byte> bytes);
  // Receives a long letter; for nobody if `receiving` is null.
  void take(std::int32_t slot, std::int64_t bytes, std::shared_ptr<Receiving> receiving);
  // An error of kind `peer` if nothing comes any more, with the exception of receives that have begun.
  Status check(bool has_begun) const;

  // Says that this rank leaves, once what it is receiving is there.
  void leave();
  // Until the other end has heard that, or can't.
  void wait_until_parted(Deadline deadline);
  // Ends the threads, whatever the other end does.
  void stop();
  // After stop(): what the port still expects. If others go on using the port, these have to stay: what comes for memory that
  // is gone would keep the port's own thread busy for ever.
  std::vector<C10dPort::Message> unfinished() const;

 private:
  struct Frame;
  struct Incoming {
    at::Tensor bytes;
    C10dPort::Message message;
  };
  struct Outgoing {
    std::int64_t bytes = 0;
    C10dPort::Message message;
  };
  struct Piece {
    std::int64_t first = 0;
    Incoming incoming;
  };
  // A long letter that comes in.
  struct Taking {
    std::int32_t slot = 0;
    std::int64_t bytes = 0;
    std::int64_t asked = 0;  // bytes of pieces that were begun
    std::shared_ptr<Receiving> receiving;
    std::deque<Piece> pieces;
  };
  // A long letter that waits for the other end.
  struct Held {
    std::shared_ptr<Sending> sending;
    std::vector<C10dPort::Message> pieces;
  };
  using Lock = std::unique_lock<std::mutex>;

  // The threads.
  void read_frames();
  void take_all();

  // Without the lock. False when the line is over.
  Result<bool> read_frame();
  Result<bool> handle(const Frame& frame, const std::byte* inside);
  Result<bool> take_piece();

  static const std::int64_t longest_frame;

  // With the lock.
  Status open();
  Status begin(Incoming& incoming, std::int64_t bytes, std::int32_t index);
  Status note_seen();
  void note_seen_by_other(std::uint64_t frames);
  void note_taken(std::int32_t slot);
  void note_leaving();
  Status ask_for_pieces(Taking& taking);
  void finish_taking();
  void say_last();
  Result<std::int32_t> hold(std::shared_ptr<Sending> sending, std::span<const std::byte> bytes);
  void post(Frame frame, std::span<const std::byte> inside = {});
  void break_off(const std::string& words);
  void abort_all();
  bool is_over() const { return stopping_ || broken_at_.has_value(); }
  bool have_parted() const { return parted_ || (left_at_.has_value() && closed_); }

  std::shared_ptr<const C10dPort> port_;
  const std::int32_t peer_;
  Reader& reader_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::array<Incoming, 32> frames_;  // each waits for the next but so many
  std::uint64_t seen_ = 0;           // frames
  std::uint64_t told_ = 0;           // what the other end knows of seen_
  std::deque<Outgoing> outgoing_;    // frames that the other end may not have seen
  std::int64_t outgoing_bytes_ = 0;
  std::uint64_t outgoing_seen_ = 0;    // frames that were taken out of it
  std::map<std::int32_t, Held> held_;  // by slot
  std::vector<std::int32_t> free_slots_;
  std::deque<Taking> takings_;
  C10dPort::Message called_;
  std::optional<Deadline> broken_at_;
  std::string broken_by_;
  std::optional<Deadline> left_at_;  // the other end
  bool leaving_ = false;             // this end wants to
  bool closed_ = false;              // this end has said its last
  bool parted_ = false;              // the other end has, in answer to it
  bool stopping_ = false;
  std::atomic<bool> troubled_ = false;  // broken or left
  std::thread frame_thread_;
  std::thread taking_thread_;  // once it is needed
};

}  // namespace hocket
