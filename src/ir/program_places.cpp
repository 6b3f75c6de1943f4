#include "hocket/ir/program.h"

namespace hocket {

Result<Program> with_places(const Program& program, std::span<const std::int64_t> places) {
  if (places.size() != program.buffers().size())
    return fail(ErrorKind::internal, "{} places for {} buffers", places.size(), program.buffers().size());
  Program placed = program;
  for (std::size_t i = 0; i < places.size(); ++i) placed.buffers_[i].placed_at = places[i];
  return placed;
}

}  // namespace hocket
