"""hocket as a compiler: FX graphs whose communication hides behind their computation.

A graph of one's own::

    optimized = hocket.optimize(graph_module)

Everything that torch.compile compiles::

    with hocket.enable():
        step = torch.compile(step)
        step(batch)
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterator
from typing import Any

import torch
from torch import fx
from torch._inductor import config as inductor_config
from torch._inductor.custom_graph_pass import CustomGraphPass, get_custom_graph_passes

from hocket import _C, fx_json
from hocket.agreement import check_agreement
from hocket.inductor_order import OrderKeeper
from hocket.report_page import Report

log = logging.getLogger("hocket")


def optimize(
    gm: fx.GraphModule,
    *,
    passes: str = "",
    machine: str | None = None,
    memory_limit: str = "1.0x",
    estimate: fx_json.Estimate | None = None,
    agree: bool = True,
) -> fx.GraphModule:
    """A module that computes the same, with its communication merged, moved and hidden.

    Args:
        gm: a post-grad graph with ``_c10d_functional`` operators, as Inductor's passes get it. It stays as it is.
        passes: what to run, as ``hocket opt --passes`` takes it. Without: what ``hocket opt`` runs.
        machine: what times are estimated for: ``"h100x8"``, ``"a100x8"``, ``"cpu"`` or the file of a description. Without:
            by the device of the graph's tensors.
        memory_limit: how much the result may hold: a multiple of what the original does (``"1.05x"``) or a size (``"12GiB"``).
        estimate: what a call takes in ms, if you know; it is asked for every node, and may return None. The same on all ranks.
        agree: all ranks of the graph's groups compare what they decided; off where one rank compiles alone.

    A graph with sizes that are not known, or without collectives, comes back as it is, with a note in its report.
    """
    copy = fx.Graph()
    copy.output(copy.graph_copy(gm.graph, {}))
    settings = Settings(passes, machine, memory_limit, agree, estimate=estimate)
    report = _optimize_in_place(copy, settings)
    result = fx.GraphModule(gm, copy, type(gm).__name__)
    result.meta.update(gm.meta)
    result.meta["hocket"] = report
    return result


def report(gm: fx.GraphModule | None = None) -> Report:
    """What hocket made of a module, or of what torch.compile compiled last: shows itself in a notebook, ``save()`` writes the page."""
    if gm is None:
        if not _reports:
            raise ValueError("nothing that communicates was compiled under hocket.enable() yet: call report() after the first compiled step")
        return _reports[-1]
    if "hocket" not in gm.meta:
        return optimize(gm, agree=False).meta["hocket"]
    return gm.meta["hocket"]


def reports() -> list[Report]:
    """One for each graph that torch.compile compiled under enable(), the last ones."""
    return list(_reports)


class Settings:
    """What optimize() and enable() have in common."""

    def __init__(
        self,
        passes: str = "",
        machine: str | None = None,
        memory_limit: str = "1.0x",
        agree: bool = True,
        ddp: bool = False,
        estimate: fx_json.Estimate | None = None,
    ) -> None:
        self.passes, self.machine, self.memory_limit, self.agree = passes, machine, memory_limit, agree
        self.ddp, self.estimate = ddp, estimate

    def machine_for(self, graph: fx.Graph) -> str:
        if self.machine is not None:
            return self.machine
        devices = {one.device.type for node in graph.nodes for one in fx_json.tensors_of(node.meta.get("val"))}
        return "h100x8" if "cuda" in devices else "cpu"


def _optimize_in_place(graph: fx.Graph, settings: Settings) -> Report:
    if not fx_json.has_collectives(graph):
        return Report.untouched("it communicates nothing")
    try:
        spec = fx_json.to_json(graph, estimate=settings.estimate)
    except fx_json.NotRepresentable as reason:
        return _left_alone(str(reason))
    try:
        compiled = _C.compile_graph(
            json.dumps(spec), settings.passes, settings.machine_for(graph), settings.memory_limit
        )
    except _C.UnreadableGraph as reason:
        if settings.agree:
            check_agreement(fx_json.groups_in(spec), spec)
        return _left_alone(f"{reason}; if the program is right, please report this as a bug of hocket")
    decided = json.loads(compiled.json())
    if settings.agree:
        check_agreement(fx_json.groups_in(spec), decided)
    fx_json.from_json(graph, decided)
    return Report(compiled)


def _left_alone(reason: str) -> Report:
    log.warning("hocket leaves a graph as it is: %s", reason)
    return Report.untouched(reason)


# ---------------------------------------------------------------------------------------- torch.compile

_reports: list[Report] = []
_REPORTS_KEPT = 64


class _HocketPass(CustomGraphPass):
    """What Inductor runs on every post-grad graph."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.order = OrderKeeper()

    def __deepcopy__(self, _: dict[int, Any]) -> _HocketPass:
        """Itself: Inductor copies its settings."""
        return self

    def __call__(self, graph: fx.Graph) -> None:
        if not fx_json.has_collectives(graph):
            return
        found = _optimize_in_place(graph, self.settings)
        if not found.is_untouched:
            self.order.expect(graph, found)
        _reports.append(found)
        del _reports[:-_REPORTS_KEPT]

    def uuid(self) -> Any | None:
        """None: a compiled graph from a cache, on one rank and not on another, would leave the others waiting to agree."""
        return None


# Inductor's own ways to move and merge communication, which would undo what was decided.
_OTHERS_OFF = {
    "reorder_for_peak_memory": False,
    "_fuse_ddp_communication": False,
    "_fuse_ddp_communication_passes": [],  # DistributedDataParallel sets the other one when it is made
    "bucket_all_gathers_fx": "none",
    "bucket_reduce_scatters_fx": "none",
    "bucket_all_reduces_fx": "none",
    "aten_distributed_optimizations.enable_overlap_scheduling": False,
    "aten_distributed_optimizations.collective_bucketing": False,
}


@contextlib.contextmanager
def _enabled(settings: Settings) -> Iterator[None]:
    ours = _HocketPass(settings)
    passes = [*get_custom_graph_passes(inductor_config.post_grad_custom_post_pass), ours]
    changes = {**_OTHERS_OFF, **ours.order.settings(), "post_grad_custom_post_pass": passes}
    with inductor_config.patch({key: value for key, value in changes.items() if _has_setting(key)}):
        if not settings.ddp:
            yield
            return
        # The first is what DistributedDataParallel asks for when it is made.
        with torch._dynamo.config.patch(optimize_ddp="python_reducer", compiled_autograd=True):
            yield


def _has_setting(key: str) -> bool:
    value: Any = inductor_config
    for part in key.split("."):
        if not hasattr(value, part):
            return False
        value = getattr(value, part)
    return True


class enable:  # noqa: N801  used as a function and as a context
    """hocket optimizes what torch.compile compiles from now on, or inside ``with hocket.enable():``.

    Takes the options of :func:`optimize`, and with ``ddp=True`` the gradients of DistributedDataParallel models that are made from
    now on are reduced in the compiled graph (compiled autograd), if the step that is compiled calls ``backward()``.
    Inductor's own ways to move and merge communication are off meanwhile. :func:`disable` ends it.
    """

    def __init__(
        self,
        *,
        passes: str = "",
        machine: str | None = None,
        memory_limit: str = "1.0x",
        estimate: fx_json.Estimate | None = None,
        agree: bool = True,
        ddp: bool = False,
    ) -> None:
        disable()
        self._stack = contextlib.ExitStack()
        self._stack.enter_context(_enabled(Settings(passes, machine, memory_limit, agree, ddp, estimate)))
        global _active
        _active = self

    def __enter__(self) -> enable:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """The same as leaving the context."""
        global _active
        self._stack.close()
        if _active is self:
            _active = None


_active: enable | None = None


def disable() -> None:
    """Ends what enable() began."""
    if _active is not None:
        _active.close()
