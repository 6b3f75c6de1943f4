"""What a process group has beyond the values of its collectives: order, futures, groups, messages, timeouts, failures."""

import datetime
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
import torch
import torch.distributed as dist
from ranks import run


def asynchronous_calls(rank):
    size = dist.get_world_size()
    tensors = [torch.full((n,), float(rank + 1)) for n in (1, 100, 70_000, 3)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    for work, tensor in zip(reversed(works), reversed(tensors)):
        assert work.wait()
        assert work.is_completed() and work.is_success()
        assert (tensor == size * (size + 1) / 2).all()
    blocking = torch.ones(5)
    late = dist.all_reduce(tensors[2], async_op=True)
    dist.all_reduce(blocking)
    late.wait()
    assert blocking.tolist() == [size] * 5


def futures(rank):
    size = dist.get_world_size()
    tensor = torch.full((1000,), float(rank))
    future = dist.all_reduce(tensor, async_op=True).get_future()
    half = future.then(lambda done: done.value()[0] / 2)
    assert torch.equal(half.wait(), torch.full((1000,), size * (size - 1) / 4))
    # A callback may itself wait for a communication.
    second = torch.ones(3)
    chained = dist.all_reduce(torch.ones(3), async_op=True).get_future().then(
        lambda done: dist.all_reduce(second, async_op=True).get_future().wait()[0] + done.value()[0]
    )
    assert chained.wait().tolist() == [2.0 * size] * 3
    gathered = [torch.empty(2, 2).t() for _ in range(size)]  # not in one piece
    future = dist.all_gather(gathered, torch.full((2, 2), float(rank)), async_op=True).get_future()
    future.wait()
    assert [int(one[0, 1]) for one in gathered] == list(range(size))


def many_futures(rank):
    # Threads that complete futures let go of tensors, for which they need the interpreter's lock: it may be taken by one that asks for
    # the next future.
    for _ in range(400):
        futures(rank)


def groups_side_by_side(rank):
    halves = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    mine, odd = halves[rank // 2], dist.new_group([1, 3])
    again = dist.new_group([0, 1, 2, 3])
    tensor = torch.tensor([float(rank)])
    dist.all_reduce(tensor, group=mine)
    assert tensor.item() == (1, 5)[rank // 2]
    # The same ranks, in two groups, in another order on each rank.
    a, b = torch.ones(10), torch.full((10,), 2.0)
    calls = [lambda: dist.all_reduce(a, group=again, async_op=True), lambda: dist.all_reduce(b, async_op=True)]
    works = [call() for call in (calls if rank % 2 == 0 else reversed(calls))]
    for work in works:
        work.wait()
    assert a[0] == 4 and b[0] == 8
    if rank % 2 == 1:
        dist.barrier(odd)
        got = torch.zeros(1)
        dist.broadcast(tensor if rank == 3 else got, 3, group=odd)
        assert rank == 3 or got.item() == 5
    for group in (mine, odd, again):
        if group != dist.GroupMember.NON_GROUP_MEMBER:
            dist.destroy_process_group(group)
    for _ in range(3):  # names of destroyed groups come again
        group = dist.new_group([0, 1, 2, 3], use_local_synchronization=True)
        one = torch.ones(1)
        dist.all_reduce(one, group=group)
        assert one.item() == 4
        dist.destroy_process_group(group)


def meshes(rank):
    mesh = dist.device_mesh.init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    tensor = torch.tensor([float(rank)])
    dist.all_reduce(tensor, group=mesh.get_group("tp"))
    assert tensor.item() == (1, 5)[rank // 2]
    dist.all_reduce(tensor, group=mesh.get_group("dp"))
    assert tensor.item() == 6


def messages(rank):
    size = dist.get_world_size()
    right, left = (rank + 1) % size, (rank - 1) % size
    got = torch.zeros(100, 3)
    operations = [
        dist.P2POp(dist.irecv, got, left, tag=3),
        dist.P2POp(dist.isend, torch.full((100, 3), float(rank)), right, tag=3),
    ]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    assert (got == left).all()
    if rank == 0:
        dist.send(torch.arange(6).reshape(2, 3).t(), 1)
        dist.send(torch.tensor([5]), 1, tag=9)
    elif rank == 1:
        later = torch.zeros(1, dtype=torch.int64)
        work = dist.irecv(later, 0, tag=9)
        transposed = torch.zeros(2, 3, dtype=torch.int64).t()
        assert dist.recv(transposed, 0) == 0
        assert transposed.tolist() == [[0, 3], [1, 4], [2, 5]]
        work.wait()
        assert later.item() == 5


def messages_from_anyone(rank):
    size = dist.get_world_size()
    if rank != 0:
        for number in range(20):
            dist.send(torch.tensor([rank * 100 + number]), 0)
        dist.send(torch.full((100_000,), rank), 0, tag=4)
        return
    seen = {other: [] for other in range(1, size)}
    for _ in range(20 * (size - 1)):
        got = torch.zeros(1, dtype=torch.int64)
        seen[dist.recv(got)].append(got.item())
    assert seen == {other: [other * 100 + number for number in range(20)] for other in range(1, size)}
    large = torch.zeros(100_000, dtype=torch.int64)
    for _ in range(size - 1):
        assert dist.recv(large, tag=4) == large[0] == large[-1]


def coalesced(rank):
    size = dist.get_world_size()
    tensors = [torch.full((n,), float(rank)) for n in (1, 2, 300)]
    with dist._coalescing_manager():
        for tensor in tensors:
            dist.all_reduce(tensor)
    assert all((tensor == size * (size - 1) / 2).all() for tensor in tensors)
    inputs = [torch.full((n,), float(rank)) for n in (2, 5)]
    outputs = [torch.zeros(size * n) for n in (2, 5)]
    with dist._coalescing_manager(async_ops=True) as manager:
        for output, one in zip(outputs, inputs):
            dist.all_gather_into_tensor(output, one)
    manager.wait()
    assert outputs[1].reshape(size, 5)[:, 0].tolist() == list(range(size))
    shards = [torch.zeros(n) for n in (2, 5)]
    with dist._coalescing_manager():
        for shard, one in zip(shards, outputs):
            dist.reduce_scatter_tensor(shard, one)
    assert shards[0].tolist() == [rank * size] * 2
    with dist._coalescing_manager(device=torch.device("cpu"), async_ops=True) as manager:
        dist.broadcast(tensors[2], 0)
        dist.all_gather([torch.empty(2) for _ in range(size)], shards[0])
    manager.wait()


def functional(rank):
    import torch.distributed._functional_collectives as funcol

    size = dist.get_world_size()
    group = dist.group.WORLD
    summed = funcol.all_reduce(torch.full((4, 4), float(rank)), "sum", group)
    assert (summed + 0 == size * (size - 1) / 2).all()
    gathered = funcol.all_gather_tensor(torch.full((2, 3), float(rank)), 1, group)
    assert gathered.shape == (2, 3 * size) and gathered[0, -1] == size - 1
    scattered = funcol.reduce_scatter_tensor(torch.ones(2 * size), "avg", 0, group)
    assert scattered.tolist() == [1.0, 1.0]
    exchanged = funcol.all_to_all_single(torch.arange(size) + 10 * rank, None, None, group)
    assert exchanged.tolist() == [10 * other + rank for other in range(size)]
    several = funcol.all_reduce_coalesced([torch.ones(2), torch.ones(3)], "sum", group)
    assert [one.tolist() for one in several] == [[size] * 2, [size] * 3]
    several = funcol.all_gather_into_tensor_coalesced([torch.ones(2), torch.ones(3)], group)
    assert [one.numel() for one in several] == [2 * size, 3 * size]
    several = funcol.reduce_scatter_tensor_coalesced([torch.ones(2 * size), torch.ones(size)], "sum", [0, 0], group)
    assert [one.tolist() for one in several] == [[size] * 2, [size]]


def sparse_tensors(rank):
    size = dist.get_world_size()
    places = torch.tensor([[0, rank + 1], [1, rank]])
    tensor = torch.sparse_coo_tensor(places, torch.tensor([1.0, 2.0 + rank]), (size + 1, size + 1))
    expected = torch.zeros(size + 1, size + 1)
    expected[0, 1] = size
    for other in range(size):
        expected[other + 1, other] += 2.0 + other
    dist.all_reduce(tensor)
    assert torch.equal(tensor.to_dense(), expected)
    empty = torch.sparse_coo_tensor(torch.zeros(1, 0, dtype=torch.int64), torch.zeros(0, 3), (4, 3))
    dist.all_reduce(empty)
    assert empty._nnz() == 0


def with_every_check_of_pytorch(rank):
    """What TORCH_DISTRIBUTED_DEBUG=DETAIL does: groups are wrapped, and compare what ranks call before they do."""
    import hocket

    store = dist.distributed_c10d._get_default_store()
    dist.destroy_process_group()
    dist.set_debug_level(dist.DebugLevel.DETAIL)
    dist.init_process_group("hocket", store=dist.PrefixStore("detail", store), rank=rank, world_size=2)
    assert dist.get_backend() == "hocket"
    tensor = torch.ones(5)
    dist.all_reduce(tensor)
    dist.all_reduce(tensor, async_op=True).wait()
    assert tensor[0] == 4
    symmetric = hocket.symmetric_empty(100)
    symmetric.fill_(1)
    dist.all_reduce(symmetric)
    assert symmetric[99] == 2
    dist.monitored_barrier()
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    model(torch.ones(1, 2)).sum().backward()
    raises(RuntimeError, lambda: dist.all_reduce(torch.ones(3 + rank)), "Detected mismatch between collectives on ranks")


def names_of_pytorch_2_13(rank):
    size = dist.get_world_size()
    whole = torch.empty(size * 2)
    dist.all_gather_single(whole, torch.full((2,), float(rank)))
    assert whole.tolist() == [float(other) for other in range(size) for _ in range(2)]
    part = torch.empty(2)
    dist.reduce_scatter_single(part, whole)
    assert part.tolist() == [float(rank * size)] * 2


def symmetric_tensors(rank):
    import hocket

    size = dist.get_world_size()
    tensor = hocket.symmetric_empty(300, 70, dtype=torch.float64)
    assert hocket.is_symmetric(tensor) and not hocket.is_symmetric(torch.ones(3))
    tensor.fill_(rank + 1)
    dist.all_reduce(tensor)
    assert (tensor == size * (size + 1) / 2).all()
    group = dist.new_group(list(range(size)))
    whole = hocket.symmetric_empty((size, 50), group=group)
    dist.all_gather_into_tensor(whole, torch.full((50,), float(rank)), group=group)
    assert whole[:, 3].tolist() == list(range(size))


@pytest.mark.parametrize(
    ("size", "check"),
    [
        (2, asynchronous_calls),
        (3, futures),
        (3, many_futures),
        (4, groups_side_by_side),
        (4, meshes),
        (3, messages),
        (3, messages_from_anyone),
        (3, coalesced),
        (2, functional),
        (3, sparse_tensors),
        (2, symmetric_tensors),
        (2, names_of_pytorch_2_13),
    ],
)
def test_works(size, check):
    run(size, check)


# ---------------------------------------------------------------------------------------- failures


def raises(kind, call, *words):
    start = time.monotonic()
    with pytest.raises(kind) as caught:
        call()
    for word in words:
        assert word in str(caught.value), f"no {word!r} in: {caught.value}"
    return time.monotonic() - start


def different_calls(rank):
    tensor = torch.ones(3 + rank)
    raises(dist.DistBackendError, lambda: dist.all_reduce(tensor), "all_reduce(f32[3], sum)", "all_reduce(f32[4], sum)")
    # Every later call says the same; nobody hangs.
    raises(dist.DistBackendError, lambda: dist.barrier(), "failed before")


def wrong_arguments(rank):
    raises(ValueError, lambda: dist.all_gather_into_tensor(torch.empty(3), torch.ones(2)), "expected 2 for each of the 2 ranks")
    raises(ValueError, lambda: dist.all_reduce(torch.ones(3), dist.ReduceOp.BAND), "works on bits")
    raises(ValueError, lambda: dist.all_reduce(torch.ones(3).to(torch.float8_e5m2)), "float8")
    raises(ValueError, lambda: dist.all_to_all_single(torch.ones(3), torch.ones(3)), "3 rows")
    dist.barrier()


def a_rank_that_does_not_come(rank):
    if rank == 0:
        took = raises(
            dist.DistBackendError,
            lambda: dist.barrier(timeout=datetime.timedelta(milliseconds=300)),
            "rank 1",
            "did not come within 300 ms",
        )
        assert took < 5
        work = dist.irecv(torch.zeros(1), 1)
        raises(dist.DistBackendError, lambda: work.wait(datetime.timedelta(milliseconds=50)), "still goes on")
        dist.distributed_c10d._get_default_store().set("rank 1 may go", "")
    else:
        dist.distributed_c10d._get_default_store().wait(["rank 1 may go"])


def a_rank_that_dies(rank):
    dist.barrier()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    work = dist.all_reduce(torch.ones(5), async_op=True)
    took = raises(dist.DistBackendError, work.wait, "rank 1", "killed by signal 9")
    assert took < 5
    assert work.is_completed() and not work.is_success() and "rank 1" in str(work.exception())
    raises(Exception, lambda: work.get_future().wait(), "rank 1")
    return True


def monitored_barriers(rank):
    dist.monitored_barrier()
    dist.monitored_barrier(timeout=datetime.timedelta(seconds=30), wait_all_ranks=True)
    half_a_second = datetime.timedelta(milliseconds=500)
    if rank == 0:
        raises(
            dist.DistBackendError,
            lambda: dist.monitored_barrier(timeout=half_a_second, wait_all_ranks=True),
            "Ranks 1, 2 failed to pass monitoredBarrier in 500 ms",
        )
    elif rank == 3:
        raises(dist.DistBackendError, lambda: dist.monitored_barrier(timeout=half_a_second), "while waiting for send/recv from rank 0")


def test_ranks_that_call_something_else_are_told_of_both_calls():
    run(2, different_calls, leaves=True)


def test_wrong_arguments_are_an_error_of_one_rank_and_the_group_goes_on():
    run(2, wrong_arguments)


def test_a_rank_that_does_not_come_is_named_at_the_timeout():
    run(2, a_rank_that_does_not_come, leaves=True)


def test_a_rank_that_was_killed_is_named_at_once():
    from ranks import RankFailed

    with pytest.raises(RankFailed, match="nothing came from 1 of 2 ranks, which has ended"):
        run(2, a_rank_that_dies, leaves=True)


def test_a_monitored_barrier_names_who_is_missing():
    run(4, monitored_barriers, leaves=True)


def test_a_group_that_was_destroyed_says_so():
    run(2, destroyed, leaves=True)


def destroyed(rank):
    group = dist.group.WORLD
    backend = group._get_backend(torch.device("cpu"))
    dist.barrier()
    dist.destroy_process_group()
    raises(RuntimeError, lambda: backend.barrier().wait(), "was shut down")


# ---------------------------------------------------------------------------------------- the ways in

SCRIPT = """
    import torch, torch.distributed as dist, hocket
    dist.init_process_group("hocket")
    tensor = torch.ones(10) * (dist.get_rank() + 1)
    dist.all_reduce(tensor)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
    model(torch.ones(1, 3)).sum().backward()
    # In one piece: both ranks write to the same place.
    print(f"rank {dist.get_rank()} has {tensor[0].item()} {dist.get_backend()}\\n", end="")
    dist.destroy_process_group()
"""


@pytest.mark.parametrize("debug", ["OFF", pytest.param("DETAIL", marks=pytest.mark.long)])
def test_torchrun_needs_nothing_more_than_the_name(tmp_path, debug):
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(SCRIPT))
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(script)],
        env={**os.environ, "TORCH_DISTRIBUTED_DEBUG": debug, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(line for line in done.stdout.splitlines() if line.startswith("rank")) == [
        "rank 0 has 3.0 hocket",
        "rank 1 has 3.0 hocket",
    ]


def test_the_debug_level_detail_works():
    run(2, with_every_check_of_pytorch, leaves=True)


def test_groups_of_a_program_whose_default_group_is_another():
    run(3, beside_gloo, backend="gloo")


def beside_gloo(rank):
    group = dist.new_group([0, 2], backend="hocket")
    if rank != 1:
        tensor = torch.tensor([rank + 1.0])
        dist.all_reduce(tensor, group=group)
        assert tensor.item() == 4


def test_a_world_comes_again_after_it_was_destroyed():
    run(2, twice)


def twice(rank):
    store = dist.distributed_c10d._get_default_store()
    dist.barrier()
    dist.destroy_process_group()
    for _ in range(3):
        dist.init_process_group("hocket", store=store, rank=rank, world_size=2)
        one = torch.ones(1)
        dist.all_reduce(one)
        assert one.item() == 2
        dist.destroy_process_group()
    dist.init_process_group("hocket", store=store, rank=rank, world_size=2)
