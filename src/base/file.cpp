#include "hocket/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/file_size_limit.h"

namespace hocket {

namespace {

constexpr std::size_t max_file = std::size_t{4} << 30;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ > STDERR_FILENO) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  bool close() {
    const int result = ::close(fd_);
    fd_ = -1;
    return result == 0;
  }

 private:
  int fd_;
};

tl::unexpected<Error> system_error(const std::string& path, std::string_view what) {
  const int code = errno;
  return fail(Error{ErrorKind::system, fmt::format("{}: {}", what, std::strerror(code)), path});
}

Result<std::string> read_all(int fd, const std::string& path) {
  std::string content;
  struct stat info {};
  if (fstat(fd, &info) == 0) {
    if (S_ISDIR(info.st_mode)) return fail(Error{ErrorKind::input, "is a directory, expected a file", path});
    if (S_ISREG(info.st_mode) && info.st_size > 0) content.reserve(static_cast<std::size_t>(info.st_size) + 1);
  }
  std::string chunk(std::size_t{1} << 18, '\0');
  while (true) {
    const ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(path, "can't be read");
    if (got == 0) return content;
    content.append(chunk, 0, static_cast<std::size_t>(got));
    if (content.size() > max_file) return fail(Error{ErrorKind::input, "is larger than 4 GiB", path});
  }
}

Status write_all(int fd, const std::string& path, std::string_view content) {
  const FileSizeLimit no_signal;
  while (!content.empty()) {
    const ssize_t put = ::write(fd, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return system_error(path, "can't be written");
    content.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

// Through a new file beside it, so that nobody ever sees half of it.
Status replace(const std::string& path, std::string_view content) {
  std::string temporary = path + ".XXXXXX";
  Descriptor file(::mkstemp(temporary.data()));
  if (file.get() < 0) return system_error(path, "can't be created");
  constexpr mode_t readable = 0644;
  Status status = write_all(file.get(), path, content);
  if (status && ::fchmod(file.get(), readable) != 0) status = system_error(path, "can't be made readable");
  if (status && !file.close()) status = system_error(path, "can't be written");
  if (status && ::rename(temporary.c_str(), path.c_str()) != 0) status = system_error(path, "can't be put in place");
  if (!status) ::unlink(temporary.c_str());
  return status;
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  const std::string name = path == "-" ? "standard input" : path;
  const Descriptor file(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return system_error(name, "can't be opened");
  return read_all(file.get(), name);
}

Status write_file(const std::string& path, std::string_view content) {
  if (path == "-") return write_all(STDOUT_FILENO, "standard output", content);
  struct stat info {};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (!exists || S_ISREG(info.st_mode)) return replace(path, content);
  if (S_ISDIR(info.st_mode)) {
    return fail(Error{ErrorKind::usage, "is a directory, expected the name of a file to write", path});
  }
  const Descriptor device(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (device.get() < 0) return system_error(path, "can't be opened for writing");
  return write_all(device.get(), path, content);
}

}  // namespace hocket
