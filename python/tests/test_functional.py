"""Functional collectives on hocket's groups: what PyTorch promises of them, against plain arithmetic."""

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
from ranks import preload, run

preload("torch.distributed._functional_collectives")

ops = torch.ops._c10d_functional


def wait(tensor):
    return ops.wait_tensor(tensor)


def name():
    return dist.group.WORLD.group_name


def total(size):
    """Of the ranks' numbers."""
    return size * (size - 1) / 2


def native_operators(rank):
    size = dist.get_world_size()
    given = torch.full((4, 4), float(rank))
    assert (wait(ops.all_reduce(given, "sum", name())) == total(size)).all()
    assert (given == rank).all(), "the input of an all_reduce that is not in place has changed"
    assert (wait(ops.all_reduce(given, "avg", name())) == total(size) / size).all()
    in_place = ops.all_reduce_(given.clone(), "sum", name())
    assert (wait(in_place) == total(size)).all()
    several = [torch.full((n,), float(rank + n)) for n in (1, 3)]
    for n, one in zip((1, 3), ops.all_reduce_coalesced(several, "sum", name())):
        assert (wait(one) == total(size) + n * size).all()
    for n, one in zip((1, 3), ops.all_reduce_coalesced_(several, "sum", name())):
        assert (wait(one) == total(size) + n * size).all()
    assert several[1][0] == total(size) + 3 * size
    gathered = wait(ops.all_gather_into_tensor(torch.full((2, 3), float(rank)), size, name()))
    assert gathered.shape == (2 * size, 3) and gathered[:, 0].tolist() == [r for r in range(size) for _ in range(2)]
    out = torch.empty(2 * size, 3)
    wait(ops.all_gather_into_tensor_out(torch.full((2, 3), float(rank)), size, name(), out=out))
    assert torch.equal(out, gathered)
    scattered = wait(ops.reduce_scatter_tensor(gathered, "sum", size, name()))
    assert torch.equal(scattered, torch.full((2, 3), float(rank * size)))
    for one in ops.reduce_scatter_tensor_coalesced([gathered, gathered * 2], "sum", size, name()):
        assert wait(one).shape == (2, 3)
    sent = wait(ops.broadcast(given, 1, name()))
    assert (sent == 1).all() and (given == rank).all()


def uneven_exchange(rank):
    size = dist.get_world_size()
    to_each = [rank + other + 1 for other in range(size)]
    rows = torch.cat([torch.full((count, 2), 10.0 * rank + other) for other, count in enumerate(to_each)])
    got = wait(ops.all_to_all_single(rows, [rank + other + 1 for other in range(size)], to_each, name()))
    expected = torch.cat([torch.full((rank + other + 1, 2), 10.0 * other + rank) for other in range(size)])
    assert torch.equal(got, expected)


def results_that_wait_by_themselves(rank):
    size = dist.get_world_size()
    result = funcol.all_reduce(torch.full((2, 6), float(rank)), "sum", dist.group.WORLD)
    assert isinstance(result, funcol.AsyncCollectiveTensor)
    view = result.view(3, 4)
    assert isinstance(view, funcol.AsyncCollectiveTensor), "a view needs no waiting"
    computed = view + 1
    assert not isinstance(computed, funcol.AsyncCollectiveTensor) and (computed == total(size) + 1).all()
    assert (result.trigger_wait() == total(size)).all()
    assert (wait(torch.ones(3)) == 1).all(), "waiting for what was never communicated gives it back"
    ops.all_reduce(torch.ones(1000), "sum", name())  # nobody waits for it
    dist.barrier()


def gradients(rank):
    size = dist.get_world_size()
    group = dist.group.WORLD
    x = torch.full((size, 3), float(rank), requires_grad=True)
    (funcol.all_to_all_single_autograd(x, None, None, group) * (rank + 1)).sum().backward()
    assert x.grad[:, 0].tolist() == [other + 1.0 for other in range(size)]
    y = torch.ones(2, 3, requires_grad=True)
    (funcol.all_gather_tensor_autograd(y, 0, group) * (rank + 1)).sum().backward()
    assert (y.grad == size * (size + 1) / 2).all()
    z = torch.ones(2 * size, 3, requires_grad=True)
    (funcol.reduce_scatter_tensor_autograd(z, "sum", 0, group) * (rank + 1)).sum().backward()
    assert z.grad[:, 0].tolist() == [other + 1.0 for other in range(size) for _ in range(2)]


def gathers_along_any_dimension(rank):
    size = dist.get_world_size()
    mine = torch.full((2, 3, 4), float(rank))
    for dim in range(3):
        whole = funcol.all_gather_tensor(mine, dim, dist.group.WORLD)
        assert torch.equal(torch.as_tensor(whole + 0), torch.cat([torch.full((2, 3, 4), float(r)) for r in range(size)], dim))
        part = funcol.reduce_scatter_tensor(whole, "sum", dim, dist.group.WORLD)
        assert torch.equal(torch.as_tensor(part + 0), torch.full((2, 3, 4), float(rank * size)))


def all_of_it(rank):
    for check in (native_operators, uneven_exchange, results_that_wait_by_themselves, gradients, gathers_along_any_dimension):
        check(rank)


@pytest.mark.parametrize("size", [2, pytest.param(3, marks=pytest.mark.long), pytest.param(4, marks=pytest.mark.long)])
def test_functional_collectives(size):
    run(size, all_of_it)
