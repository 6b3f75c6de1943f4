"""FX graphs as hocket's JSON graphs, schema commgraph/1, and back."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import fx
from torch.distributed import distributed_c10d

SCHEMA = "commgraph/1"

KINDS = {
    "all_reduce": "all_reduce",
    "all_reduce_": "all_reduce",
    "all_reduce_coalesced": "all_reduce",
    "all_reduce_coalesced_": "all_reduce",
    "all_gather_into_tensor": "all_gather",
    "all_gather_into_tensor_out": "all_gather",
    "all_gather_into_tensor_coalesced": "all_gather",
    "reduce_scatter_tensor": "reduce_scatter",
    "reduce_scatter_tensor_out": "reduce_scatter",
    "reduce_scatter_tensor_coalesced": "reduce_scatter",
    "all_to_all_single": "all_to_all",
    "broadcast": "broadcast",
    "broadcast_": "broadcast",
}
# What schemas leave out: operators whose result lies in the storage of their first argument, and which arguments some write.
UNDECLARED_VIEWS = {"aten::_unsafe_view", "aten::unsafe_split", "aten::unsafe_split_with_sizes"}
UNDECLARED_WRITES = {
    "aten::native_batch_norm": ("running_mean", "running_var"),
    "aten::cudnn_batch_norm": ("running_mean", "running_var"),
    "aten::miopen_batch_norm": ("running_mean", "running_var"),
    "aten::batch_norm_gather_stats": ("running_mean", "running_var"),
    "aten::batch_norm_gather_stats_with_counts": ("running_mean", "running_var"),
    "aten::batch_norm_update_stats": ("running_mean", "running_var"),
}
Estimate = Callable[[fx.Node], "float | None"]  # ms that a call takes; None where that is not known
NAMESPACES = ("_c10d_functional", "_c10d_functional_autograd")


class NotRepresentable(Exception):
    """The graph has something that hocket leaves to others: the reason, for a note to the user."""


def op_name(target: Any) -> str:
    """What the JSON form calls a call's target."""
    if target is operator.getitem:
        return "getitem"
    if isinstance(target, torch._ops.OpOverload):
        return f"{target.namespace}.{target._schema.name.split('::')[1]}.{target._overloadname}"
    if isinstance(target, torch._ops.HigherOrderOperator):
        return f"hop.{target.name()}"
    return f"python.{getattr(target, '__module__', '')}.{getattr(target, '__name__', str(target))}"


def collective_kind(node: fx.Node) -> str | None:
    """The kind of collective that a node starts, if it does."""
    target = node.target
    if not isinstance(target, torch._ops.OpOverload) or target.namespace not in NAMESPACES:
        return None
    return KINDS.get(target._schema.name.split("::")[1])


def is_wait(node: fx.Node) -> bool:
    """Does it wait for a collective?"""
    target = node.target
    return (
        isinstance(target, torch._ops.OpOverload)
        and target.namespace in NAMESPACES
        and target._schema.name.endswith("::wait_tensor")
    )


def list_and_place(getitem: fx.Node) -> tuple[list[Any] | tuple[Any, ...], int]:
    """The example values of the list that an element is taken from, and which one it is."""
    source, index = getitem.args
    values = source.meta.get("val")
    if not isinstance(values, (list, tuple)) or not isinstance(index, int):
        raise NotRepresentable(f"node {getitem.name} takes what is no element of a list")
    return values, index


def example_of(node: fx.Node) -> Any:
    """The example value of a result. Tracing keeps none for what is no tensor."""
    if "val" in node.meta:
        return node.meta["val"]
    if node.target is operator.getitem:
        values, index = list_and_place(node)
        if not tensors_of(values[index]):
            return values[index]
    elif isinstance(node.target, torch._ops.OpOverload) and not node.target._schema.returns:
        return None
    raise NotRepresentable(f"node {node.name} has no example value")


def has_collectives(graph: fx.Graph) -> bool:
    """Is there anything for hocket to do?"""
    return any(node.op == "call_function" and collective_kind(node) for node in graph.nodes)


def tensors_of(value: Any) -> list[torch.Tensor]:
    """The tensors of a node's result, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [one for item in value for one in tensors_of(item)]
    return []


class Writer:
    """One graph as a JSON object."""

    def __init__(self, graph: fx.Graph, name: str, estimate: Estimate | None) -> None:
        self.graph = graph
        self.name = name
        self.estimate = estimate
        self.ids: dict[fx.Node, int] = {}
        self.storages: list[dict[str, int]] = []
        self.storage_of: dict[fx.Node, list[int]] = {}
        self.groups: dict[str, list[int]] = {}
        self.starts: dict[fx.Node, fx.Node] = {}  # a wait or a getitem -> the collective it belongs to

    def write(self) -> dict[str, Any]:
        nodes = []
        for index, node in enumerate(self.graph.nodes):
            self.ids[node] = index
            nodes.append(self.node(index, node))
        world = dist.get_world_size() if dist.is_initialized() else 1
        return {
            "schema": SCHEMA,
            "name": self.name,
            "torch": torch.__version__,
            "world_size": world,
            "rank": dist.get_rank() if dist.is_initialized() else 0,
            "groups": [{"name": name, "size": len(ranks), "ranks": ranks} for name, ranks in self.groups.items()],
            "storages": self.storages,
            "nodes": nodes,
        }

    def node(self, index: int, node: fx.Node) -> dict[str, Any]:
        inputs = [self.ids[one] for one in node.all_input_nodes]
        spec: dict[str, Any] = {"id": index, "name": node.name, "in": inputs}
        if node.op == "output":
            results = node.args[0]
            given = list(results) if isinstance(results, (list, tuple)) else [results]
            spec |= {"kind": "output", "args": self.argument(given), "out": []}
            return spec
        if node.op in ("placeholder", "get_attr"):
            spec |= {"kind": node.op}
        elif node.op == "call_function":
            spec |= {"kind": "op", "op": op_name(node.target), "args": self.argument(list(node.args))}
            if node.kwargs:
                spec["kwargs"] = {key: self.argument(value) for key, value in node.kwargs.items()}
            self.effects(node, spec)
            time = None if self.estimate is None else self.estimate(node)
            if time is not None:
                spec["est_ms"] = time
        else:
            raise NotRepresentable(f"node {node.name} is a {node.op}, which post-grad graphs do not have")
        self.results(node, spec)
        self.communication(node, spec)
        return spec

    # ------------------------------------------------------------------ arguments

    def argument(self, value: Any) -> Any:
        if isinstance(value, fx.Node):
            return {"n": self.ids[value]}
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            raise NotRepresentable("its sizes are dynamic")
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": str(value)}
        if isinstance(value, complex):
            raise NotRepresentable("an argument is a complex number")
        if isinstance(value, (list, tuple)):
            return [self.argument(one) for one in value]
        if isinstance(value, torch.dtype):
            return {"dtype": str(value).removeprefix("torch.")}
        if isinstance(value, torch.device):
            return {"device": str(value)}
        if isinstance(value, torch.layout):
            return {"layout": str(value).removeprefix("torch.")}
        if isinstance(value, torch.memory_format):
            return {"memory_format": str(value).removeprefix("torch.")}
        if isinstance(value, dict):
            return {"d": {str(key): self.argument(one) for key, one in value.items()}}
        if _mentions_nodes(value):
            raise NotRepresentable(f"an argument of type {type(value).__name__} refers to nodes")
        return str(value)

    # ------------------------------------------------------------------ what a call does to memory

    def effects(self, node: fx.Node, spec: dict[str, Any]) -> None:
        """view_of and mutates, by the operator's schema."""
        target = node.target
        if target is operator.getitem or is_wait(node):
            spec["view_of"] = self.ids[node.args[0]]
            return
        if not isinstance(target, torch._ops.OpOverload):
            return
        names = [argument.name for argument in target._schema.arguments]
        values = dict(zip(names, node.args)) | dict(node.kwargs)
        mutates, by_set = [], {}
        for argument in target._schema.arguments:
            info, value = argument.alias_info, values.get(argument.name)
            if info is None or value is None:
                continue
            aliased = [one for one in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(one, fx.Node)]
            if info.is_write:
                mutates += [self.ids[one] for one in aliased]
            if len(aliased) == 1:
                by_set |= {name: aliased[0] for name in info.before_set}
                # Of a list that is returned, as split's, the schema does not tell the set that it lies in.
                if "*" in info.after_set and not info.is_write:
                    spec["view_of"] = self.ids[aliased[0]]
        if target._schema.name in UNDECLARED_VIEWS:
            spec["view_of"] = self.ids[node.args[0]]
        written = [values.get(name) for name in UNDECLARED_WRITES.get(target._schema.name, ())]
        mutates += [self.ids[one] for one in written if isinstance(one, fx.Node)]
        if mutates:
            spec["mutates"] = mutates
        for returned in target._schema.returns:
            if returned.alias_info is None:
                continue
            for name in returned.alias_info.before_set | returned.alias_info.after_set:
                if name in by_set:
                    spec["view_of"] = self.ids[by_set[name]]

    def results(self, node: fx.Node, spec: dict[str, Any]) -> None:
        value = example_of(node)
        tensors = tensors_of(value)
        storages = self.storages_for(node, spec, tensors)
        spec["out"] = [self.result(tensor, storage) for tensor, storage in zip(tensors, storages)]
        if isinstance(value, (list, tuple)):
            spec["multi"] = True

    def storages_for(self, node: fx.Node, spec: dict[str, Any], tensors: list[torch.Tensor]) -> list[int]:
        found: list[int] = []
        if node.target is operator.getitem:
            values, index = list_and_place(node)
            first = len(tensors_of(values[:index]))  # what is no tensor in the list has no storage
            found = self.storage_of[node.args[0]][first : first + len(tensors)]
        elif "view_of" in spec and tensors:
            source = next(one for one in node.all_input_nodes if self.ids[one] == spec["view_of"])
            found = (self.storage_of[source][:1] or [self.fresh(tensors[0], spec["id"])]) * len(tensors)
        else:
            found = [self.fresh(tensor, spec["id"]) for tensor in tensors]
        self.storage_of[node] = found
        return found

    def fresh(self, tensor: torch.Tensor, by: int) -> int:
        check_static(tensor)
        elements = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride())) if tensor.numel() else 0
        offset = tensor.storage_offset()
        self.storages.append({"id": len(self.storages), "bytes": (offset + elements) * tensor.element_size(), "alloc_by": by})
        return len(self.storages) - 1

    @staticmethod
    def result(tensor: torch.Tensor, storage: int) -> dict[str, Any]:
        check_static(tensor)
        return {
            "shape": list(tensor.shape),
            "dtype": str(tensor.dtype).removeprefix("torch."),
            "stride": list(tensor.stride()),
            "offset": tensor.storage_offset(),
            "device": str(tensor.device),
            "storage": storage,
        }

    # ------------------------------------------------------------------ communication

    def communication(self, node: fx.Node, spec: dict[str, Any]) -> None:
        if node.op != "call_function":
            return
        if is_wait(node):
            if node.args[0] in self.starts:
                spec["wait_of"] = self.ids[self.starts[node.args[0]]]
            return
        if node.target is operator.getitem and node.args[0] in self.starts:
            self.starts[node] = self.starts[node.args[0]]
            return
        kind = collective_kind(node)
        if kind is None:
            return
        self.starts[node] = node
        values = dict(zip((one.name for one in node.target._schema.arguments), node.args)) | dict(node.kwargs)
        group = values["group_name"]
        self.groups.setdefault(group, ranks_of(group))
        given = [one for one in node.all_input_nodes if one.meta.get("val") is not None]
        spec["coll"] = {
            "kind": kind,
            "group": group,
            "bytes_in": sum(_bytes(one.meta["val"]) for one in given),
            "bytes_out": _bytes(node.meta["val"]),
        }


def check_static(tensor: torch.Tensor) -> None:
    """Raises NotRepresentable where its sizes are not numbers."""
    numbers = [*tensor.shape, *tensor.stride(), tensor.storage_offset()]
    if not all(isinstance(number, int) for number in numbers):
        raise NotRepresentable("its sizes are dynamic")


def _bytes(value: Any) -> int:
    return sum(one.numel() * one.element_size() for one in tensors_of(value))


def _mentions_nodes(value: Any) -> bool:
    found = []
    fx.node.map_arg(value, found.append)
    return bool(found)


def ranks_of(group_name: str) -> list[int]:
    """The ranks of the group that a collective names."""
    return dist.get_process_group_ranks(distributed_c10d._resolve_process_group(group_name))


# ---------------------------------------------------------------------------------------- back


class Reader:
    """Makes of an FX graph, in place, the one that hocket made of it."""

    def __init__(self, graph: fx.Graph, spec: dict[str, Any]) -> None:
        self.graph = graph
        self.old = {node.name: node for node in graph.nodes}
        self.spec = spec
        self.nodes: list[fx.Node] = []
        self.fake_mode = next(
            (
                one.fake_mode
                for node in graph.nodes
                for one in tensors_of(node.meta.get("val"))
                if isinstance(one, torch._subclasses.FakeTensor)
            ),
            None,
        )

    def read(self) -> None:
        (output,) = self.graph.find_nodes(op="output")
        for spec in self.spec["nodes"]:
            old = self.old.get(spec["name"])
            if old is not None and is_kept(old, spec):
                self.change(old, spec)
                self.nodes.append(old)
            else:
                with self.graph.inserting_before(output):
                    self.nodes.append(self.added(spec))
            if self.nodes[-1] is not output:
                output.prepend(self.nodes[-1])
        kept = set(self.nodes)
        for node in reversed(list(self.graph.nodes)):
            if node not in kept:
                self.graph.erase_node(node)
        self.graph.lint()

    def change(self, node: fx.Node, spec: dict[str, Any]) -> None:
        """Gives a node the inputs that it has now; what the JSON form cannot say stays as it was."""
        if node.op == "output":
            results = node.args[0]
            given = spec["args"] if isinstance(results, (list, tuple)) else spec["args"][0]
            node.args = (self.again(results, given),)
        elif node.op == "call_function":
            node.args = tuple(self.again(one, given) for one, given in zip(node.args, spec["args"], strict=True))
            node.kwargs = {key: self.again(one, spec["kwargs"][key]) for key, one in node.kwargs.items()}

    def again(self, old: Any, given: Any) -> Any:
        if isinstance(old, fx.Node):
            return self.nodes[given["n"]]
        if isinstance(old, (list, tuple)):
            return type(old)(self.again(one, inner) for one, inner in zip(old, given, strict=True))
        if isinstance(old, dict):
            return {key: self.again(one, given["d"][str(key)]) for key, one in old.items()}
        return old

    def added(self, spec: dict[str, Any]) -> fx.Node:
        """A node that hocket thought of."""
        target = target_of(spec["op"])
        args = tuple(self.argument(one) for one in spec.get("args", []))
        kwargs = {key: self.argument(one) for key, one in spec.get("kwargs", {}).items()}
        node = self.graph.create_node("call_function", target, args, kwargs, spec["name"])
        if self.fake_mode is not None:
            with self.fake_mode:
                node.meta["val"] = target(*fx.node.map_arg(args, _example), **fx.node.map_arg(kwargs, _example))
        return node

    def argument(self, given: Any) -> Any:
        if isinstance(given, list):
            return [self.argument(one) for one in given]
        if not isinstance(given, dict):
            return given
        ((kind, value),) = given.items()
        if kind == "n":
            return self.nodes[value]
        if kind == "float":
            return float(value)
        if kind == "device":
            return torch.device(value)
        if kind in ("dtype", "layout", "memory_format"):
            return getattr(torch, value)
        if kind == "d":
            return {key: self.argument(one) for key, one in value.items()}
        if kind == "group":
            return value
        raise NotRepresentable(f"an argument {given!r} that has no form in FX")


def is_kept(old: fx.Node, spec: dict[str, Any]) -> bool:
    """Is it the node that the JSON form calls so?"""
    return old.op == spec["kind"] or (old.op == "call_function" and op_name(old.target) == spec.get("op"))


def _example(node: fx.Node) -> Any:
    return node.meta["val"]


def target_of(name: str) -> Callable[..., Any]:
    """The target that the JSON form names."""
    if name == "getitem":
        return operator.getitem
    namespace, _, rest = name.partition(".")
    packet, _, overload = rest.rpartition(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), overload)


def to_json(graph: fx.Graph, name: str = "graph", estimate: Estimate | None = None) -> dict[str, Any]:
    """A post-grad graph as a JSON object. Raises NotRepresentable with the reason where that can't be done."""
    return Writer(graph, name, estimate).write()


def from_json(graph: fx.Graph, spec: dict[str, Any]) -> None:
    """Makes `graph` the one that `spec` says. Nodes that are in both stay the same objects."""
    Reader(graph, spec).read()


def groups_in(spec: dict[str, Any]) -> list[str]:
    """The names of the groups that a graph communicates in, in order."""
    return sorted(group["name"] for group in spec["groups"])
