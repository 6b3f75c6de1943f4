// The output of many processes in one place, line by line: a line of one is never cut by a line of another.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "comm/file_descriptor.h"

namespace hocket {

// Where the lines go. Never blocks: write_some() writes what can be written when poll() says that something can.
class LineTarget {
 public:
  explicit LineTarget(int descriptor);

  int descriptor() const { return descriptor_; }
  // Puts `prefix` in front of every line of `text`. A last line without an end is continued by the next text of the same
  // source, and ended before that of another.
  void put(int source, std::string_view prefix, std::string_view text);
  void write_some();

  bool has_pending() const { return written_ < pending_.size(); }
  // Nobody should put more until some was written.
  bool is_full() const { return pending_.size() - written_ >= full_at; }
  // The errno of a write that failed; what is put after that is forgotten.
  int failure() const { return failure_; }

 private:
  static constexpr std::size_t full_at = std::size_t{1} << 20;

  int descriptor_;
  std::size_t most_at_once_;
  std::string pending_;
  std::size_t written_ = 0;  // of pending_
  bool in_line_ = false;     // what was put last has no end of line
  int last_source_ = -1;
  int failure_ = 0;
};

// One stream of one process: reads its pipe and puts whole lines to a target.
class LineSource {
 public:
  // The target outlives it. `number` tells sources apart.
  LineSource(FileDescriptor pipe, int number, std::string prefix, LineTarget& target);

  int descriptor() const { return pipe_.number(); }
  const LineTarget& target() const { return *target_; }
  bool is_open() const { return pipe_.valid(); }
  // Reads what there is, once; false if there was nothing. At the end the last line is put, ended or not.
  bool read_some();
  // Reads what is still in the pipe and closes it, whoever may hold the other end.
  void finish();
  // From now on whoever writes into the pipe gets SIGPIPE.
  void close();

 private:
  void put_lines(bool at_end);

  FileDescriptor pipe_;
  int number_;
  std::string prefix_;
  LineTarget* target_;
  std::string unfinished_;  // the line that has no end yet
};

}  // namespace hocket
