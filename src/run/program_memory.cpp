#include "run/program_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace hocket {

void Unmap::operator()(std::byte* memory) const { munmap(memory, bytes); }

namespace {

bool is_brought(const Buffer& buffer) { return buffer.home == Home::input || buffer.home == Home::constant; }

// How large the arena of this home and group has to be.
Result<Bytes> size_of_arena(const Program& program, Home home, GroupId group) {
  Bytes size;
  for (const Buffer& buffer : program.buffers()) {
    if (buffer.home != home || buffer.placed_at < 0) continue;
    if (home == Home::symmetric && buffer.group != group) continue;
    if (!buffer.bytes.is_static()) {
      return fail(ErrorKind::input, "buffer %{} has a symbolic size: a program that runs has numbers",
                  program.pool().strings[buffer.name]);
    }
    size = std::max(size, Bytes(buffer.placed_at) + Bytes(buffer.bytes.value()));
  }
  return size;
}

Result<MappedMemory> map_memory(Bytes bytes) {
  if (bytes.count == 0) return MappedMemory();
  const auto size = static_cast<std::size_t>(bytes.count);
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return fail(ErrorKind::system, "no memory for an arena of {}: {}", to_string(bytes), std::strerror(errno));
  }
  madvise(memory, size, MADV_HUGEPAGE);  // where the kernel can: fewer faults
  return MappedMemory(static_cast<std::byte*>(memory), Unmap{size});
}

}  // namespace

Result<ProgramMemory> ProgramMemory::create(const Program& program, const ProgramGroups& groups) {
  ProgramMemory memory;
  memory.addresses_.resize(program.buffers().size(), nullptr);
  HOCKET_TRY(const Bytes own, size_of_arena(program, Home::arena, GroupId::none()));
  HOCKET_TRY(memory.arena_, map_memory(own));
  memory.planned_ = own;
  std::vector<std::byte*> bases(program.groups().size(), nullptr);
  for (std::size_t i = 0; i < bases.size(); ++i) {
    HOCKET_TRY(const Bytes size, size_of_arena(program, Home::symmetric, GroupId(i)));
    if (size.count == 0) continue;
    HOCKET_TRY(SymmetricBuffer buffer, groups.of(GroupId(i)).allocate(size));
    bases[i] = buffer.data();
    memory.symmetric_.push_back(std::move(buffer));
    memory.planned_ += size;
  }
  for (std::size_t i = 0; i < memory.addresses_.size(); ++i) {
    const Buffer& buffer = program.buffer(BufferId(i));
    if (is_brought(buffer) || buffer.placed_at < 0) continue;
    std::byte* const base = buffer.home == Home::arena ? memory.arena_.get() : bases[buffer.group.index()];
    memory.addresses_[i] = base + buffer.placed_at;
  }
  return memory;
}

}  // namespace hocket
