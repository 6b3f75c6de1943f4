"""Small models in the ways in which PyTorch's users make them parallel, and a training step of each."""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

import hocket

WIDTH = 32
BATCH = 12  # which 2, 3 and 4 ranks share evenly
STEPS = 3


class Layer(nn.Module):
    def __init__(self, width=WIDTH):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


def layers(count=2):
    torch.manual_seed(5)
    return nn.Sequential(*[Layer() for _ in range(count)])


# ---------------------------------------------------------------------------------------- ways to make it parallel


def data_parallel():
    return nn.parallel.DistributedDataParallel(layers())


def fully_sharded():
    model = layers()
    for layer in model:
        fully_shard(layer)
    return fully_shard(model)


def simply_sharded():
    """SimpleFSDP's way: parameters are sharded DTensors, and a redistribution in the forward gives the whole ones."""
    return hocket.shard_parameters(layers())


def tensor_parallel():
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = layers()
    for layer in model:
        parallelize_module(layer, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    return model


class Experts(nn.Module):
    """Every rank has one expert; tokens go to the rank of theirs and come back."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(7)
        self.router = nn.Linear(WIDTH, WIDTH)
        torch.manual_seed(100 + dist.get_rank())
        self.expert = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        group = dist.group.WORLD
        sent = funcol.all_to_all_single_autograd(self.router(x), None, None, group)
        return x + funcol.all_to_all_single_autograd(torch.tanh(self.expert(sent)), None, None, group)


def mixture_of_experts():
    return nn.Sequential(Experts(), Experts())


# What each rank reads: its own part, or the same on all.
OWN_BATCH = {"data_parallel", "fully_sharded", "simply_sharded", "mixture_of_experts"}
MODELS = {
    one.__name__: one for one in (data_parallel, fully_sharded, simply_sharded, tensor_parallel, mixture_of_experts)
}


# ---------------------------------------------------------------------------------------- training


def batch(kind, step, rank):
    seed = 10 * step + (rank if kind in OWN_BATCH else 0)
    return torch.rand(BATCH, WIDTH, generator=torch.Generator().manual_seed(seed))


def train(rank, kind, compile_with=None):
    """Some steps; gives the losses and the sums of all parameters, as this rank has them."""
    model = MODELS[kind]()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    # Gradients of DistributedDataParallel are reduced in the backward pass that compiled autograd sees.
    whole_step = kind == "data_parallel"
    forward = model if compile_with is None or whole_step else compile_with(model)

    def step(x):
        loss = forward(x).square().mean()
        loss.backward()
        return loss

    run = compile_with(step) if compile_with is not None and whole_step else step
    losses = []
    for number in range(STEPS):
        losses.append(run(batch(kind, number, rank)).item())
        optimizer.step()
        optimizer.zero_grad()
    return losses, [local(one).double().abs().sum().item() for one in model.parameters()]


def local(tensor):
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor.detach()
