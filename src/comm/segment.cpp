#include "comm/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/file_size_limit.h"
#include "hocket/base/units.h"

namespace hocket {

namespace {

constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr mode_t only_owner = S_IRUSR | S_IWUSR;

tl::unexpected<Error> refused(const char* what, std::int64_t bytes) {
  return fail(ErrorKind::system, "can't {} {}: {}", what, to_string(Bytes(bytes)), std::strerror(errno));
}

}  // namespace

std::int64_t page_size() {
  static const std::int64_t size = sysconf(_SC_PAGESIZE);
  return size;
}

Result<FileDescriptor> make_segment(std::int64_t bytes) {
  FileDescriptor segment(memfd_create("hocket", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!segment.valid()) return refused("make shared memory of", bytes);
  if (fchmod(segment.number(), only_owner) != 0) return refused("protect shared memory of", bytes);
  const FileSizeLimit no_signal;
  if (ftruncate(segment.number(), bytes) != 0) {
    return refused(
        errno == EFBIG ? "size shared memory (the limit of ulimit -f is smaller) to" : "size shared memory to", bytes);
  }
  if (fcntl(segment.number(), F_ADD_SEALS, seals) != 0) return refused("seal shared memory of", bytes);
  return segment;
}

Status check_segment(const FileDescriptor& segment, std::int64_t bytes) {
  struct stat facts {};
  if (fstat(segment.number(), &facts) != 0) return refused("look at shared memory of", bytes);
  if (facts.st_size != bytes) {
    return fail(ErrorKind::peer, "its shared memory has {} bytes, expected {}", facts.st_size, bytes);
  }
  if ((fcntl(segment.number(), F_GET_SEALS) & seals) != seals) {
    return fail(ErrorKind::peer, "its shared memory is not sealed, so it could vanish while in use");
  }
  if ((facts.st_mode & 07777) != only_owner) {
    return fail(ErrorKind::peer, "its shared memory has mode {:o}, expected {:o}", facts.st_mode & 07777, only_owner);
  }
  return {};
}

Result<Mapping> Mapping::map(const FileDescriptor& segment, std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  const auto room = static_cast<std::size_t>(bytes + huge_page);
  void* found = mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (found == MAP_FAILED) return refused("reserve addresses (is there a limit, see ulimit -v?) for", bytes);
  auto* const start = static_cast<std::byte*>(found);
  const auto over = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(start) % huge_page);
  std::byte* const begin = start + (over == 0 ? 0 : huge_page - over);
  if (begin > start) munmap(start, static_cast<std::size_t>(begin - start));
  if (begin < start + huge_page) munmap(begin + size, static_cast<std::size_t>(start + huge_page - begin));
  Mapping mapping;
  mapping.begin_ = begin;
  mapping.bytes_ = bytes;
  if (mmap(begin, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, segment.number(), 0) ==
      MAP_FAILED) {
    return refused("map shared memory of", bytes);
  }
  madvise(begin, size, MADV_DONTDUMP);  // a core file with the buffers of all ranks would help nobody
  return mapping;
}

Mapping::Mapping(Mapping&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(begin_, other.begin_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (begin_ != nullptr) munmap(begin_, static_cast<std::size_t>(bytes_));
}

}  // namespace hocket
