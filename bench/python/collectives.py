"""dist.* with hocket and with gloo: the same processes, the same tensors, taking turns."""

import time

import torch
import torch.distributed as dist

import hocket

SIZES = [8, 64, 1 << 10, 4 << 10, 15 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20]
QUICK_SIZES = [8, 1 << 10, 64 << 10, 1 << 20]
SECONDS_FOR_A_TURN = 0.01  # after the other's turn the scheduler takes milliseconds to spread the ranks over the cores again


def operations(size_in_bytes, ranks):
    """{name: function of a group}; the larger tensor of each has `size_in_bytes`, or as close as can be divided."""
    count = max(size_in_bytes // 4 // ranks * ranks, ranks)
    whole, other = torch.ones(count), torch.ones(count)
    part = torch.ones(count // ranks)
    parts = [torch.ones(count // ranks) for _ in range(ranks)]
    symmetric = hocket.symmetric_empty(count).fill_(1.0)
    return {
        "all_reduce": lambda group: dist.all_reduce(whole, group=group),
        "all_reduce, symmetric": lambda group: dist.all_reduce(symmetric if group is None else whole, group=group),
        "broadcast": lambda group: dist.broadcast(whole, 0, group=group),
        "all_gather": lambda group: dist.all_gather(parts, part, group=group),
        "all_gather_single": lambda group: dist.all_gather_single(whole, part, group=group),
        "reduce_scatter_single": lambda group: dist.reduce_scatter_single(part, whole, group=group),
        "all_to_all_single": lambda group: dist.all_to_all_single(other, whole, group=group),
    }


def turn(call, group, repeats):
    """µs of one call, by the mean of so many."""
    dist.barrier()
    start = time.perf_counter()
    for _ in range(repeats):
        call(group)
    return (time.perf_counter() - start) / repeats * 1e6


def measure(rank, options):
    """Rows of the best turn of each, as the slowest rank saw it: what else the machine does only ever adds."""
    groups = {"hocket": None, "gloo": dist.new_group(backend="gloo")}
    rows = [_compare(rank, "barrier", 0, lambda group: dist.barrier(group), groups, options)]
    for size in QUICK_SIZES if options["quick"] else SIZES:
        for name, call in operations(size, dist.get_world_size()).items():
            rows.append(_compare(rank, name, size, call, groups, options))
    return rows


def _compare(rank, name, size, call, groups, options):
    repeats = {which: _repeats(call, group) for which, group in groups.items()}
    best = torch.full((len(groups),), float("inf"))
    for _ in range(options["turns"]):
        took = torch.tensor([turn(call, group, repeats[which]) for which, group in groups.items()])
        dist.all_reduce(took, dist.ReduceOp.MAX)
        best = torch.minimum(best, took)
    row = {"operation": name, "ranks": dist.get_world_size(), "bytes": size}
    row |= {"hocket_us": best[0].item(), "gloo_us": best[1].item()}
    if rank == 0:
        print(show(row), flush=True)
    return row


def _repeats(call, group):
    """The same on all ranks: as many calls as fill a turn."""
    call(group)
    took = torch.tensor([turn(call, group, 2) / 1e6])
    dist.all_reduce(took, dist.ReduceOp.MAX)
    return max(1, min(500, int(SECONDS_FOR_A_TURN / took.item())))


def show(row):
    ratio = row["gloo_us"] / row["hocket_us"]
    return (
        f"{row['ranks']} ranks  {row['operation']:24} {row['bytes']:>10} B  hocket {row['hocket_us']:>10.1f} µs  "
        f"gloo {row['gloo_us']:>10.1f} µs  {ratio:>6.1f}x"
    )


# ---------------------------------------------------------------------------------------- what Python and the binding cost

CALLS = 200


def overhead(rank, options):
    """µs that a rank spends in Python, c10d and the binding, where nobody else is waited for.

    `call`: a whole all_reduce in a group of one. `start`: an all_reduce of two ranks with async_op, until it returns; waiting for
    it is not counted. Both are the best of many turns of the slower rank, and hocket is allowed OVERHEAD_US more than gloo.
    """
    rows = [_overhead_of_calls(rank, options), _overhead_of_starts(options)]
    if rank == 0:
        for row in rows:
            print(f"{row['operation']:12} hocket {row['hocket_us']:.2f} µs, gloo {row['gloo_us']:.2f} µs", flush=True)
    return rows


def _overhead_of_calls(rank, options):
    alone = [{"hocket": dist.new_group([one]), "gloo": dist.new_group([one], backend="gloo")} for one in range(2)][rank]
    tensor = torch.ones(2)
    return _best_of("call", alone, lambda group: _seconds(lambda: dist.all_reduce(tensor, group=group)), options)


def _seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _overhead_of_starts(options):
    groups = {"hocket": None, "gloo": dist.new_group(backend="gloo")}
    tensor = torch.ones(2)

    def start_and_wait(group):
        start = time.perf_counter()
        work = dist.all_reduce(tensor, group=group, async_op=True)
        took = time.perf_counter() - start
        work.wait()
        return took

    return _best_of("start", groups, start_and_wait, options)


def _best_of(name, groups, timed, options):
    best = torch.full((len(groups),), float("inf"))
    for _ in range(4 * options["turns"]):
        took = torch.tensor([sum(timed(group) for _ in range(CALLS)) / CALLS * 1e6 for group in groups.values()])
        best = torch.minimum(best, took)
    dist.all_reduce(best, dist.ReduceOp.MAX)
    return {"operation": name, "hocket_us": best[0].item(), "gloo_us": best[1].item()}
