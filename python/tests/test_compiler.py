"""hocket as a compiler of FX graphs: the same results, all ranks decide the same, what can't be done is left alone."""

import json

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
from ranks import preload, run
from torch.fx.experimental.proxy_tensor import make_fx

preload("hocket.compiler", "hocket.capturing")


WIDTH = 60  # for 2 and for 3 ranks


def wait(tensor):
    return torch.ops._c10d_functional.wait_tensor(tensor)


def gathered(tensor, size, group):
    return torch.ops._c10d_functional.all_gather_into_tensor(tensor, size, group)


def summed(tensor, group):
    return torch.ops._c10d_functional.all_reduce(tensor, "sum", group)


def sharded_layers(size, group, x, *shards):
    """Weights are gathered right before they are used, and gradients reduced right away: nothing overlaps."""
    for shard in shards:
        weight = wait(gathered(shard, size, group))
        x = torch.relu(torch.mm(x, weight))
    losses = [wait(summed(x * (number + 1), group)).sum() for number in range(4)]
    return x, torch.stack(losses)


def graph_of(function, *inputs):
    with torch.no_grad():
        return make_fx(function, tracing_mode="fake")(*inputs)


def example(rank, size):
    generator = torch.Generator().manual_seed(3 + rank)
    inputs = [torch.rand(32, WIDTH, generator=torch.Generator().manual_seed(1))]
    inputs += [torch.rand(WIDTH // size, WIDTH, generator=generator) - 0.5 for _ in range(5)]
    group = dist.group.WORLD.group_name
    return graph_of(lambda *tensors: sharded_layers(size, group, *tensors), *inputs), inputs


def same_results(rank, passes):
    import hocket

    module, inputs = example(rank, dist.get_world_size())
    before = module.code
    optimized = hocket.optimize(module, passes=passes, memory_limit="2x")
    assert module.code == before, "the module that was given has changed"
    assert optimized.code != before
    for ours, theirs in zip(optimized(*inputs), module(*inputs)):
        assert torch.equal(ours, theirs)
    report = hocket.report(optimized)
    assert report.summary["after"]["step_ms"] <= report.summary["before"]["step_ms"]
    return [report.summary[when]["collectives"] for when in ("before", "after")]


@pytest.mark.parametrize("passes", ["", "overlap(effort=fast,reorder_only=on)", "bucket_all_gather,sink_waits,raise_comms"])
def test_the_result_computes_the_same(passes):
    before, after = run(2, same_results, passes)[0]
    assert before == 9
    assert after < 9 if "bucket" in passes else after <= 9


def a_graph_without_collectives(rank):
    import hocket

    module = graph_of(lambda x: x + 1, torch.ones(3))
    assert "communicates nothing" in str(hocket.report(hocket.optimize(module)))


def sizes_that_are_not_known(rank):
    import hocket

    group = dist.group.WORLD.group_name
    module = make_fx(lambda x: wait(summed(x * 2, group)) + 1, tracing_mode="symbolic")(torch.ones(5, 3))
    optimized = hocket.optimize(module)
    assert "dynamic" in str(hocket.report(optimized))
    assert torch.equal(optimized(torch.ones(5, 3)), module(torch.ones(5, 3)))


def ranks_with_other_options(rank):
    import hocket

    module, _ = example(rank, 3)
    with pytest.raises(hocket.RanksDisagree, match="2 different programs: ranks 0, 2; rank 1"):
        passes = "bucket_all_gather(bucket_size_mb=100)" if rank == 1 else "sink_waits"
        hocket.optimize(module, passes=passes, memory_limit="4x")


def ranks_of_a_mesh(rank):
    """Each has a row and a column of its own."""
    import hocket

    mesh = dist.device_mesh.init_device_mesh("cpu", (2, 2), mesh_dim_names=("rows", "columns"))
    row, column = (mesh.get_group(name).group_name for name in ("rows", "columns"))
    inputs = [torch.full((8, 8), float(rank + 1)), torch.ones(8, 8)]
    module = graph_of(lambda x, y: wait(summed(x * 2, row)) @ wait(summed(y + x, column)), *inputs)
    assert torch.equal(hocket.optimize(module)(*inputs), module(*inputs))


def wrong_options(rank):
    import hocket

    module, _ = example(rank, 1)
    with pytest.raises(ValueError, match="no pass called overlapp"):
        hocket.optimize(module, passes="overlapp")
    with pytest.raises(ValueError, match="lower"):
        hocket.optimize(module, passes="lower")
    with pytest.raises(ValueError, match="nosuch"):
        hocket.optimize(module, machine="nosuch")


@pytest.mark.parametrize(
    ("size", "check"),
    [
        (1, a_graph_without_collectives),
        (2, sizes_that_are_not_known),
        (3, ranks_with_other_options),
        (1, wrong_options),
    ],
)
def test_what_can_not_be_done_is_said(size, check):
    run(size, check)


def test_ranks_that_share_one_group_of_two_agree():
    run(4, ranks_of_a_mesh)


def report_in_a_notebook(rank, folder):
    import hocket

    module, _ = example(rank, 1)
    report = hocket.report(module)
    assert report._repr_html_().startswith("<iframe srcdoc=")
    report.save(f"{folder}/page.html")
    assert "step" in str(report) and repr(report).startswith("<hocket.Report")


def test_a_report_shows_itself_and_is_written(tmp_path):
    run(1, report_in_a_notebook, str(tmp_path))
    assert (tmp_path / "page.html").read_text().lower().startswith("<!doctype html>")


def compiled_step(rank):
    import hocket

    torch._dynamo.reset()
    group = dist.group.WORLD

    def step(x, *weights):
        for weight in weights:
            full = funcol.all_gather_tensor(weight, 0, group)
            x = torch.relu(x @ full)
        return funcol.all_reduce(x, "sum", group) * 2

    generator = torch.Generator().manual_seed(rank)
    width = 8 * dist.get_world_size()
    inputs = [torch.rand(8, width)] + [torch.rand(8, width, generator=generator) - 0.5 for _ in range(3)]
    expected = step(*inputs)
    with hocket.enable(passes="overlap(effort=fast)"):
        result = torch.compile(step)(*inputs)
    torch.testing.assert_close(result, torch.as_tensor(expected))
    report = hocket.report()
    assert report.summary["before"]["collectives"] == 4
    assert torch._inductor.config.post_grad_custom_post_pass is None
    assert report.moved_by_inductor == []
    return json.dumps(report.summary["passes"][0]["pass"])


def compiled_with_sizes_that_are_not_known(rank):
    import hocket

    torch._dynamo.reset()
    group = dist.group.WORLD
    with hocket.enable():
        step = torch.compile(lambda x: funcol.all_reduce(x * 2, "sum", group) + 1, dynamic=True)
        for rows in (4, 5):
            assert torch.equal(torch.as_tensor(step(torch.ones(rows, 3))), torch.full((rows, 3), 4.0 * dist.get_world_size() / 2 + 1))
    assert "left as it is" in str(hocket.report()) and "dynamic" in hocket.report().note


def compiled_with_other_options(rank):
    import hocket

    torch._dynamo.reset()
    group = dist.group.WORLD

    def step(*weights):
        return [funcol.all_gather_tensor(weight, 0, group) * 2 for weight in weights]

    passes = "bucket_all_gather(bucket_size_mb=100)" if rank == 1 else "sink_waits"
    with hocket.enable(passes=passes, memory_limit="4x"), pytest.raises(Exception, match="rank 0; rank 1") as caught:
        torch.compile(step)(*[torch.ones(4, 4) for _ in range(3)])
    assert "RanksDisagree" in f"{type(caught.value)} {caught.value}"


@pytest.mark.long
@pytest.mark.parametrize("size", [2, 3, 4])
def test_torch_compile_uses_it(size):
    assert "overlap" in run(size, compiled_step)[0]


@pytest.mark.long
@pytest.mark.parametrize("check", [compiled_with_sizes_that_are_not_known, compiled_with_other_options])
def test_torch_compile_is_told(check):
    run(2, check)


def test_a_capture_needs_one_rank_only(tmp_path):
    run(1, captures, str(tmp_path), backend=None)


def captures(rank, folder):
    import gzip

    import hocket

    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    graphs = hocket.capture(model, torch.ones(2, 16), world_size=64, path=f"{folder}/step.json.gz")
    assert not dist.is_initialized()
    communicating = [graph for graph in graphs if graph["groups"]]
    assert communicating, [graph["name"] for graph in graphs]
    assert all(group["size"] == 64 for graph in communicating for group in graph["groups"])
    assert json.loads(gzip.open(f"{folder}/step.json.gz").read())["schema"] == "commgraph/1"
