"""What the calls of a graph would take on eight H100 in one host, by a roofline: the same times for everyone who is compared."""

import math

import torch
from torch.utils.flop_counter import flop_registry

from hocket import fx_json

FLOPS_PER_MS = 989e12 * 0.6 / 1e3  # of bf16, as large products reach
BYTES_PER_MS = 3.35e12 * 0.8 / 1e3
LAUNCH_MS = 0.002
COLLECTIVE_MS = 0.015
LINK_BYTES_PER_MS = 300e9 / 1e3

# Parts of the tensor that a rank sends: all that others need of it.
TRIPS = {"all_reduce": 2, "all_gather": 1, "reduce_scatter": 1, "all_to_all": 1, "broadcast": 1}


def bytes_of(value):
    return sum(one.numel() * one.element_size() for one in fx_json.tensors_of(value))


def collective_ms(kind, ranks, size):
    """`size`: bytes of the larger of its two sides."""
    hops = COLLECTIVE_MS * (1 + math.log2(max(ranks, 2)) / 4)
    return hops + TRIPS[kind] * size * (ranks - 1) / ranks / LINK_BYTES_PER_MS


def estimate(node):
    """ms of a node of an FX graph; nothing for what is no work."""
    if node.op != "call_function" or "val" not in node.meta:
        return 0.0
    if kind := fx_json.collective_kind(node):
        return collective_ms(kind, group_size(node), larger_side(node))
    if fx_json.is_wait(node) or is_view(node):
        return 0.0
    inputs = [one.meta["val"] for one in node.all_input_nodes if "val" in one.meta]
    moved = sum(map(bytes_of, inputs)) + bytes_of(node.meta["val"])
    return LAUNCH_MS + max(flops_of(node) / FLOPS_PER_MS, moved / BYTES_PER_MS)


def larger_side(node):
    given = sum(bytes_of(one.meta["val"]) for one in node.all_input_nodes if "val" in one.meta)
    return max(given, bytes_of(node.meta["val"]))


def group_size(node):
    names = [argument.name for argument in node.target._schema.arguments]
    return len(fx_json.ranks_of((dict(zip(names, node.args)) | dict(node.kwargs))["group_name"]))


def is_view(node):
    target = node.target
    if not isinstance(target, torch._ops.OpOverload):
        return True  # getitem
    return any(one.alias_info is not None and not one.alias_info.is_write for one in target._schema.arguments)


def flops_of(node):
    packet = getattr(node.target, "overloadpacket", None)
    count = flop_registry.get(packet)
    if count is None:
        return 0
    return count(
        *torch.fx.node.map_arg(node.args, lambda one: one.meta["val"]),
        **torch.fx.node.map_arg(node.kwargs, lambda one: one.meta["val"]),
        out_val=node.meta["val"],
    )
