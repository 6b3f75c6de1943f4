// How ranks that have a c10d store in common find out where each other is.
#pragma once

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "comm/deadline.h"
#include "comm/host_link.h"

namespace hocket {

// What a rank has written goes when this goes: by then the ranks have met, or it came to nothing.
class StoreMeeting {
 public:
  StoreMeeting(c10::intrusive_ptr<c10d::Store> store, std::int32_t rank, std::int32_t size, Deadline deadline)
      : store_(std::move(store)), rank_(rank), size_(size), deadline_(deadline) {}
  ~StoreMeeting();
  StoreMeeting(const StoreMeeting&) = delete;
  StoreMeeting& operator=(const StoreMeeting&) = delete;

  Deadline deadline() const { return deadline_; }
  // Each of these is collective. Ranks that don't come in time are named.
  Result<bool> on_one_host();
  // Rank 0 thinks of a place. Whoever can read the store can read it, but only processes of the same user are let in there.
  Result<MeetingPlace> agree_on_place();
  Result<c10::intrusive_ptr<c10d::ProcessGroup>> make_gloo_group();

 private:
  void write(const std::string& key, const std::string& text);
  std::string read(const std::string& key);
  Result<std::vector<std::string>> read_hosts();
  Error missing_ranks(const std::exception& thrown);

  c10::intrusive_ptr<c10d::Store> store_;
  std::int32_t rank_;
  std::int32_t size_;
  Deadline deadline_;
  std::vector<std::string> written_;
};

}  // namespace hocket
