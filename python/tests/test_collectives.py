"""Every collective of torch.distributed, compared with what gloo gives for the same tensors."""

import pytest
import torch
import torch.distributed as dist
from ranks import run

SHAPES = [(1,), (3,), (0,), (5, 7), (1000,), (257, 129), (300_001,)]
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.int64, torch.int32, torch.int8, torch.uint8]


def made(shape, dtype, seed):
    """Small whole numbers, whose sums are exact in every type."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 4, shape, generator=generator).to(dtype)


def same(ours, theirs, what):
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape or not torch.equal(ours, theirs):
        raise AssertionError(f"{what}: hocket gave {ours.flatten()[:8]}, gloo {theirs.flatten()[:8]}")


def for_each_case(check):
    """check(shape, dtype, seed, groups) for every case; groups are hocket's and gloo's of all ranks."""
    groups = [None, dist.new_group(backend="gloo")]
    seed = 0
    for dtype in FLOATS + INTEGERS + [torch.bool]:
        for shape in SHAPES if dtype in (torch.float32, torch.int64) else SHAPES[2:5]:
            seed += 1
            check(shape, dtype, seed * 100, groups)


def all_reduces(rank):
    def check(shape, dtype, seed, groups):
        ops = [dist.ReduceOp.SUM, dist.ReduceOp.PRODUCT, dist.ReduceOp.MIN, dist.ReduceOp.MAX]
        if dtype in INTEGERS:
            ops += [dist.ReduceOp.BAND, dist.ReduceOp.BOR, dist.ReduceOp.BXOR]
        for op in ops:
            tensors = [made(shape, dtype, seed + rank) for _ in groups]
            for tensor, group in zip(tensors, groups):
                dist.all_reduce(tensor, op, group=group)
            same(*tensors, f"all_reduce {op} {dtype} {shape}")

    for_each_case(check)


def broadcasts_and_reduces(rank):
    def check(shape, dtype, seed, groups):
        for root in range(dist.get_world_size()):
            tensors = [made(shape, dtype, seed + rank) for _ in groups]
            for tensor, group in zip(tensors, groups):
                dist.broadcast(tensor, root, group=group)
            same(*tensors, f"broadcast {dtype} {shape}")
            tensors = [made(shape, dtype, seed + rank) for _ in groups]
            for tensor, group in zip(tensors, groups):
                dist.reduce(tensor, root, group=group)
            if rank == root:
                same(*tensors, f"reduce {dtype} {shape}")
            else:
                same(tensors[0], made(shape, dtype, seed + rank), "the input of a reduce to another rank")

    for_each_case(check)


def gathers(rank):
    size = dist.get_world_size()

    def check(shape, dtype, seed, groups):
        mine = made(shape, dtype, seed + rank)
        lists = [[torch.empty_like(mine) for _ in range(size)] for _ in groups]
        whole = [torch.empty((size * shape[0], *shape[1:]), dtype=dtype) for _ in groups]
        for i, group in enumerate(groups):
            dist.all_gather(lists[i], mine, group=group)
            dist.all_gather_into_tensor(whole[i], mine, group=group)
        for ours, theirs in zip(*lists):
            same(ours, theirs, f"all_gather {dtype} {shape}")
        same(*whole, f"all_gather_into_tensor {dtype} {shape}")
        for root in range(size):
            lists = [[torch.empty_like(mine) for _ in range(size)] if rank == root else None for _ in groups]
            for gathered, group in zip(lists, groups):
                dist.gather(mine, gathered, root, group=group)
            for ours, theirs in zip(*lists) if rank == root else []:
                same(ours, theirs, f"gather {dtype} {shape}")

    for_each_case(check)


def scatters(rank):
    size = dist.get_world_size()

    def check(shape, dtype, seed, groups):
        parts = [made(shape, dtype, seed + 7 * rank + i) for i in range(size)]
        for root in range(size):
            got = [torch.empty(shape, dtype=dtype) for _ in groups]
            for out, group in zip(got, groups):
                dist.scatter(out, parts if rank == root else None, root, group=group)
            same(*got, f"scatter {dtype} {shape}")
        if dtype == torch.bool:
            return
        got = [torch.empty(shape, dtype=dtype) for _ in range(2)]
        dist.reduce_scatter(got[0], parts)
        dist.reduce_scatter_tensor(got[1], torch.cat([part.reshape(-1) for part in parts]).reshape(-1))
        summed = torch.stack(parts)
        dist.all_reduce(summed, group=groups[1])
        same(got[0], summed[rank], f"reduce_scatter {dtype} {shape}")
        same(got[1], summed[rank], f"reduce_scatter_tensor {dtype} {shape}")

    for_each_case(check)


def exchanges(rank):
    size = dist.get_world_size()

    def check(shape, dtype, seed, groups):
        parts = [made(shape, dtype, seed + 7 * rank + i) for i in range(size)]
        lists = [[torch.empty_like(part) for part in parts] for _ in range(1)]
        dist.all_to_all(lists[0], parts)
        for source, ours in enumerate(lists[0]):
            same(ours, made(shape, dtype, seed + 7 * source + rank), f"all_to_all {dtype} {shape}")
        whole = torch.cat([part.reshape(-1) for part in parts])
        got = torch.empty_like(whole)
        dist.all_to_all_single(got, whole)
        same(got, torch.cat([part.reshape(-1) for part in lists[0]]), f"all_to_all_single {dtype} {shape}")

    for_each_case(check)


def uneven_exchange(rank):
    size = dist.get_world_size()
    sent = [(rank * 3 + to) % 5 for to in range(size)]  # 0 among them
    got = [(source * 3 + rank) % 5 for source in range(size)]
    rows = [torch.full((sent[to], 3), 10.0 * rank + to) for to in range(size)]
    output = torch.empty(sum(got), 3)
    dist.all_to_all_single(output, torch.cat(rows), got, sent)
    expected = torch.cat([torch.full((got[source], 3), 10.0 * source + rank) for source in range(size)])
    same(output, expected, "all_to_all_single with splits")
    lists = [torch.empty(got[source], 3) for source in range(size)]
    dist.all_to_all(lists, rows)
    same(torch.cat(lists), expected, "all_to_all of different sizes")


def operations_that_gloo_has_not(rank):
    size = dist.get_world_size()
    tensor = torch.arange(1000.0) * (rank + 1)
    dist.all_reduce(tensor, dist.ReduceOp.AVG)
    torch.testing.assert_close(tensor, torch.arange(1000.0) * (size + 1) / 2)
    tensor = torch.full((5,), 1.0 + rank)
    dist.all_reduce(tensor, dist._make_nccl_premul_sum(0.5))
    torch.testing.assert_close(tensor, torch.full((5,), size * (size + 1) / 4))


def other_layouts_and_types(rank):
    size = dist.get_world_size()
    square = made((6, 8), torch.float32, 5 + rank).t()
    expected = square.clone() * 0
    for other in range(size):
        expected += made((6, 8), torch.float32, 5 + other).t()
    dist.all_reduce(square)
    same(square, expected, "a transposed tensor")
    every_second = made((20,), torch.int32, rank)[::2]
    outputs = [torch.zeros(size * 3, 10, dtype=torch.int32)[::3][i] for i in range(size)]
    dist.all_gather(outputs, every_second)
    for other in range(size):
        same(outputs[other], made((20,), torch.int32, other)[::2], "every second element")
    large = made((400, 300), torch.float32, rank)
    outputs = [large if i == rank else torch.zeros(300, 400).t() for i in range(size)]
    dist.all_gather(outputs, large, async_op=True).wait()
    for other in range(size):
        same(outputs[other], made((400, 300), torch.float32, other), "large transposed tensors, and the input itself")
    complex_numbers = torch.complex(torch.full((3,), 1.0 + rank), torch.full((3,), 2.0))
    dist.all_reduce(complex_numbers)
    same(complex_numbers, torch.complex(torch.full((3,), size * (size + 1) / 2), torch.full((3,), 2.0 * size)), "complex")
    for dtype in (torch.uint16, torch.float8_e4m3fn, torch.float8_e5m2, torch.uint64):
        bits = torch.full((9,), rank + 1, dtype=torch.uint8).repeat(dtype.itemsize).view(dtype)
        dist.broadcast(bits, size - 1)
        assert (bits.view(torch.uint8) == size).all(), f"broadcast of {dtype}"


def objects(rank):
    size = dist.get_world_size()
    everyone = [None] * size
    dist.all_gather_object(everyone, {"rank": rank, "name": "x" * rank})
    assert everyone == [{"rank": r, "name": "x" * r} for r in range(size)]
    things = [["from", rank], None] if rank == 1 else [None, None]
    dist.broadcast_object_list(things, 1)
    assert things == [["from", 1], None]
    got = [None]
    dist.scatter_object_list(got, [f"for {r}" for r in range(size)] if rank == 0 else None, 0)
    assert got == [f"for {rank}"]


@pytest.mark.parametrize(
    "check",
    [
        all_reduces,
        broadcasts_and_reduces,
        gathers,
        scatters,
        exchanges,
        uneven_exchange,
        operations_that_gloo_has_not,
        other_layouts_and_types,
        objects,
    ],
)
@pytest.mark.parametrize("size", [2, pytest.param(3, marks=pytest.mark.long), pytest.param(4, marks=pytest.mark.long)])
def test_results_are_those_of_gloo(check, size):
    run(size, check)


def test_three_ranks_give_the_results_of_gloo():
    run(3, three_ranks)


def three_ranks(rank):
    for check in (uneven_exchange, other_layouts_and_types, operations_that_gloo_has_not, objects):
        check(rank)


def test_a_rank_alone_is_a_world_too():
    run(1, alone)


def alone(rank):
    tensor = torch.arange(3.0)
    dist.all_reduce(tensor)
    assert tensor.tolist() == [0, 1, 2]
    gathered = [torch.empty(3)]
    dist.all_gather(gathered, tensor)
    assert gathered[0].tolist() == [0, 1, 2]
    dist.barrier()
