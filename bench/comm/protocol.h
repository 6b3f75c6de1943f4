// What the driver of `./hk bench comm` and the ranks of a contestant say to each other: lines of text, so that ranks in C++ and
// in Python understand them alike.
//
//   driver: measure all_reduce 1048576 private out_of_place nofill 30 1
//   rank:   times 41250.0 40980.5 …          nanoseconds, one for each repetition
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/base/error.h"

namespace hocket::comm_bench {

enum class Operator : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, barrier };
inline constexpr int operator_count = 6;

std::string_view name_of(Operator op);
Result<Operator> operator_from_name(std::string_view name);

enum class BufferKind : std::uint8_t { private_memory, symmetric_memory };

struct Task {
  enum class Kind : std::uint8_t {
    check,    // fill the input, run once, compare what came out with what must come out
    measure,  // time `repetitions` times `batch` calls
    release,  // give the buffers back
    quit,
  };
  Kind kind = Kind::quit;
  Operator op = Operator::barrier;
  std::int64_t bytes = 0;  // the larger of a rank's input and output
  BufferKind buffers = BufferKind::private_memory;
  bool in_place = false;
  bool fill = false;  // writing the whole input is part of what is timed
  std::int32_t repetitions = 1;
  std::int32_t batch = 1;  // calls in one repetition: for those that are short against a look at the clock

  friend bool operator==(const Task&, const Task&) = default;
};

std::string to_line(const Task& task);
Result<Task> task_from_line(std::string_view line);

struct Answer {
  enum class Kind : std::uint8_t {
    ready,   // the first line of a rank; `text` is its number
    fine,    // checked or released
    times,   // measured
    unable,  // the contestant has no such operation: it is left out at this point
    failed,  // the contestant can't go on, or its result is wrong
  };
  Kind kind = Kind::fine;
  std::vector<double> ns = {};
  std::string text = {};

  friend bool operator==(const Answer&, const Answer&) = default;
};

std::string to_line(const Answer& answer);
Result<Answer> answer_from_line(std::string_view line);

// Elements of f32 that a call is about.
struct Extent {
  std::int64_t count = 0;   // as the operator counts: of each rank's part where there are parts
  std::int64_t input = 0;   // of a whole input
  std::int64_t output = 0;  // of a whole output
};

// Parts have at least one element: 8 bytes in four parts become 16.
Extent extent_of(Operator op, std::int64_t bytes, std::int32_t ranks);

}  // namespace hocket::comm_bench
