"""Do all ranks that communicate with each other want to do it in the same order?"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d


class RanksDisagree(RuntimeError):
    """Ranks that communicate with each other have decided differently."""


def check_agreement(groups: list[str], decided: dict[str, Any]) -> None:
    """Collective over the groups, in this order: raises RanksDisagree on all ranks of one where some have decided something else."""
    if not dist.is_initialized():
        return
    for name in groups:
        group = distributed_c10d._resolve_process_group(name)
        if dist.get_backend(group) == "fake" or torch.device("cpu") not in group._device_types:
            continue
        digest = hashlib.sha256(communication_of(decided, name).encode()).digest()
        mine = torch.tensor(list(digest), dtype=torch.uint8)
        everyone = [torch.empty_like(mine) for _ in range(group.size())]
        dist.all_gather(everyone, mine, group=group)
        _compare(dist.get_process_group_ranks(group), [bytes(one.tolist()) for one in everyone], name)


def _compare(ranks: list[int], digests: list[bytes], group: str) -> None:
    camps: dict[bytes, list[int]] = {}
    for rank, digest in zip(ranks, digests):
        camps.setdefault(digest, []).append(rank)
    if len(camps) == 1:
        return
    who = "; ".join(f"rank{'s' * (len(camp) > 1)} {', '.join(map(str, camp))}" for camp in camps.values())
    raise RanksDisagree(
        f"the ranks of group {group} have compiled {len(camps)} different programs: {who}. Their graphs differ, or their options; "
        "compare what hocket.capture() writes on one rank of each with `hocket diff`"
    )


def communication_of(decided: dict[str, Any], group: str) -> str:
    """What the ranks of a group must have in common: collectives and waits, in order, by kind, group and size.

    Not names and local work. Ranks of one group have other groups that are not the same (those of a mesh): these count by the
    order in which they come. What an all_to_all sends may differ from rank to rank.
    """
    others: dict[str, int] = {}
    lines = []
    for node in decided["nodes"]:
        if "coll" not in node:
            continue
        collective = dict(node["coll"])
        name = collective.pop("group")
        collective["group"] = "this" if name == group else others.setdefault(name, len(others))
        if collective["kind"] == "all_to_all":
            collective = {key: value for key, value in collective.items() if key in ("kind", "group")}
        lines.append(f"{node['op']} {json.dumps(collective, sort_keys=True)}")
    return "\n".join(lines)
