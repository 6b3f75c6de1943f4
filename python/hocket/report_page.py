"""What hocket did to a graph, for people: a line, a table, a page."""

from __future__ import annotations

import html
import json
import pathlib
from typing import Any

from hocket import _C


class Report:
    """Shows itself in a notebook; ``print()`` gives a few lines; ``save("overlap.html")`` writes the whole page."""

    def __init__(self, compiled: _C.CompiledGraph | None, note: str = "") -> None:
        self._compiled = compiled
        self.note = note
        self.moved_by_inductor: list[str] | None = None
        """Where Inductor's code has another order than the graph that hocket made; None as long as there is no code."""
        self.summary: dict[str, Any] = json.loads(compiled.summary()) if compiled else {}

    @classmethod
    def untouched(cls, reason: str) -> Report:
        """Of a graph that was left as it is."""
        return cls(None, reason)

    @property
    def is_untouched(self) -> bool:
        """Was the graph left as it is?"""
        return self._compiled is None

    def html(self) -> str:
        """One page that needs no network."""
        if self._compiled is None:
            return f"<p>hocket left this graph as it is: {html.escape(self.note)}</p>"
        page = self._compiled.page()
        if not self.moved_by_inductor:
            return page
        return page.replace("</body>", f"<pre>{html.escape(chr(10).join(self.moved_lines()))}</pre></body>")

    def save(self, path: str | pathlib.Path) -> None:
        """Writes the page."""
        pathlib.Path(path).write_text(self.html(), encoding="utf-8")

    def __str__(self) -> str:
        if self._compiled is None:
            return f"left as it is: {self.note}"
        before, after = self.summary["before"], self.summary["after"]
        lines = [
            f"step {before['step_ms']:.4g} ms -> {after['step_ms']:.4g} ms, "
            f"exposed {before['exposed_ms']:.4g} ms -> {after['exposed_ms']:.4g} ms, "
            f"collectives {before['collectives']} -> {after['collectives']}, "
            f"peak {before['peak_bytes'] / 2**20:.1f} MiB -> {after['peak_bytes'] / 2**20:.1f} MiB"
        ]
        lines += [f"{run['pass']}: {run['report']}" for run in self.summary["passes"]]
        if self.moved_by_inductor is not None:
            lines += self.moved_lines()
        return "\n".join(lines)

    def moved_lines(self) -> list[str]:
        """What is to be said of the order in the generated code."""
        if not self.moved_by_inductor:
            return ["the code that Inductor generated keeps this order"]
        return ["the code that Inductor generated has another order:", *(f"  {line}" for line in self.moved_by_inductor)]

    def __repr__(self) -> str:
        return f"<hocket.Report: {str(self).splitlines()[0]}>"

    def _repr_html_(self) -> str:
        if self._compiled is None:
            return self.html()
        return (
            f'<iframe srcdoc="{html.escape(self.html(), quote=True)}" style="width:100%;height:640px;border:0" '
            'sandbox="allow-scripts"></iframe>'
        )
