#include "comm/wire_farewells.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace hocket {

namespace {

class Farewells {
 public:
  static Farewells& get() {
    static auto* const all = new Farewells;  // lives on: who comes too late still finds it
    static const AtExit guard{*all};
    return *all;
  }
  void change(int by) {
    const std::lock_guard lock(mutex_);
    expected_ += by;
    changed_.notify_all();
  }

 private:
  struct AtExit {
    Farewells& all;
    ~AtExit() { all.wait(); }
  };
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, longest_wait, [this] { return expected_ == 0; });
  }

  static constexpr std::chrono::seconds longest_wait{2};
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  int expected_ = 0;
};

}  // namespace

WireFarewell::WireFarewell() { Farewells::get().change(1); }

void WireFarewell::say() {
  if (!said_) Farewells::get().change(-1);
  said_ = true;
}

}  // namespace hocket
