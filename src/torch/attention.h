// scaled_dot_product_attention picks its operators by device, and on meta other ones than on the CPU. With this,
// attention on meta tensors that stand for CPU tensors is captured as it will run.
#pragma once

namespace hocket {

// Once is enough. Outside of captures, attention on meta stays what it was.
void register_attention();

}  // namespace hocket
