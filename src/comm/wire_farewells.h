// The last user of a wire may be a thread of the pool, which lets go of its group a moment after the program's last call is done. The
// process must not end before that thread has taken leave of the other ranks, or they or the launcher take it for a crash.
#pragma once

namespace hocket {

// While one lives, the process waits with its end, for two seconds at most: a world may never be left.
class WireFarewell {
 public:
  WireFarewell();
  ~WireFarewell() { say(); }
  WireFarewell(const WireFarewell&) = delete;
  WireFarewell& operator=(const WireFarewell&) = delete;

  // The process needs to wait no longer. Not by two threads at once.
  void say();

 private:
  bool said_ = false;
};

}  // namespace hocket
