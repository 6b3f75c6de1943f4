"""Keeps the order that hocket chose until Inductor's generated code.

Inductor fuses kernels after the graph was optimized, and puts a fused kernel where its first part was: with it comes what the last
part needs, which may be a wait. So work that hides a communication is tied down before kernels are fused, and the kernels are put
into the graph's order when they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import fx
from torch._inductor.dependencies import WeakDep
from torch._inductor.ir import MultiOutput
from torch._inductor.scheduler import BaseSchedulerNode, ExternKernelSchedulerNode
from torch._inductor.utils import contains_collective, contains_wait

Kernels = list[BaseSchedulerNode]


class OrderKeeper:
    """Knows the order of one graph at a time: the one that Inductor is about to make kernels of."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._report: Any = None

    def __deepcopy__(self, _: dict[int, Any]) -> OrderKeeper:
        """Itself: Inductor copies its settings, and what was expected is asked of the copy."""
        return self

    def expect(self, graph: fx.Graph, report: Any) -> None:
        """The kernels that come next are of this graph; `report.moved_by_inductor` will say what could not be kept."""
        self._places = {node.name: place for place, node in enumerate(graph.nodes)}
        self._report = report

    def settings(self) -> dict[str, Any]:
        """What Inductor is to be told so that it asks."""
        return {
            "_pre_fusion_custom_pass": self.tie,
            "reorder_for_compute_comm_overlap": True,
            "reorder_for_compute_comm_overlap_passes": [self.arrange],
        }

    def place(self, kernel: BaseSchedulerNode) -> int | None:
        """Where its last operation stands in the graph."""
        operations = (origin for part in kernel.get_nodes() if part.node is not None for origin in part.node.get_origins())
        return max((self._places[one.name] for one in operations if one.name in self._places), default=None)

    def tie(self, kernels: Kernels) -> Kernels:
        """Matrix products and the like stay between the collectives and waits that they stand between.

        Each such kernel comes after the last collective before it, and each wait after such kernels since the wait before it;
        two kernels then can't be fused across them.
        """
        ordered = self._in_order(kernels)
        if ordered is None:
            return kernels
        scheduler = kernels[0].scheduler
        ordered = scheduler.topological_sort_schedule(ordered)  # ties along an order that is possible make no circle
        last_start: BaseSchedulerNode | None = None
        before_wait: Kernels = []
        for kernel in ordered:
            if contains_collective(kernel):
                last_start = kernel
            elif contains_wait(kernel):
                for earlier in before_wait:
                    _come_after(kernel, earlier)
                before_wait = [kernel]
            elif _is_large(kernel):
                before_wait.append(kernel)
                if last_start is not None:
                    _come_after(kernel, last_start)
        scheduler.nodes = ordered
        scheduler.compute_ancestors()
        return ordered

    def arrange(self, kernels: Kernels) -> Kernels:
        """The fused kernels in the order of the graph, as far as what they need allows it."""
        ordered = self._in_order(kernels)
        if ordered is None:
            return kernels
        final = kernels[0].scheduler.topological_sort_schedule(ordered)
        self._report.moved_by_inductor = self._moved(final)
        self._places = {}
        return final

    def _in_order(self, kernels: Kernels) -> Kernels | None:
        """None: these are kernels of a graph that nothing was decided for."""
        places: list[int] = []
        found = False
        for kernel in kernels:
            place = self.place(kernel)
            found = found or place is not None
            places.append(place if place is not None else (places[-1] if places else -1))
        if not found:
            return None
        return [kernels[index] for index in sorted(range(len(kernels)), key=lambda index: places[index])]

    def _moved(self, final: Kernels) -> list[str]:
        """Kernels that are on the other side of a collective or of a wait than they were in the graph."""
        lines = []
        places = [self.place(kernel) for kernel in final]
        for index, kernel in enumerate(final):
            mine = places[index]
            if mine is None or not (contains_collective(kernel) or contains_wait(kernel)):
                continue
            late = self._across(final[index + 1 :], places[index + 1 :], below=mine)
            early = self._across(final[:index], places[:index], above=mine)
            name = self._name(mine)
            lines += [f"{name} comes before {', '.join(late)}"] if late else []
            lines += [f"{name} comes after {', '.join(early)}"] if early else []
        return lines

    def _across(
        self, kernels: Kernels, places: Sequence[int | None], below: float = -1, above: float = float("inf")
    ) -> list[str]:
        return [
            self._name(place)
            for kernel, place in zip(kernels, places)
            if place is not None and (place < below or place > above) and _is_large(kernel)
        ]

    def _name(self, place: int) -> str:
        return next(name for name, where in self._places.items() if where == place)


def _is_large(kernel: BaseSchedulerNode) -> bool:
    """A call of its own, as matrix products are; not one of several results of another call."""
    return isinstance(kernel, ExternKernelSchedulerNode) and not isinstance(kernel.node, MultiOutput)


def _come_after(later: BaseSchedulerNode, earlier: BaseSchedulerNode) -> None:
    """An order, and nothing that is kept in memory for it."""
    if earlier.get_name() in later.ancestors:
        return
    name = next(iter(later.get_buffer_names()))
    for buffer in earlier.get_buffer_names():
        later.add_fake_dep(WeakDep(buffer, mutating_buf=name, is_fake=True))
