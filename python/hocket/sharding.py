"""Fully sharded data parallelism that a compiler sees.

FSDP2 (``fully_shard``) gathers parameters in hooks that run outside of what torch.compile compiles. Here they are gathered in the
forward itself, by a redistribution of DTensors (as SimpleFSDP does it), so that all communication is in the compiled graphs.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.nn.utils import parametrize


class _Gathered(torch.nn.Module):
    """What a layer reads when it reads its parameter: the whole one."""

    def forward(self, shard: DTensor) -> torch.Tensor:
        return shard.redistribute(placements=[Replicate()]).to_local(grad_placements=[Partial("avg")])

    def right_inverse(self, parameter: torch.Tensor) -> torch.Tensor:
        """Of a shard itself, when the parametrization is made."""
        return parameter


def shard_parameters(model: torch.nn.Module, mesh: DeviceMesh | None = None) -> torch.nn.Module:
    """Every rank keeps a part of every parameter, and gathers the whole ones in the forward; gradients are averaged and scattered.

    Args:
        model: is changed, and given back. All ranks have the same parameters in it.
        mesh: the ranks, in one dimension. Without: all.

    Make the optimizer after this. ``torch.compile`` the model under ``hocket.enable()`` to have the communication hidden.
    """
    if mesh is None:
        mesh = init_device_mesh(next(model.parameters()).device.type, (dist.get_world_size(),))
    if mesh.ndim != 1:
        raise ValueError(f"shard_parameters got a mesh of {mesh.ndim} dimensions, expected one: give it mesh[\"name\"]")
    for module in list(model.modules()):
        for name, parameter in list(module.named_parameters(recurse=False)):
            shard = distribute_tensor(parameter.detach(), mesh, [Shard(0)])
            setattr(module, name, torch.nn.Parameter(shard, requires_grad=parameter.requires_grad))
            parametrize.register_parametrization(module, name, _Gathered(), unsafe=True)
    return model
