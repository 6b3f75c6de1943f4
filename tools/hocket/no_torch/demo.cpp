#include "demo.h"

#include "command.h"

namespace hocket::tool {

int run_demo(const DemoOptions&) {
  return complain({ErrorKind::usage,
                   "this hocket was built without libtorch, which the demo captures a training step with\n"
                   "  build it with libtorch:      ./hk demo\n"
                   "  or look at a graph file:     hocket stats step.json.gz",
                   {}});
}

}  // namespace hocket::tool
