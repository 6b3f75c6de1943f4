#pragma once

#include "hocket/compile/pass.h"

namespace hocket {

Pass carry_pass();

}  // namespace hocket
