#include "comm/line_output.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <utility>

namespace hocket {

namespace {

// A line that is longer is printed in pieces: whole where nobody else prints meanwhile.
constexpr std::size_t longest_line = std::size_t{16} << 20;
constexpr int most_reads_of_a_full_pipe = 32;
constexpr std::size_t written_to_a_file = std::size_t{1} << 20;

// What write() takes without blocking once poll() has called a pipe or a terminal writable.
std::size_t most_at_once(int descriptor) {
  struct stat about {};
  const bool is_file = fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode);
  return is_file ? written_to_a_file : PIPE_BUF;
}

}  // namespace

LineTarget::LineTarget(int descriptor) : descriptor_(descriptor), most_at_once_(most_at_once(descriptor)) {}

void LineTarget::put(int source, std::string_view prefix, std::string_view text) {
  if (failure_ != 0 || text.empty()) return;
  if (in_line_ && source != last_source_) {
    pending_ += '\n';
    in_line_ = false;
  }
  last_source_ = source;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end == std::string_view::npos ? end : end + 1);
    if (!in_line_) pending_ += prefix;
    pending_ += line;
    in_line_ = end == std::string_view::npos;
    text.remove_prefix(line.size());
  }
}

void LineTarget::write_some() {
  if (!has_pending()) return;
  const ssize_t count =
      write(descriptor_, pending_.data() + written_, std::min(most_at_once_, pending_.size() - written_));
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count < 0) failure_ = errno;
  else written_ += static_cast<std::size_t>(count);
  // Moving the rest to the front costs less than writing did when there is less of it than was written.
  if (failure_ == 0 && written_ < pending_.size() - written_) return;
  pending_.erase(0, failure_ == 0 ? written_ : pending_.size());
  written_ = 0;
}

LineSource::LineSource(FileDescriptor pipe, int number, std::string prefix, LineTarget& target)
    : pipe_(std::move(pipe)), number_(number), prefix_(std::move(prefix)), target_(&target) {
  // Of this end alone: the process at the other end has a blocking pipe, as programs expect.
  fcntl(pipe_.number(), F_SETFL, O_NONBLOCK);
}

bool LineSource::read_some() {
  if (!is_open()) return false;
  std::array<char, 65536> buffer;
  const ssize_t count = read(pipe_.number(), buffer.data(), buffer.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (count > 0) {
    unfinished_.append(buffer.data(), static_cast<std::size_t>(count));
    // Only what is new can hold the end of a line; a long line is not searched again with every piece.
    const std::string_view fresh(buffer.data(), static_cast<std::size_t>(count));
    if (fresh.find('\n') != std::string_view::npos || unfinished_.size() >= longest_line) put_lines(false);
    return true;
  }
  put_lines(true);
  close();
  return false;
}

void LineSource::finish() {
  // A process that got away may write for ever: no more than the largest pipe holds.
  for (int i = 0; i < most_reads_of_a_full_pipe && read_some(); ++i) continue;
  put_lines(true);
  close();
}

void LineSource::put_lines(bool at_end) {
  const std::size_t last_end = unfinished_.rfind('\n');
  std::size_t ready = last_end == std::string::npos ? 0 : last_end + 1;
  if (at_end || unfinished_.size() - ready >= longest_line) ready = unfinished_.size();
  target_->put(number_, prefix_, std::string_view(unfinished_).substr(0, ready));
  unfinished_.erase(0, ready);
}

void LineSource::close() { pipe_ = FileDescriptor(); }

}  // namespace hocket
