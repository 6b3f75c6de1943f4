#include "demo.h"

#include "no_torch/hand_over.h"

namespace hocket::tool {

int run_demo(const DemoOptions&) { return hand_over_to_torch("demo"); }

}  // namespace hocket::tool
