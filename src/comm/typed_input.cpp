#include "comm/typed_input.h"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace hocket {

Result<TypedInput> TypedInput::create(int terminal) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail(ErrorKind::system, "can't make a pipe: {}", std::strerror(errno));
  TypedInput input;
  input.terminal_ = terminal;
  input.reader_ = FileDescriptor(ends[0]);
  input.writer_ = FileDescriptor(ends[1]);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  return input;
}

int TypedInput::readable() const {
  const bool wants = terminal_ >= 0 && typed_.empty();
  return wants && tcgetpgrp(terminal_) == getpgrp() ? terminal_ : -1;
}

void TypedInput::read_some() {
  std::array<char, 4096> buffer;
  const ssize_t count = read(terminal_, buffer.data(), buffer.size());
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count > 0) return typed_.append(buffer.data(), static_cast<std::size_t>(count)), void();
  terminal_ = -1;
  writer_ = FileDescriptor();
}

void TypedInput::write_some() {
  const ssize_t count = write(writer_.number(), typed_.data(), typed_.size());
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count >= 0) return typed_.erase(0, static_cast<std::size_t>(count)), void();
  typed_.clear();  // nobody reads any more
  terminal_ = -1;
  writer_ = FileDescriptor();
}

}  // namespace hocket
