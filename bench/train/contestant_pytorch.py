#!/usr/bin/env python3
"""PyTorch with gloo as a contestant of `./hk bench train`: one process of this for each rank. It speaks the lines of contestant_train.cpp
and has the models of models.cpp.

  contestant_pytorch.py CONTROL AFFINITY RANK RANKS      MASTER_ADDR and MASTER_PORT say where the ranks meet
"""

import math
import pathlib
import sys
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import rank_loop  # noqa: E402

LEARNING_RATE = 0.01  # as ways.cpp

rank, ranks = int(sys.argv[3]), int(sys.argv[4])
rank_loop.bind_to_cores(sys.argv[2], rank)
warnings.filterwarnings("ignore")

import torch  # noqa: E402
import torch.distributed as distributed  # noqa: E402
from torch import nn  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.distributed.fsdp import fully_shard  # noqa: E402
from torch.nn import functional  # noqa: E402


class Mlp(nn.Module):
    width, depth, batch = 1024, 6, 32

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(self.width, self.width) for _ in range(self.depth))

    def forward(self, x, expected):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return functional.mse_loss(x, expected)

    def batch_of(self, rank):
        x = (torch.arange(self.batch * self.width, dtype=torch.double) * 0.1 + rank).sin().view(self.batch, self.width)
        return x.float(), x.cos().float()

    def units(self):
        return list(self.layers)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before_attention = nn.LayerNorm(width)
        self.before_mixing = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.projection = nn.Linear(width, width)
        self.widen = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)

    def forward(self, x):
        batch, context, width = x.shape
        parts = self.qkv(self.before_attention(x)).split(width, -1)
        q, k, v = (part.view(batch, context, self.heads, width // self.heads).transpose(1, 2) for part in parts)
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = x + self.projection(attended.transpose(1, 2).reshape(batch, context, width))
        return y + self.narrow(functional.gelu(self.widen(self.before_mixing(y))))


class Gpt(nn.Module):
    batch, context = 4, 128

    def __init__(self, layers, width):
        super().__init__()
        self.vocabulary = 8 * width
        self.characters = nn.Embedding(self.vocabulary, width)
        self.places = nn.Embedding(self.context, width)
        self.last = nn.LayerNorm(width)
        self.head = nn.Linear(width, self.vocabulary, bias=False)
        for i in range(layers):
            setattr(self, f"block_{i}", Block(width, width // 64))
        self.layers = layers

    def forward(self, text, expected):
        x = self.characters(text) + self.places.weight
        for block in self.units():
            x = block(x)
        return functional.cross_entropy(self.head(self.last(x)).view(-1, self.vocabulary), expected.view(-1))

    def batch_of(self, rank):
        count = self.batch * (self.context + 1)
        text = ((torch.arange(count) * 7 + rank * 13) % self.vocabulary).view(self.batch, self.context + 1)
        return text[:, :-1].contiguous(), text[:, 1:].contiguous()

    def units(self):
        return [getattr(self, f"block_{i}") for i in range(self.layers)]


def convolution(inputs, outputs, size, stride):
    return nn.Conv2d(inputs, outputs, size, stride=stride, padding=size // 2, bias=False)


class ResidualBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first = convolution(inputs, outputs, 3, stride)
        self.second = convolution(outputs, outputs, 3, 1)
        self.first_norm = nn.BatchNorm2d(outputs)
        self.second_norm = nn.BatchNorm2d(outputs)
        self.has_shortcut = stride != 1 or inputs != outputs
        if self.has_shortcut:
            self.shortcut = convolution(inputs, outputs, 1, stride)
            self.shortcut_norm = nn.BatchNorm2d(outputs)

    def forward(self, x):
        y = self.second_norm(self.second(torch.relu(self.first_norm(self.first(x)))))
        return torch.relu(y + (self.shortcut_norm(self.shortcut(x)) if self.has_shortcut else x))


class ResNet(nn.Module):
    width, batch, pixels, classes = 32, 8, 32, 10

    def __init__(self):
        super().__init__()
        self.stem = convolution(3, self.width, 3, 1)
        self.stem_norm = nn.BatchNorm2d(self.width)
        self.blocks = nn.ModuleList()
        self.head = nn.Linear(8 * self.width, self.classes)
        inputs = self.width
        for stage in range(4):
            outputs = self.width << stage
            self.blocks.append(ResidualBlock(inputs, outputs, 1 if stage == 0 else 2))
            self.blocks.append(ResidualBlock(outputs, outputs, 1))
            inputs = outputs

    def forward(self, x, expected):
        x = torch.relu(self.stem_norm(self.stem(x)))
        for block in self.blocks:
            x = block(x)
        return functional.cross_entropy(self.head(x.mean((2, 3))), expected)

    def batch_of(self, rank):
        count = self.batch * 3 * self.pixels * self.pixels
        x = (torch.arange(count, dtype=torch.double) * 0.1 + rank).sin()
        return x.view(self.batch, 3, self.pixels, self.pixels).float(), (torch.arange(self.batch) * 3 + rank) % self.classes

    def units(self):
        return list(self.blocks)


MODELS = {"mlp": Mlp, "gpt_4x256": lambda: Gpt(4, 256), "gpt_8x512": lambda: Gpt(8, 512), "resnet": ResNet}


def noise(count, start):
    return ((torch.arange(count, dtype=torch.double) * 12.9898 + start).sin() * 43758.5453).remainder(1.0) * 2 - 1


def set_weights(model):
    with torch.no_grad():
        for number, (name, parameter) in enumerate(model.named_parameters()):
            waves = noise(parameter.numel(), number).view(parameter.shape)
            if parameter.dim() == 1 and name.endswith("weight"):
                parameter.copy_(1 + waves * 0.1)
            else:
                parameter.copy_(waves * (0.8 / math.sqrt(parameter.numel() // parameter.shape[0])))


class Way:
    def __init__(self, name, model):
        self.model = MODELS[model]()
        set_weights(self.model)
        self.batch = self.model.batch_of(rank)
        if name == "fsdp":
            mesh = init_device_mesh("cpu", (ranks,))
            for unit in self.model.units():
                fully_shard(unit, mesh=mesh)
            fully_shard(self.model, mesh=mesh)
            self.forward = self.model
        elif name == "ddp":
            self.forward = nn.parallel.DistributedDataParallel(self.model, gradient_as_bucket_view=True)
        else:
            raise ValueError(f"no way {name}: ddp, fsdp")
        self.optimizer = torch.optim.SGD(self.model.parameters(), LEARNING_RATE)
        self.loss = self.step()

    def step(self):
        self.optimizer.zero_grad()
        loss = self.forward(*self.batch)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def run(self, steps):
        times = []
        distributed.barrier()
        for _ in range(steps):
            start = time.perf_counter_ns()
            self.loss = self.step()
            times.append(time.perf_counter_ns() - start)
        return times


def numbers(values):
    return "times " + " ".join(f"{value:.9g}" for value in values)


def answer_to(words, ways):
    verb, name = words[0], words[1]
    if verb == "make":
        ways[name] = Way(name, words[2])
        return "fine"
    if verb == "drop":
        del ways[name]
        return "fine"
    if verb == "tell":
        return numbers([ways[name].loss * 1e9])
    return numbers(ways[name].run(int(words[2])))


def answer_or_failure(words, ways):
    try:
        return answer_to(words, ways)
    except Exception as problem:  # noqa: BLE001  whatever it is, the driver says it
        return f"failed {type(problem).__name__}: {problem}".splitlines()[0]


def main():
    rank_loop.start_watchdog()
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", rank=rank, world_size=ranks)
    ways = {}
    rank_loop.serve(sys.argv[1], rank, lambda words: answer_or_failure(words, ways))
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
