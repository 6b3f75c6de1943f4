// Hands on what is typed at a terminal. A process in a group of its own may not read the terminal itself.
#pragma once

#include <string>

#include "comm/file_descriptor.h"
#include "hocket/base/error.h"

namespace hocket {

class TypedInput {
 public:
  // Reads `terminal`; whoever gets reader() reads what was typed.
  static Result<TypedInput> create(int terminal);

  int reader() const { return reader_.number(); }
  void close_reader() { reader_ = FileDescriptor(); }

  // For poll(): -1 where there is nothing to wait for. A job in the background leaves the terminal to others.
  int readable() const;
  int writable() const { return typed_.empty() ? -1 : writer_.number(); }
  void read_some();
  void write_some();

 private:
  int terminal_ = -1;  // -1 after its end
  FileDescriptor reader_;
  FileDescriptor writer_;
  std::string typed_;
};

}  // namespace hocket
