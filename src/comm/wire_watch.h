// Tells the ranks of other hosts what went wrong on this one, and hears it from them: ranks that have died, calls that have
// failed. A thread of its own looks every 10 ms, so that it does not matter what the program does meanwhile.
//
// A rank that dies is told by the lowest rank of its host that lives. Where it was the only one, nobody is left to tell.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/host.h"
#include "comm/wire.h"

namespace hocket {

// A group on several hosts that wants to hear.
class WireListener {
 public:
  virtual ~WireListener() = default;
  virtual const Digest& group() const = 0;
  virtual std::span<const std::int32_t> ranks() const = 0;
  // One of its ranks has died, or one of its calls has failed elsewhere. Called by the watch's thread.
  virtual void hear(const Error& error) = 0;
};

class WireWatch {
 public:
  // `channel` is of all ranks of the world, `host` has those of this host.
  WireWatch(std::unique_ptr<Channel> channel, std::shared_ptr<Host> host);
  // Waits a moment for what is being told.
  ~WireWatch();
  WireWatch(const WireWatch&) = delete;
  WireWatch& operator=(const WireWatch&) = delete;

  // An error of kind `peer` if one of these ranks of the world has died, on whatever host. Any thread.
  Status check(std::span<const std::int32_t> ranks) const;
  // From now on until it is gone.
  void add(const std::shared_ptr<WireListener>& listener);
  // A call of the group has failed on this host: its ranks on other hosts are to hear it. The first rank of the host that
  // says so is enough.
  void tell(const WireListener& group, const Error& error);

 private:
  // What travels.
  struct News {
    std::int32_t rank = -1;  // that has died; -1: a group has failed
    Digest group{};
    std::array<char, 488> text{};
  };
  struct Sending {
    std::unique_ptr<News> news;
    std::vector<RequestHandle> requests;
  };

  void loop();
  void look_at_host();
  void listen();
  void note_death(std::int32_t rank, const std::string& text);
  void spread(const News& news, std::span<const std::int32_t> ranks);
  bool all_sent();
  bool tells() const;
  // Whether a rank of this host has told the group's failure, or heard of it.
  bool is_known(const Digest& group) const;
  void make_known(const Digest& group);
  void inform(WireListener& listener, const Error& error);
  std::vector<std::shared_ptr<WireListener>> listeners();

  std::unique_ptr<Channel> channel_;
  std::shared_ptr<Host> host_;
  std::string host_name_;
  std::vector<bool> is_here_;      // by rank
  std::vector<Sending> sendings_;  // touched by the thread only

  std::mutex publishing_;     // of make_known()
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool leaving_ = false;
  std::map<std::int32_t, std::string> dead_;
  std::vector<std::weak_ptr<WireListener>> listeners_;
  std::vector<std::pair<News, std::vector<std::int32_t>>> to_tell_;  // and to whom
  std::atomic<bool> anyone_dead_ = false;
  std::thread thread_;
};

}  // namespace hocket
