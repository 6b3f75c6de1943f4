// What all ranks must have in common before the first run, as a digest: the operators in their order, what they read and write, the
// communication with its sizes, and the symmetric memory with its offsets.
//
//   if (agreement_digest(mine) != digest_of_rank_0) …        // then exchange step_digests() and name the first that differs
//
// It leaves out what ranks of one program may have of their own: the ranks and names of groups, names of steps and buffers, the
// number of a device, numbers and offsets that depend on the rank, sizes of tensors that are not communicated, estimates.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "hocket/base/digest.h"
#include "hocket/ir/program.h"

namespace hocket {

Digest agreement_digest(const Program& program);
// One for each step and one for the whole, at the end. Two programs agree up to the first that differs.
std::vector<Digest> step_digests(const Program& program);

struct Difference {
  std::size_t step = 0;  // position in both; the number of steps where only one goes on, or the results differ
  std::string message;   // "step 12: all_reduce_3 is …, but …", with what each has
};

// Where two programs disagree first; nothing where they agree.
std::optional<Difference> first_difference(const Program& a, const Program& b);

}  // namespace hocket
