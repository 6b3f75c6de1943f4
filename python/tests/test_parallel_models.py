"""DDP, FSDP2, DTensor, tensor parallelism and experts: on hocket's groups as on gloo's, and compiled as not compiled."""

import pytest
import torch
from parallel_models import MODELS, train
from ranks import preload, run

preload("parallel_models")


def same(ours, theirs):
    for (our_losses, our_sums), (losses, sums) in zip(ours, theirs, strict=True):
        torch.testing.assert_close(torch.tensor(our_losses), torch.tensor(losses))
        torch.testing.assert_close(torch.tensor(our_sums), torch.tensor(sums))


def train_all(rank):
    return {kind: train(rank, kind) for kind in MODELS}


@pytest.mark.parametrize("size", [2, pytest.param(4, marks=pytest.mark.long)])
def test_training_gives_what_it_gives_over_gloo(size):
    ours, theirs = run(size, train_all), run(size, train_all, backend="gloo")
    for kind in MODELS:
        same([one[kind] for one in ours], [one[kind] for one in theirs])
        losses = ours[0][kind][0]
        assert losses[0] != losses[1] != losses[2], "nothing was learned"


def compiled(rank, kind, options):
    import hocket

    torch._dynamo.reset()
    before = len(hocket.reports())
    with hocket.enable(**options):
        result = train(rank, kind, torch.compile)
    return result, [str(one) for one in hocket.reports()[before:]]


# FSDP2's own hooks stay outside of the compiled graphs, which then communicate nothing.
COMPILED = {
    "data_parallel": {"ddp": True},
    "fully_sharded": {},
    "simply_sharded": {},
    "tensor_parallel": {},
    "mixture_of_experts": {},
}


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "size"),
    [*((kind, 2) for kind in MODELS), ("data_parallel", 3), ("mixture_of_experts", 3), ("simply_sharded", 4), ("tensor_parallel", 4)],
)
def test_compiled_training_gives_what_it_gives_without(kind, size):
    found = run(size, compiled, kind, COMPILED[kind], patience=500)
    same([one[0] for one in found], run(size, train, kind))
    if kind != "fully_sharded":
        assert any("collectives" in report for report in found[0][1]), "hocket saw no communication"
    for _, reports in found:
        assert all("keeps this order" in report for report in reports), reports
