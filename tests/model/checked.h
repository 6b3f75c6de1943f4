// Relacy behind the names of the standard library, so that a template of ours can't tell the difference.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <ostream>
#include <streambuf>
#include <string>

#include <relacy/relacy.hpp>

// Relacy redefines names of the language and of the library for code that is written for it.
#undef new
#undef delete
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef assert
#undef errno
#undef memory_order_relaxed
#undef memory_order_consume
#undef memory_order_acquire
#undef memory_order_release
#undef memory_order_acq_rel
#undef memory_order_seq_cst

namespace hocket::model {

inline rl::memory_order order_of(std::memory_order order) {
  switch (order) {
    case std::memory_order_relaxed: return rl::mo_relaxed;
    case std::memory_order_consume: return rl::mo_consume;
    case std::memory_order_acquire: return rl::mo_acquire;
    case std::memory_order_release: return rl::mo_release;
    case std::memory_order_acq_rel: return rl::mo_acq_rel;
    case std::memory_order_seq_cst: return rl::mo_seq_cst;
  }
  return rl::mo_seq_cst;
}

inline void fence(std::memory_order order) { rl::atomic_thread_fence(order_of(order), RL_INFO); }

// Zero at first, like shared memory.
class Atomic {
 public:
  Atomic() { value_.store(0, rl::mo_relaxed, RL_INFO); }
  std::uint32_t load(std::memory_order order) const { return value_.load(order_of(order), RL_INFO); }
  void store(std::uint32_t number, std::memory_order order) { value_.store(number, order_of(order), RL_INFO); }
  std::uint32_t fetch_add(std::uint32_t number, std::memory_order order) {
    return value_.fetch_add(number, order_of(order), RL_INFO);
  }
  std::uint32_t fetch_sub(std::uint32_t number, std::memory_order order) {
    return value_.fetch_sub(number, order_of(order), RL_INFO);
  }

 private:
  rl::atomic<std::uint32_t> value_;
};

struct Flag {
  Atomic number;
  Atomic sleepers;
};

// Ordinary memory: reading and writing at once is an error.
class Data {
 public:
  void write(std::uint32_t number) { value_(RL_INFO) = number; }
  std::uint32_t read() { return value_(RL_INFO); }

 private:
  rl::var<std::uint32_t> value_;
};

// The kernel's half of a futex. It promises no order beyond that of its lock.
class Futex {
 public:
  void sleep_while(const Atomic& number, std::uint32_t seen) {
    mutex_.lock(RL_INFO);
    if (number.load(std::memory_order_relaxed) == seen) wake_up_.wait(mutex_, RL_INFO);
    mutex_.unlock(RL_INFO);
  }
  void wake_all() {
    mutex_.lock(RL_INFO);
    wake_up_.notify_all(RL_INFO);
    mutex_.unlock(RL_INFO);
  }

 private:
  rl::mutex mutex_;
  rl::condition_variable_any wake_up_;
};

struct Verdict {
  rl::test_result_e result = rl::test_result_success;
  std::string story;  // the interleaving that failed
};

// Takes the first part of a text without allocating memory: what Relacy writes while it simulates would come from the memory
// that it simulates, too.
class FixedText : public std::streambuf {
 public:
  FixedText() { setp(text_, text_ + sizeof text_); }
  std::string text() const { return {pbase(), pptr()}; }

 private:
  char text_[1 << 15];
};

// Tries so many interleavings at random, the same ones every time, or until one fails.
template <class Test>
Verdict check(unsigned interleavings = 20'000) {
  FixedText text;
  std::ostream output(&text);
  rl::test_params params;
  params.search_type = rl::sched_random;
  params.iteration_count = interleavings;
  params.output_stream = &output;
  params.progress_stream = &output;
  rl::simulate<Test>(params);
  return {params.test_result, text.text()};
}

template <class Test>
void expect_correct(unsigned interleavings = 20'000) {
  const Verdict verdict = check<Test>(interleavings);
  EXPECT_EQ(verdict.result, rl::test_result_success) << verdict.story;
}

// A weakened protocol must be found out, or the check would be worth nothing.
template <class Test>
void expect_found(rl::test_result_e expected) {
  const Verdict verdict = check<Test>();
  EXPECT_EQ(verdict.result, expected) << verdict.story;
}

}  // namespace hocket::model
