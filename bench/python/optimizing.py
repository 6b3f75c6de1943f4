"""hocket.optimize() against PyTorch's own schedule_overlap_bucketing, on graphs that are captured here."""

import copy
import logging
import time
from unittest import mock

import estimates
import torch
import two_lanes
from ddp_step import SmallGpt
from torch._inductor.fx_passes import overlap_scheduling
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

import hocket
from hocket.capturing import data_parallel, visit_graphs

WORLD = 8
RUNS = 3  # the quickest counts


def tensor_parallel(model):
    mesh = init_device_mesh("cpu", (WORLD,))
    for block in model.blocks:
        parallelize_module(block.mlp, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    return model


WAYS = {"sharded": hocket.shard_parameters, "tensor parallel": tensor_parallel, "data parallel": data_parallel}


def of_pytorch(gm, **options):
    """With our times: its own model of computation asks for a GPU."""
    with mock.patch.object(overlap_scheduling, "estimate_roofline_runtime_ms", estimates.estimate):
        return overlap_scheduling.schedule_overlap_bucketing(
            gm,
            custom_runtime_estimation=lambda node, _: estimates.estimate(node),
            compute_estimator="analytical",
            max_memory_increase_gb=None,
            max_memory_increase_ratio=MEMORY - 1,
            **options,
        )


MEMORY = 1.05  # PyTorch's own limit
CONTESTANTS = {
    "hocket": lambda gm: hocket.optimize(
        gm, machine="h100x8", memory_limit=f"{MEMORY}x", estimate=estimates.estimate, agree=False
    ),
    "pytorch": lambda gm: of_pytorch(gm, pre_bucketing_fsdp_collectives=False),
    "pytorch_buckets": lambda gm: of_pytorch(gm, collective_bucketing=True),
}


def compare(gm, name):
    """CPU seconds that each takes, and what step comes out."""
    row = {"operation": "optimize", "graph": name, "nodes": len(gm.graph.nodes), "original_ms": two_lanes.step_ms(gm.graph)}
    for who, optimize in CONTESTANTS.items():
        try:
            row[f"{who}_s"], row[f"{who}_ms"] = min(_once(gm, optimize) for _ in range(RUNS))
        except Exception as error:
            row[f"{who}_failed"] = f"{type(error).__name__}: {error}"[:200]
    print(show(row), flush=True)
    return row


def _once(gm, optimize):
    theirs = copy.deepcopy(gm)
    start = time.process_time()
    result = optimize(theirs)
    return time.process_time() - start, two_lanes.step_ms(result.graph)


def show(row):
    parts = [
        f"{who}: failed" if f"{who}_failed" in row else f"{who} {row[f'{who}_ms']:.3f} ms in {row[f'{who}_s']:.2f} s"
        for who in CONTESTANTS
    ]
    return f"{row['graph']} ({row['nodes']} nodes), a step takes {row['original_ms']:.3f} ms: " + ", ".join(parts)


def measure(rank, options):
    """Rows for the graphs of each way to be parallel that communicate."""
    logging.getLogger("torch._inductor").setLevel(logging.ERROR)
    rows = []
    layers = 2 if options["quick"] else 8
    for way, parallelize in list(WAYS.items())[: 1 if options["quick"] else None]:

        def visit(gm, name, way=way):
            if any(node.op == "call_function" and estimates.fx_json.collective_kind(node) for node in gm.graph.nodes):
                rows.append(compare(gm, f"{way}, {name.rpartition('_')[2]}"))

        torch.manual_seed(3)
        tokens = torch.randint(0, 512, (2, 32))
        visit_graphs(visit, SmallGpt(layers=layers), tokens, world_size=WORLD, parallelize=parallelize)
    return rows
