// The Python module hocket._C.
#include <pybind11/chrono.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include "distributed_backend.h"
#include "graph_compiler.h"
#include "hocket/base/version.h"
#include "hocket/torch/symmetric_tensor.h"
#include "torch/symmetric_memory.h"

namespace hocket {

namespace py = pybind11;

namespace {

c10::intrusive_ptr<c10d::Backend> create_backend(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                                 std::chrono::milliseconds timeout, std::string name,
                                                 std::vector<std::int32_t> world_ranks) {
  return DistributedBackend::create({store, rank, size, timeout, std::move(name), std::move(world_ranks)});
}

at::Tensor symmetric_empty_in(const c10::intrusive_ptr<c10d::Backend>& backend, const std::vector<std::int64_t>& sizes,
                              at::ScalarType dtype) {
  const auto* const ours = dynamic_cast<const DistributedBackend*>(backend.get());
  TORCH_CHECK_VALUE(ours != nullptr, "symmetric_empty got a group of the back end ", backend->getBackendName(),
                    ", expected one of hocket: init_process_group(\"hocket\")");
  CallOptions call;
  call.site = CallSite{"", 0};
  return symmetric_empty_of(ours->communicator_of_memory(), sizes, at::TensorOptions().dtype(dtype), call);
}

}  // namespace

PYBIND11_MODULE(_C, m) {
  m.doc() = "hocket's compiled core; hocket has what users call";
  m.attr("version") = std::string(version());
  m.attr("torch_version") = HOCKET_TORCH_VERSION;
  m.def("create_backend", &create_backend, py::arg("store"), py::arg("rank"), py::arg("size"), py::arg("timeout"),
        py::arg("name"), py::arg("world_ranks"), py::call_guard<py::gil_scoped_release>());
  m.def("symmetric_empty", &symmetric_empty_in, py::arg("backend"), py::arg("sizes"), py::arg("dtype"),
        py::call_guard<py::gil_scoped_release>());
  py::class_<CompiledGraph>(m, "CompiledGraph", "A graph and what the compiler made of it.")
      .def("json", &CompiledGraph::json, py::call_guard<py::gil_scoped_release>())
      .def("summary", &CompiledGraph::summary)
      .def("page", &CompiledGraph::page, py::call_guard<py::gil_scoped_release>());
  py::register_exception<UnreadableGraph>(m, "UnreadableGraph", PyExc_ValueError);
  m.def(
      "compile_graph",
      [](const std::string& json, std::string passes, std::string machine, std::string memory_limit) {
        return compile_graph(json, {std::move(passes), std::move(machine), std::move(memory_limit)});
      },
      py::arg("json"), py::arg("passes"), py::arg("machine"), py::arg("memory_limit"),
      py::call_guard<py::gil_scoped_release>());
  m.def("is_symmetric", &is_symmetric, py::arg("tensor"));
}

}  // namespace hocket
