"""dist.* with hocket and with gloo: the same processes, the same tensors, taking turns."""

import statistics
import time

import torch
import torch.distributed as dist

SIZES = [8, 64, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20]
QUICK_SIZES = [8, 1 << 10, 16 << 10, 256 << 10, 4 << 20]
SECONDS_FOR_A_TURN = 0.02


def operations(size_in_bytes, ranks):
    """{name: function of a group}; every tensor of `size_in_bytes`, or as close as can be divided."""
    count = max(size_in_bytes // 4 // ranks * ranks, ranks)
    whole, other = torch.ones(count), torch.ones(count)
    part = torch.ones(count // ranks)
    parts = list(torch.ones(count).chunk(ranks))
    return {
        "all_reduce": lambda group: dist.all_reduce(whole, group=group),
        "broadcast": lambda group: dist.broadcast(whole, 0, group=group),
        "all_gather_into_tensor": lambda group: dist.all_gather_into_tensor(whole, part, group=group),
        "all_gather": lambda group: dist.all_gather(parts, part, group=group),
        "reduce_scatter_tensor": lambda group: dist.reduce_scatter_tensor(part, whole, group=group),
        "all_to_all_single": lambda group: dist.all_to_all_single(other, whole, group=group),
    }


def turn(call, group, repeats):
    dist.barrier(group)
    start = time.perf_counter()
    for _ in range(repeats):
        call(group)
    return (time.perf_counter() - start) / repeats * 1e6


def measure(rank, options):
    """[(operation, bytes, hocket µs, gloo µs)], medians over turns of the slowest rank's means."""
    ranks = dist.get_world_size()
    groups = {"hocket": None, "gloo": dist.new_group(backend="gloo")}
    rows = []
    for size in QUICK_SIZES if options["quick"] else SIZES:
        for name, call in operations(size, ranks).items():
            times = {which: [] for which in groups}
            repeats = {which: _repeats(call, group) for which, group in groups.items()}
            for _ in range(options["turns"]):
                for which, group in groups.items():
                    times[which].append(turn(call, group, repeats[which]))
            row = torch.tensor([statistics.median(times[which]) for which in groups])
            dist.all_reduce(row, dist.ReduceOp.MAX)
            rows.append({"operation": name, "ranks": ranks, "bytes": size, "hocket_us": row[0].item(), "gloo_us": row[1].item()})
            if rank == 0:
                print(show(rows[-1]), flush=True)
    return rows


def _repeats(call, group):
    """The same on all ranks: as many calls as fill a turn."""
    call(group)
    took = torch.tensor([turn(call, group, 2) / 1e6])
    dist.all_reduce(took, dist.ReduceOp.MAX)
    return max(1, min(1000, int(SECONDS_FOR_A_TURN / took.item())))


def show(row):
    ratio = row["gloo_us"] / row["hocket_us"]
    return (
        f"{row['ranks']} ranks  {row['operation']:24} {row['bytes']:>10} B  hocket {row['hocket_us']:>10.1f} µs  "
        f"gloo {row['gloo_us']:>10.1f} µs  {ratio:>6.1f}x"
    )


def overhead(rank, options):
    """µs that one call takes a rank alone, in a group of one: what Python and the binding cost."""
    groups = {"hocket": dist.new_group([0]), "gloo": dist.new_group([0], backend="gloo")}
    if rank != 0:
        return []
    tensor = torch.ones(2)
    best = {which: float("inf") for which in groups}
    for _ in range(20):
        for which, group in groups.items():
            start = time.perf_counter()
            for _ in range(500):
                dist.all_reduce(tensor, group=group)
            best[which] = min(best[which], (time.perf_counter() - start) / 500 * 1e6)
    print(f"a call alone: hocket {best['hocket']:.2f} µs, gloo {best['gloo']:.2f} µs", flush=True)
    return [{"operation": "alone", **{f"{which}_us": value for which, value in best.items()}}]
