// The pass remove_unsharded_param_inputs: an FSDP graph takes the unsharded parameter as an input, resizes it to full size, copies the
// gathered data in, uses it, and resizes it to 0. Where that pattern holds exactly, the gathered value is used directly, and the
// resizes and copies go. The input stays in the signature, unused.
//
//   inductor.resize_storage_bytes_(%param, 4096)
//   fsdp.copy_(%param, %gathered)
//   %y = aten.mm(%x, %param)                            // becomes aten.mm(%x, %gathered)
//   inductor.resize_storage_bytes_(%param, 0)
//
// Several such rounds for one parameter (a layer that is used again) are fine. Each parameter is judged by itself; the notes say why
// one was left alone.
#pragma once

#include "hocket/ir/rewrite.h"

namespace hocket {

struct RemoveUnshardedParamInputsOptions {};

Result<RewriteResult> remove_unsharded_param_inputs(const Graph& graph,
                                                    const RemoveUnshardedParamInputsOptions& options = {});

}  // namespace hocket
