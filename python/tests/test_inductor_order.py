"""The order that hocket chose is that of Inductor's generated code."""

import re

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
from ranks import preload, run

preload("hocket.compiler", "hocket.capturing")

CALL = re.compile(r"\s*(?:\w+ = )?(?:torch\.ops\._c10d_functional\.|extern_kernels\.|cpp_)(\w+)[.(]")


def calls(code):
    """What the generated code calls, in order."""
    return [found.group(1) for found in map(CALL.match, code.splitlines()) if found]


def hidden_product(group, x, y, shard):
    """Inductor would like to compute tanh and sigmoid at once, after the wait, and the product after them."""
    whole = funcol.all_gather_tensor(shard, 0, group)
    return torch.tanh(x) @ y, torch.sigmoid(x) * whole


def code_of(function, *inputs):
    from torch._inductor.utils import run_and_get_code

    torch._dynamo.reset()
    (code,) = run_and_get_code(torch.compile(function), *inputs)[1]
    return calls(code)


def work_stays_between_start_and_wait(rank):
    import hocket
    from hocket import inductor_order
    from hocket.capturing import fake_world

    with fake_world(8):
        group = dist.group.WORLD
        inputs = [torch.rand(512, 512), torch.rand(512, 512), torch.rand(64, 512)]
        with hocket.enable(machine="h100x8", memory_limit="2x"):
            found = code_of(lambda *tensors: hidden_product(group, *tensors), *inputs)
        order = [name for name in found if not name.startswith("fused")]
        assert order == ["all_gather_into_tensor", "mm", "wait_tensor"], found
        assert hocket.report().moved_by_inductor == []
        assert "keeps this order" in str(hocket.report())

        # What Inductor does of its own, and how that is told.
        with no_ties(inductor_order.OrderKeeper), hocket.enable(machine="h100x8", memory_limit="2x"):
            found = code_of(lambda *tensors: hidden_product(group, *tensors), *inputs)
        order = [name for name in found if not name.startswith("fused")]
        assert order == ["all_gather_into_tensor", "wait_tensor", "mm"], found
        assert hocket.report().moved_by_inductor == ["wait_tensor comes before mm"]
        assert "another order" in str(hocket.report()) and "wait_tensor comes before mm" in hocket.report().html()


def no_ties(keeper):
    from unittest import mock

    return mock.patch.object(keeper, "tie", lambda self, kernels: kernels)


def passes_of_others_stay(rank):
    import hocket
    from hocket.capturing import fake_world
    from torch._inductor import config

    seen = []
    with fake_world(2), config.patch(post_grad_custom_post_pass=lambda graph: seen.append(len(graph.nodes))):
        group = dist.group.WORLD
        with hocket.enable():
            torch.compile(lambda x: funcol.all_reduce(x * 2, "sum", group) + 1)(torch.ones(4))
        assert seen and callable(config.post_grad_custom_post_pass)
        assert not config.reorder_for_compute_comm_overlap and config._pre_fusion_custom_pass is None


@pytest.mark.long
@pytest.mark.parametrize("check", [work_stays_between_start_and_wait, passes_of_others_stay])
def test_order(check):
    run(1, check, backend=None, patience=300)
