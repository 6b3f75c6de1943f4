#!/usr/bin/env python3
"""gloo of PyTorch as a contestant: one process of this for each rank. It speaks the lines of protocol.h.

  contestant_gloo.py CONTROL AFFINITY RANK RANKS STORE       STORE is a file where the ranks meet
"""

import pathlib
import sys
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import rank_loop  # noqa: E402

WARM_UP_REPETITIONS = 2  # as rank_work.cpp


class Unable(Exception):
    """The contestant has no such operation."""


class Task:
    def __init__(self, words, ranks):
        self.kind, self.op = words[0], words[1]
        if words[3] != "private":
            raise Unable("has no symmetric memory")
        self.in_place, self.fill = words[4] == "in_place", words[5] == "fill"
        self.repetitions, self.batch = int(words[6]), int(words[7])
        whole = max(1, int(words[2]) // 4)
        part = max(1, whole // ranks)
        self.count = whole if self.op in ("all_reduce", "broadcast") else part
        self.input = part * ranks if self.op in ("reduce_scatter", "all_to_all") else self.count
        self.output = part * ranks if self.op in ("all_gather", "all_to_all") else self.count


class Rank:
    def __init__(self, rank, ranks):
        self.rank, self.ranks = rank, ranks
        self.release()

    def release(self):
        self.input = self.output = torch.empty(0)

    def prepare(self, task):
        if task.op == "barrier":
            return
        if self.input.numel() != task.input:
            self.input = torch.zeros(task.input)
        # all_reduce and broadcast of torch.distributed are in place and have no other form.
        if task.op in ("all_reduce", "broadcast"):
            self.output = self.input
        elif self.output is self.input or self.output.numel() != task.output:
            self.output = torch.zeros(task.output)

    def run(self, op, root=0):
        if op == "all_reduce":
            distributed.all_reduce(self.output)
        elif op == "all_gather":
            distributed.all_gather_into_tensor(self.output, self.input)
        elif op == "reduce_scatter":
            distributed.reduce_scatter_tensor(self.output, self.input)
        elif op == "all_to_all":
            distributed.all_to_all_single(self.output, self.input)
        elif op == "broadcast":
            distributed.broadcast(self.output, root)
        else:
            distributed.barrier()

    def values(self, rank, first, count):
        return (torch.arange(first, first + count) % 251 + 1000 * (rank + 1)).float()

    def expected(self, task):
        everyone = range(self.ranks)
        mine = self.rank * task.count
        if task.op == "all_reduce":
            return sum(self.values(rank, 0, task.count) for rank in everyone)
        if task.op == "reduce_scatter":
            return sum(self.values(rank, mine, task.count) for rank in everyone)
        if task.op == "all_gather":
            return torch.cat([self.values(rank, 0, task.count) for rank in everyone])
        if task.op == "all_to_all":
            return torch.cat([self.values(rank, mine, task.count) for rank in everyone])
        return self.values(0, 0, task.count)

    def check(self, task):
        self.prepare(task)
        if task.op != "barrier":
            self.output.fill_(-1)
            if task.op != "broadcast" or self.rank == 0:
                self.input.copy_(self.values(self.rank, 0, task.input))
        self.run("barrier")
        self.run(task.op)
        self.run("barrier")
        if task.op != "barrier" and not torch.equal(self.output, self.expected(task)):
            return f"failed wrong result of {task.op} with {task.input} elements on rank {self.rank}"
        return "fine"

    def measure(self, task):
        self.prepare(task)
        calls = root = 0
        times = []
        for repetition in range(-WARM_UP_REPETITIONS, task.repetitions):
            self.run("barrier")
            start = time.perf_counter_ns()
            for _ in range(task.batch):
                calls += 1
                if task.op == "broadcast":
                    root = calls % self.ranks
                if task.fill and task.op != "barrier" and (task.op != "broadcast" or self.rank == root):
                    self.input.fill_(calls)
                self.run(task.op, root)
            took = time.perf_counter_ns() - start
            if repetition >= 0:
                times.append(took / task.batch)
        self.run("barrier")
        return "times " + " ".join(f"{ns:.1f}" for ns in times)

    def answer(self, words):
        if words[0] == "release":
            self.release()
            return "fine"
        try:
            task = Task(words, self.ranks)
            return self.check(task) if task.kind == "check" else self.measure(task)
        except Unable as problem:
            return f"unable {problem}"
        except (NotImplementedError, RuntimeError) as problem:
            kind = "unable" if "support" in str(problem) else "failed"
            return f"{kind} {problem}".splitlines()[0]


def main():
    global torch, distributed
    path, affinity, rank, ranks, store = sys.argv[1:]
    rank, ranks = int(rank), int(ranks)
    rank_loop.start_watchdog()
    rank_loop.bind_to_cores(affinity, rank)
    warnings.filterwarnings("ignore")
    import torch
    import torch.distributed as distributed

    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks)
    rank_loop.serve(path, rank, Rank(rank, ranks).answer)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
