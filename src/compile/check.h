// What the pipeline checks after a pass, with the verifier's own eyes.
#pragma once

#include "hocket/compile/pass.h"

namespace hocket {

// Everything wrong with a subject, as one error.
Status check_subject(const Subject& subject, ErrorKind kind);
// Is what a pass made of `before` sound, and is what it says of it true?
Status check_result(const Subject& before, const PassResult& result);

}  // namespace hocket
