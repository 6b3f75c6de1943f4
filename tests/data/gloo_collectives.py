#!/usr/bin/env python3
"""What PyTorch's own functional collectives give, with gloo between two processes.

  gloo_collectives.py FOLDER

reads FOLDER/inputs.pt, a tensor of sizes [2, 4, 6] with the input of each rank, and writes FOLDER/results_0.pt and results_1.pt:
{name: tensor}. src/torch/pytorch_test.cpp compares hocket's with them.
"""

import faulthandler
import os
import pathlib
import sys

RANKS = 2
SECONDS_TO_ANSWER = 100
OUTPUT_SPLITS = [[1, 2], [3, 2]]
INPUT_SPLITS = [[1, 3], [2, 2]]


def gradient(torch, function, x):
    """Of a loss that gives every element of the result another weight."""
    x = x.detach().clone().requires_grad_()
    y = function(x)
    weights = torch.arange(y.numel(), dtype=y.dtype).view(y.shape) + 1
    return torch.autograd.grad((y * weights).sum(), x)[0]


def results(torch, fc, group, rank, x):
    splits = OUTPUT_SPLITS[rank], INPUT_SPLITS[rank]
    found = {
        "all_reduce sum": fc.all_reduce(x, "sum", group),
        "all_reduce max": fc.all_reduce(x, "max", group),
        "all_reduce of columns": fc.all_reduce(x.t(), "sum", group),
        "all_gather_tensor 0": fc.all_gather_tensor(x, 0, group),
        "all_gather_tensor 1": fc.all_gather_tensor(x, 1, group),
        "reduce_scatter_tensor 0": fc.reduce_scatter_tensor(x, "sum", 0, group),
        "reduce_scatter_tensor 1": fc.reduce_scatter_tensor(x, "sum", 1, group),
        "all_to_all_single": fc.all_to_all_single(x, None, None, group),
        "all_to_all_single splits": fc.all_to_all_single(x, *splits, group),
        "broadcast": fc.broadcast(x, 1, group),
        "permute_tensor": fc.permute_tensor(x.reshape(-1), [1, 0], group),
    }
    for i, y in enumerate(fc.all_reduce_coalesced([x, x.t()], "sum", group)):
        found[f"all_reduce_coalesced {i}"] = y
    for i, y in enumerate(fc.all_gather_into_tensor_coalesced([x, x[0]], group)):
        found[f"all_gather_into_tensor_coalesced {i}"] = y
    for i, y in enumerate(fc.reduce_scatter_tensor_coalesced([x, x], "sum", [0, 1], group)):
        found[f"reduce_scatter_tensor_coalesced {i}"] = y
    differentiated = {
        "all_gather_tensor": lambda x: fc.all_gather_tensor_autograd(x, 1, group),
        "reduce_scatter_tensor": lambda x: fc.reduce_scatter_tensor_autograd(x, "sum", 1, group),
        "all_to_all_single": lambda x: fc.all_to_all_single_autograd(x, *splits, group),
    }
    for name, function in differentiated.items():
        found[f"gradient of {name}"] = gradient(torch, function, x)
    return {name: y.wait() if hasattr(y, "wait") else y for name, y in found.items()}


def run(rank, folder):
    faulthandler.enable()
    faulthandler.dump_traceback_later(SECONDS_TO_ANSWER, exit=True)
    import torch
    import torch.distributed as dist
    import torch.distributed._functional_collectives as fc

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=RANKS)
    x = torch.load(folder / "inputs.pt")[rank]
    found = results(torch, fc, dist.group.WORLD, rank, x)
    torch.save({name: y.detach().contiguous() for name, y in found.items()}, folder / f"results_{rank}.pt")
    dist.destroy_process_group()


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    child = os.fork()
    run(1 if child == 0 else 0, folder)
    if child:
        _, status = os.waitpid(child, 0)
        sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
