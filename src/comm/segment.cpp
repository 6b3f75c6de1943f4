#include "comm/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

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
  if (ftruncate(segment.number(), bytes) != 0) return refused("size shared memory to", bytes);
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

Result<AddressRange> AddressRange::reserve(std::int64_t bytes) {
  void* begin =
      mmap(nullptr, static_cast<std::size_t>(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) return refused("reserve addresses for", bytes);
  AddressRange range;
  range.begin_ = static_cast<std::byte*>(begin);
  range.bytes_ = bytes;
  return range;
}

AddressRange::AddressRange(AddressRange&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

AddressRange& AddressRange::operator=(AddressRange&& other) noexcept {
  std::swap(begin_, other.begin_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

AddressRange::~AddressRange() {
  if (begin_ != nullptr) munmap(begin_, static_cast<std::size_t>(bytes_));
}

Status AddressRange::map(const FileDescriptor& segment, std::int64_t offset, std::int64_t bytes) {
  if (offset < 0 || bytes < 0 || offset > bytes_ - bytes) {
    return fail(ErrorKind::internal, "{} bytes at {} are outside of the {} reserved", bytes, offset, bytes_);
  }
  void* mapped = mmap(begin_ + offset, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                      segment.number(), 0);
  if (mapped == MAP_FAILED) return refused("map shared memory of", bytes);
  return {};
}

}  // namespace hocket
