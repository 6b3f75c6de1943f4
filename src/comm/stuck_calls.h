// Calls of a library that do not come back. When a rank dies while messages to it are queued, Open MPI 4.1 may spin inside MPI_Test for
// ever: the thread can't be freed, and whoever waits for it hangs. Such a rank ends instead, saying why, and the others hear of it.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace hocket {

class StuckCalls {
 public:
  // A call that only looks for messages takes microseconds.
  static constexpr std::chrono::milliseconds longest_call{2000};
  static constexpr int exit_code = 70;  // EX_SOFTWARE of sysexits.h

  StuckCalls() = default;
  ~StuckCalls();
  StuckCalls(const StuckCalls&) = delete;
  StuckCalls& operator=(const StuckCalls&) = delete;

  // While one lives, its thread is inside the library.
  class Inside {
   public:
    explicit Inside(StuckCalls& calls) : passages_(calls.passages_of_this_thread()) { passages_.fetch_add(1); }
    ~Inside() { passages_.fetch_add(1); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    std::atomic<std::uint64_t>& passages_;
  };

  // Something went wrong with a peer: from now on a call that lasts too long ends the process. Once.
  void watch(std::string library, std::chrono::milliseconds longest = longest_call);

 private:
  static constexpr std::size_t places = 64;  // threads beyond share them, and their calls may go unnoticed

  std::atomic<std::uint64_t>& passages_of_this_thread();
  void look_until_left(const std::string& library, std::chrono::milliseconds longest);

  std::array<std::atomic<std::uint64_t>, places> passages_{};  // in and out, by thread: odd while it is inside
  std::mutex mutex_;                                           // guards leaving_
  std::condition_variable left_;
  bool leaving_ = false;
  std::thread watcher_;
};

}  // namespace hocket
