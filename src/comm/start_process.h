// Starts one process so that it can't outlive this one.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

#include "comm/file_descriptor.h"
#include "hocket/base/error.h"

namespace hocket {

struct ProcessStart {
  std::string program;                 // a path: nothing is searched
  std::vector<std::string> arguments;  // the first is the name that the program sees
  std::vector<std::string> environment;
  int input = 0;  // these three become its standard input, output and error
  int output = 1;
  int errors = 2;
  pid_t group = 0;         // the process group that it joins; 0: one of its own
  std::vector<int> cores;  // the processors that it may run on; empty: those of this process
  sigset_t blocked{};      // signals that are blocked when the program begins
};

struct Process {
  pid_t pid = -1;
  FileDescriptor handle;  // readable once it has ended
};

// Why a process could not be started.
struct StartFailure {
  int reason = 0;  // as errno has it
  std::string step;

  // As a shell would exit: 127 where there is no such program, 126 where it can't be run.
  int exit_code() const;
  std::string to_string() const;  // "can't be run: Permission denied"
};

// Returns when the program has begun. It is killed when the calling thread ends, however that ends. Nothing of the memory of
// this process is copied, and other threads may run: it is a vfork() whose child has a stack of its own.
tl::expected<Process, StartFailure> start_process(const ProcessStart& start);

}  // namespace hocket
