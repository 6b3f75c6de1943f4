#include "comm/prompt_thread.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace hocket {

namespace {

// The kernel's sched_attr in its first version. Its header can't be used: it and <sched.h> both define sched_param.
struct Attributes {
  std::uint32_t size = sizeof(Attributes);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0;  // of SCHED_OTHER: the slice
  std::uint64_t deadline = 0;
  std::uint64_t period = 0;
};

constexpr unsigned shortest_slice = 100'000;  // ns; the kernel takes none below

}  // namespace

void become_prompt(const char* name) {
  pthread_setname_np(pthread_self(), name);
  Attributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;  // somebody has decided otherwise
  attributes.runtime = shortest_slice;
  syscall(SYS_sched_setattr, 0, &attributes, 0);  // where it is refused, all goes on as before
}

}  // namespace hocket
