"""Runs a function on several ranks, each a process of its own, and gives back what they return.

    assert run(2, sum_of_ranks) == [1, 1]

The processes are forked from one that has imported PyTorch, which takes seconds, once.
"""

import datetime
import multiprocessing
import os
import queue
import tempfile
import time
import traceback

SECONDS = 120
BETWEEN_LOOKS = 0.5

_context = multiprocessing.get_context("forkserver")
_modules = ["torch", "torch.distributed", "hocket", "numpy"]
_context.set_forkserver_preload(_modules)


def preload(*modules):
    """Imports these once for all ranks, not on each: for a test file that needs them, before its first run()."""
    _modules.extend(modules)
    _context.set_forkserver_preload(_modules)


class RankFailed(AssertionError):
    """What went wrong on which rank."""


def _rank(rank, size, store_file, options, function, arguments, results):
    os.environ["OMP_NUM_THREADS"] = "1"
    import torch
    import torch.distributed as dist

    import hocket  # noqa: F401

    torch.set_num_threads(1)
    try:
        backend = options.get("backend", "hocket")
        if backend is not None:
            dist.init_process_group(
                backend,
                store=dist.FileStore(store_file, size),
                rank=rank,
                world_size=size,
                timeout=datetime.timedelta(seconds=options.get("timeout", SECONDS / 2)),
            )
        value = function(rank, *arguments)
        if dist.is_initialized() and not options.get("leaves", False):
            dist.barrier()
            dist.destroy_process_group()
        results.put((rank, None, value))
    except BaseException:
        results.put((rank, traceback.format_exc(), None))


def run(size, function, *arguments, **options):
    """The result of each rank. `options`: backend, timeout in seconds, leaves (the group is not left together), patience in seconds."""
    results = _context.Queue()
    with tempfile.TemporaryDirectory() as folder:
        processes = [
            _context.Process(
                target=_rank, args=(rank, size, f"{folder}/store", options, function, arguments, results), daemon=True
            )
            for rank in range(size)
        ]
        for process in processes:
            process.start()
        values, complaints = _collect(processes, results, options.get("patience", SECONDS))
        for process in processes:
            process.join(5)
            if process.is_alive():
                process.kill()
    if complaints:
        raise RankFailed("\n".join(complaints))
    return [values[rank] for rank in range(size)]


def _collect(processes, results, patience):
    """What each rank has put there, or complaints of those that have not, or have failed."""
    values, complaints = {}, []
    size = len(processes)
    end = time.monotonic() + patience
    while len(values) + len(complaints) < size:
        ended = all(process.exitcode is not None for process in processes)
        try:
            rank, trace, value = results.get(timeout=BETWEEN_LOOKS)
        except queue.Empty:
            if not ended and time.monotonic() < end:
                continue
            missing = size - len(values) - len(complaints)
            how = "which has ended" if ended else f"in {patience} s"
            complaints.append(f"nothing came from {missing} of {size} ranks, {how}")
            break
        if trace is None:
            values[rank] = value
        else:
            complaints.append(f"rank {rank}:\n{trace}")
    return values, complaints
