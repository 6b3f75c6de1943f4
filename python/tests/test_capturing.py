"""Graphs of parallel models for many ranks, captured by one process."""

import collections
import gzip
import json
import os
import subprocess

import parallel_models
import pytest
import torch
import torch.distributed as dist
from ranks import preload, run

preload("parallel_models", "hocket.compiler", "hocket.capturing")


def kinds(graphs):
    return dict(collections.Counter(node["coll"]["kind"] for graph in graphs for node in graph["nodes"] if "coll" in node))


PARAMETERS = 2 * 6  # of two layers
EXPECTED = {
    "simply_sharded": {"all_gather": PARAMETERS, "reduce_scatter": PARAMETERS},
    "data_parallel": {"all_reduce": PARAMETERS},
    "fully_sharded": {},  # its hooks are not compiled
    "tensor_parallel": {"all_reduce": 4},
    "mixture_of_experts": {"all_to_all": 8},
}


def capture(rank, kind, path, training):
    import hocket

    graphs = hocket.capture(
        torch.nn.Identity(),
        torch.rand(8, 32),
        world_size=8,
        parallelize=lambda _: parallel_models.MODELS[kind](),
        training=training,
        path=path,
    )
    assert not dist.is_initialized()
    assert all(group["size"] == 8 for graph in graphs for group in graph["groups"])
    return kinds(graphs), [graph["name"].rpartition("_")[2] for graph in graphs]


@pytest.mark.parametrize(
    "kind", [kind if kind == "simply_sharded" else pytest.param(kind, marks=pytest.mark.long) for kind in EXPECTED]
)
def test_the_communication_is_there(kind, tmp_path):
    path = tmp_path / "step.json.gz"
    ((found, phases),) = run(1, capture, kind, str(path), True, backend=None)
    assert found == EXPECTED[kind]
    assert set(phases) == {"forward", "backward"}
    graph = json.loads(gzip.open(path).read())
    assert graph["schema"] == "commgraph/1" and graph["world_size"] == 8
    tool = os.environ.get("HOCKET_TEST_TOOL")
    if tool is None:
        pytest.skip("HOCKET_TEST_TOOL does not say where the command hocket is")
    done = subprocess.run([tool, "opt", path], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_inference_has_no_gradients():
    ((found, phases),) = run(1, capture, "simply_sharded", None, False, backend=None)
    assert found == {"all_gather": PARAMETERS}
    assert phases == ["forward"]


def a_real_group_is_there(rank):
    import hocket

    with pytest.raises(RuntimeError, match="capture in another program"):
        hocket.capture(torch.nn.Linear(2, 2), torch.ones(1, 2))


def test_a_program_with_ranks_is_told_to_capture_elsewhere():
    run(1, a_real_group_is_there)
