"""The back end "hocket" of torch.distributed.

Importing hocket registers it::

    dist.init_process_group("hocket")

Ranks of one host communicate through shared memory. Ranks of several hosts do so inside their hosts, and through gloo between them.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

from hocket import _C


def register() -> None:
    """Makes the back end known to torch.distributed. Importing hocket does it."""
    dist.Backend.register_backend("hocket", create, extended_api=True, devices=["cpu"])
    _let_monitored_barrier_through()


def create(options: Any, group_options: Any = None) -> Any:
    """What torch.distributed calls for every group of this back end."""
    if group_options is not None:
        raise ValueError(
            f"the back end hocket has no options of its own, got {type(group_options).__name__}: leave pg_options out"
        )
    return _C.create_backend(
        options.store,
        options.group_rank,
        options.group_size,
        options.timeout,
        options.group_id,
        list(options.global_ranks_in_group),
    )


def backend_of(group: dist.ProcessGroup | None = None) -> Any:
    """hocket's part of a group, also where TORCH_DISTRIBUTED_DEBUG=DETAIL has wrapped it."""
    group = group or distributed_c10d._get_default_group()
    backend = group._get_backend(torch.device("cpu"))
    while hasattr(backend, "wrapped_pg"):
        backend = backend.wrapped_pg
    return backend


def symmetric_empty(
    *size: int | Sequence[int], dtype: torch.dtype | None = None, group: dist.ProcessGroup | None = None
) -> torch.Tensor:
    """A tensor in memory that all ranks of the group on one host see: its collectives copy nothing in.

    Collective over the group: all ranks ask for the same size and dtype, in the same order, and have let go of the same ones
    before. The content is undefined, as with torch.empty().
    """
    sizes = list(size[0]) if len(size) == 1 and isinstance(size[0], Sequence) else list(size)
    return _C.symmetric_empty(backend_of(group), sizes, dtype or torch.get_default_dtype())


def is_symmetric(tensor: torch.Tensor) -> bool:
    """Does its memory come from symmetric_empty()?"""
    return _C.is_symmetric(tensor)


def _let_monitored_barrier_through() -> None:
    """torch.distributed.monitored_barrier() asks for the name gloo before it asks the group; hocket's groups can do it, too."""
    original = distributed_c10d.monitored_barrier
    if getattr(original, "knows_hocket", False):
        return

    @functools.wraps(original)
    def monitored_barrier(group: Any = dist.GroupMember.WORLD, timeout: Any = None, wait_all_ranks: bool = False) -> None:
        if distributed_c10d._rank_not_in_group(group) or dist.get_backend(group) != "hocket":
            return original(group, timeout, wait_all_ranks)
        if timeout is None:
            timeout = distributed_c10d._get_default_timeout(dist.get_backend(group))
        elif isinstance(timeout, (int, float)):
            timeout = datetime.timedelta(seconds=timeout)
        distributed_c10d._check_valid_timeout(timeout)
        chosen = group or distributed_c10d._get_default_group()
        return chosen.monitored_barrier(timeout, wait_all_ranks=wait_all_ranks)

    monitored_barrier.knows_hocket = True  # type: ignore[attr-defined]
    distributed_c10d.monitored_barrier = monitored_barrier
    dist.monitored_barrier = monitored_barrier
