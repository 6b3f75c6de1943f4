"""Is the PyTorch there that hocket was built for?"""

import importlib.metadata
import importlib.util
import pathlib

NEEDED = "2.13.0"


def check() -> None:
    """Raises an ImportError that says what to do, where loading the compiled module would fail or crash."""
    if importlib.util.find_spec("torch") is None:
        raise ImportError(f"hocket needs PyTorch, which is not installed here: pip install torch=={NEEDED}")
    found = _version_of_torch().partition("+")[0]
    if found != NEEDED:
        raise ImportError(
            f"hocket was built for torch {NEEDED}, but torch {found} is installed here: pip install torch=={NEEDED}, "
            "or build hocket again with a version for that torch"
        )
    if not any(pathlib.Path(__file__).parent.glob("_C.*so")):
        raise ImportError(
            "hocket's compiled module is not here: the folder of its sources is imported instead of the installed package; "
            "start Python elsewhere, or put the folder python of the build directory first in PYTHONPATH"
        )
    import torch  # noqa: F401  brings the libraries that the compiled module needs


def _version_of_torch() -> str:
    """Without importing it, if it was installed as packages are."""
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        import torch

        return str(torch.__version__)
