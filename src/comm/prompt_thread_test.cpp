#include "comm/prompt_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/utsname.h>

#include <array>
#include <cstdio>
#include <string>
#include <thread>

namespace hocket {
namespace {

std::string own_name() {
  std::array<char, 16> name{};
  pthread_getname_np(pthread_self(), name.data(), name.size());
  return name.data();
}

TEST(PromptThread, has_its_name_and_stays_an_ordinary_thread) {
  std::string name;
  int policy = -1;
  std::thread([&] {
    become_prompt("hocket-lane");
    name = own_name();
    policy = sched_getscheduler(0);
  }).join();
  EXPECT_EQ(name, "hocket-lane");
  EXPECT_EQ(policy, SCHED_OTHER);
}

TEST(PromptThread, leaves_threads_of_another_policy_alone) {
  int policy = -1;
  std::thread([&] {
    sched_param none{};
    ASSERT_EQ(sched_setscheduler(0, SCHED_BATCH, &none), 0);
    become_prompt("hocket-lane");
    policy = sched_getscheduler(0);
  }).join();
  EXPECT_EQ(policy, SCHED_BATCH);
}

// The slice in ns as the kernel has it; nothing where it does not tell.
std::string slice_line() {
  std::string found;
  if (FILE* const file = fopen("/proc/thread-self/sched", "r")) {
    std::array<char, 256> line{};
    while (fgets(line.data(), line.size(), file) != nullptr) {
      if (std::string(line.data()).find("se.slice") == 0) found = line.data();
    }
    fclose(file);
  }
  return found;
}

bool kernel_has_slices_of_choice() {
  utsname system{};
  int major = 0, minor = 0;
  uname(&system);
  std::sscanf(system.release, "%d.%d", &major, &minor);
  return major > 6 || (major == 6 && minor >= 12);
}

TEST(PromptThread, gets_a_shorter_slice_where_the_kernel_has_them) {
  std::string before, after;
  std::thread([&] {
    before = slice_line();
    become_prompt("hocket-lane");
    after = slice_line();
  }).join();
  if (before.empty() || !kernel_has_slices_of_choice()) {
    GTEST_SKIP() << "this kernel does not show a thread's slice, or does not let it choose one";
  }
  EXPECT_NE(before, after);
  EXPECT_NE(after.find("100000"), std::string::npos) << after;
}

}  // namespace
}  // namespace hocket
