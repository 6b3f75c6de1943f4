"""hocket inside PyTorch: a process group for the CPU, and a compiler for communication.

As a process group::

    import torch.distributed as dist, hocket
    dist.init_process_group("hocket")
    dist.all_reduce(tensor)

As a compiler::

    import hocket
    with hocket.enable():
        torch.compile(step)(batch)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from hocket import _requirements

_requirements.check()

from hocket import _C, process_group  # noqa: E402  only now is it known that they can be loaded
from hocket.process_group import is_symmetric, symmetric_empty  # noqa: E402

if TYPE_CHECKING:
    from hocket.capturing import capture
    from hocket.agreement import RanksDisagree
    from hocket.compiler import disable, enable, optimize, report, reports
    from hocket.report_page import Report
    from hocket.sharding import shard_parameters

__version__: str = _C.version
__all__ = [
    "RanksDisagree",
    "Report",
    "capture",
    "disable",
    "enable",
    "is_symmetric",
    "optimize",
    "process_group",
    "report",
    "reports",
    "shard_parameters",
    "symmetric_empty",
]

# The compiler brings Inductor along, which takes a second to import: only for those who use it.
_LATER = {
    "RanksDisagree": "hocket.agreement",
    "Report": "hocket.report_page",
    "capture": "hocket.capturing",
    "disable": "hocket.compiler",
    "enable": "hocket.compiler",
    "optimize": "hocket.compiler",
    "report": "hocket.compiler",
    "reports": "hocket.compiler",
    "shard_parameters": "hocket.sharding",
}

process_group.register()


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'hocket' has no attribute {name!r}")
    value = getattr(importlib.import_module(_LATER[name]), name)
    globals()[name] = value
    return value
