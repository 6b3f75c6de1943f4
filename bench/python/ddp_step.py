"""A training step of a small GPT with DistributedDataParallel, over hocket and over gloo, taking turns."""

import statistics
import time

import torch
import torch.distributed as dist
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        y = self.norms[0](x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.norms[1](x))


class SmallGpt(nn.Module):
    def __init__(self, width=256, layers=4, words=512):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.blocks = nn.Sequential(*[Block(width, 4) for _ in range(layers)])
        self.head = nn.Linear(width, words)

    def forward(self, tokens):
        return self.head(self.blocks(self.words(tokens)))


def measure(rank, options):
    """Medians in ms, and whether both gave the same parameters."""
    groups = {"hocket": None, "gloo": dist.new_group(backend="gloo")}
    models, optimizers, times = {}, {}, {which: [] for which in groups}
    for which, group in groups.items():
        torch.manual_seed(7)
        models[which] = nn.parallel.DistributedDataParallel(SmallGpt(), process_group=group)
        optimizers[which] = torch.optim.SGD(models[which].parameters(), 1e-2)
    for step in range(options["steps"]):
        tokens = torch.randint(0, 512, (4, 64), generator=torch.Generator().manual_seed(100 * step + rank))
        for which in groups:
            dist.barrier()
            start = time.perf_counter()
            loss = nn.functional.cross_entropy(models[which](tokens).flatten(0, 1), tokens.flatten())
            optimizers[which].zero_grad()
            loss.backward()
            optimizers[which].step()
            times[which].append((time.perf_counter() - start) * 1e3)
    apart = max(
        (a - b).abs().max().item() for a, b in zip(models["hocket"].parameters(), models["gloo"].parameters())
    )
    row = {"operation": "ddp_step", "ranks": dist.get_world_size(), "difference": apart}
    row |= {f"{which}_ms": statistics.median(times[which][2:]) for which in groups}
    if rank == 0:
        print(
            f"{row['ranks']} ranks  DDP step of a GPT 4x256: hocket {row['hocket_ms']:.1f} ms, gloo {row['gloo_ms']:.1f} ms, "
            f"parameters apart by {apart:.2g}",
            flush=True,
        )
    return [row]
