"""Graphs of training and inference steps as files, for any number of ranks, on one machine and without a GPU."""

from __future__ import annotations

import contextlib
import gzip
import json
import logging
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch import fx
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._inductor.decomposition import select_decomp_table

from hocket import fx_json

log = logging.getLogger("hocket")

Parallelize = Callable[[torch.nn.Module], torch.nn.Module]
Visit = Callable[[fx.GraphModule, str], None]


@contextlib.contextmanager
def fake_world(size: int, rank: int = 0) -> Iterator[None]:
    """As if this were one of `size` ranks: PyTorch's fake process group, whose collectives do nothing."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    if dist.is_initialized():
        raise RuntimeError("capture() makes a fake process group, and this program has a real one: capture in another program")
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=size)
    try:
        yield
    finally:
        dist.destroy_process_group()


def data_parallel(model: torch.nn.Module) -> torch.nn.Module:
    """Every rank has the whole model, and gradients are averaged."""
    return torch.nn.parallel.DistributedDataParallel(model)


def capture(
    model: torch.nn.Module,
    *inputs: Any,
    world_size: int = 8,
    parallelize: Parallelize | None = data_parallel,
    training: bool = True,
    path: str | pathlib.Path | None = None,
) -> list[dict[str, Any]]:
    """The graphs of one step of a model, as one of `world_size` ranks runs it.

    Args:
        model: what is trained, on any device.
        inputs: an example of what it is called with.
        world_size: how many ranks there would be.
        parallelize: makes the model a distributed one; called when the (fake) ranks are there: ``hocket.shard_parameters``,
            or a function of yours that calls ``parallelize_module``. Without: every rank has the whole model (DDP).
            None: the model communicates of its own.
        training: forward and backward, of the sum of the result; off: forward alone.
        path: where to write the largest of the graphs: ``step.json``, or ``step.json.gz``. ``hocket opt`` reads it.

    Returns the graphs as JSON objects, schema commgraph/1, in the order in which they were compiled.
    """
    captured: list[dict[str, Any]] = []

    def keep(gm: fx.GraphModule, name: str) -> None:
        try:
            captured.append(fx_json.to_json(gm.graph, name))
        except fx_json.NotRepresentable as reason:
            log.warning("hocket leaves out the graph %s: %s", name, reason)

    visit_graphs(keep, model, *inputs, world_size=world_size, parallelize=parallelize, training=training)
    if not captured:
        raise RuntimeError("no graph was compiled: does the model compute anything?")
    if not any(graph["groups"] for graph in captured):
        log.warning(
            "the graphs that were captured communicate nothing: hooks as those of fully_shard() run outside of them; "
            "hocket.shard_parameters() communicates inside"
        )
    if path is not None:
        write(max(captured, key=lambda graph: len(graph["nodes"])), path)
    return captured


def write(graph: dict[str, Any], path: str | pathlib.Path) -> None:
    """Writes a graph as `hocket opt` reads it."""
    text = json.dumps(graph).encode()
    pathlib.Path(path).write_bytes(gzip.compress(text, mtime=0) if str(path).endswith(".gz") else text)


def visit_graphs(
    visit: Visit,
    model: torch.nn.Module,
    *inputs: Any,
    world_size: int = 8,
    parallelize: Parallelize | None = data_parallel,
    training: bool = True,
) -> None:
    """Calls visit(graph module, name) with every graph of one step, as capture() does, while the fake ranks are there."""

    def record(phase: str) -> Callable[[fx.GraphModule, Any], Any]:
        def compiler(gm: fx.GraphModule, _: Any) -> Any:
            visit(gm, f"{type(distributed).__name__}_{phase}")
            return make_boxed_func(gm.forward)

        return compiler

    # DistributedDataParallel asks when it is made whether its reductions are to be seen by the compiler. Layers of one class are
    # compiled once for each size, not once for all sizes.
    dynamo = torch._dynamo.config.patch(optimize_ddp="python_reducer", automatic_dynamic_shapes=False)
    torch._dynamo.reset()
    with fake_world(world_size), dynamo:
        distributed = model if parallelize is None else parallelize(model)
        try:
            _step(torch.compile(distributed, backend=_backend(record, "forward"), dynamic=False), inputs, training, record)
        finally:
            torch._dynamo.reset()


def _step(model: Callable[..., Any], inputs: tuple[Any, ...], training: bool, record: Callable[[str], Any]) -> None:
    if not training:
        with torch.no_grad():
            model(*inputs)
        return
    with torch._dynamo.compiled_autograd._enable(torch.compile(backend=_backend(record, "backward"), dynamic=False)):
        _sum(model(*inputs)).backward()


def _backend(record: Callable[[str], Any], phase: str) -> Any:
    """Compiled autograd compiles a backward pass as it compiles what needs no gradients."""
    return aot_autograd(
        fw_compiler=record("forward"),
        bw_compiler=record("backward"),
        inference_compiler=record(phase),
        decompositions=select_decomp_table(),
        partition_fn=min_cut_rematerialization_partition,
    )


def _sum(value: Any) -> torch.Tensor:
    return sum(tensor.sum() for tensor in fx_json.tensors_of(value) if tensor.requires_grad)
