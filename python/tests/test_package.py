"""The package as it is imported: what is missing is said in one sentence, what is public is described and typed."""

import importlib
import inspect
import os
import pathlib
import pkgutil
import shutil
import subprocess
import sys

import hocket
import hocket._C
import pytest

SOURCES = pathlib.Path(__file__).resolve().parents[1] / "hocket"


# ---------------------------------------------------------------------------------------- what is missing


def complaint(code, *folders, arguments=("-I", "-S")):
    """The last line that a Python without any packages writes, with these folders to import from."""
    paths = "; ".join(f"sys.path.insert(0, {str(folder)!r})" for folder in folders)
    done = subprocess.run(
        [sys.executable, "-B", *arguments, "-c", f"import sys; {paths}; {code}"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1, done.stdout
    return done.stderr.strip().splitlines()[-1]


def built_package(folder):
    """The package with something in place of the compiled module, which is not reached."""
    shutil.copytree(SOURCES, folder / "hocket", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "hocket/_C.any.so").touch()
    return folder


def fake_torch(folder, version, installed):
    (folder / "torch").mkdir(parents=True)
    (folder / "torch/__init__.py").write_text(f"__version__ = '{version}'")
    if installed:
        facts = folder / f"torch-{version}.dist-info"
        facts.mkdir()
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")
    return folder


def test_without_pytorch_it_says_what_to_install(tmp_path):
    said = complaint("import hocket", built_package(tmp_path))
    assert said == "ImportError: hocket needs PyTorch, which is not installed here: pip install torch==2.13.0"


@pytest.mark.parametrize("installed", [True, False])
def test_with_another_pytorch_it_says_which_one_is_needed(tmp_path, installed):
    said = complaint("import hocket", built_package(tmp_path), fake_torch(tmp_path / "other", "2.12.1+cpu", installed))
    assert said.startswith("ImportError: hocket was built for torch 2.13.0, but torch 2.12.1 is installed here: pip install")


def test_the_folder_of_the_sources_is_not_the_package(tmp_path):
    said = complaint("import hocket", SOURCES.parent, fake_torch(tmp_path, "2.13.0", True))
    assert said.startswith("ImportError: hocket's compiled module is not here: the folder of its sources is imported")


def test_pytorch_finds_the_back_end_without_an_import(tmp_path):
    """What the entry point of the wheel names, with the package in PYTHONPATH."""
    code = "import hocket_autoload, torch.distributed as dist; hocket_autoload.register(); print(dist.Backend.backend_list)"
    folders = [str(SOURCES.parent), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    done = subprocess.run(
        [sys.executable, "-B", "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert "hocket" in done.stdout, done.stderr


# ---------------------------------------------------------------------------------------- what is public


def modules():
    names = [one.name for one in pkgutil.iter_modules(hocket.__path__) if not one.name.startswith("_")]
    return [hocket, *(importlib.import_module(f"hocket.{name}") for name in names)]


def public(of):
    """(name, function or class) of what a module or class defines and does not hide."""
    for name, value in vars(of).items():
        value = getattr(value, "__func__", value)
        mine = getattr(value, "__module__", None) == (of.__module__ if inspect.isclass(of) else of.__name__)
        if not name.startswith("_") and mine and (inspect.isfunction(value) or inspect.isclass(value)):
            yield f"{of.__name__}.{name}", value


def everything():
    for module in modules():
        for name, value in public(module):
            yield name, value
            if inspect.isclass(value):
                yield from public(value)


def test_all_that_is_public_is_described():
    assert all(module.__doc__ for module in modules())
    without = [name for name, value in everything() if not inspect.getdoc(value)]
    # Methods of the classes that turn graphs into JSON and back are parts of one function.
    parts = ("Writer.", "Reader.", "Settings.")
    assert [name for name in without if not name.startswith(parts)] == []


def test_all_that_is_public_has_types():
    untyped = []
    for name, value in everything():
        function = value.__init__ if inspect.isclass(value) else value
        if not inspect.isfunction(function):
            continue
        signature = inspect.signature(function)
        missing = [one.name for one in signature.parameters.values() if one.annotation is one.empty and one.name not in ("self", "cls")]
        missing += ["return"] * (signature.return_annotation is signature.empty)
        untyped += [f"{name}({', '.join(missing)})"] * bool(missing)
    assert untyped == []


def test_names_that_are_imported_later_are_there():
    for name in hocket.__all__:
        assert getattr(hocket, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nosuch'"):
        hocket.nosuch
    assert hocket.__version__ == hocket._C.version


def test_the_compiled_module_has_the_types_that_are_written_of_it():
    assert (SOURCES / "py.typed").exists()
    written = (SOURCES / "_C.pyi").read_text()
    there = [name for name in dir(hocket._C) if not name.startswith("__")]
    ways = ("def {}(", "class {}(", "{}:")
    assert [name for name in there if not any(way.format(name) in written for way in ways)] == []
    methods = [name for name in dir(hocket._C.CompiledGraph) if not name.startswith("_")]
    assert [name for name in methods if f"def {name}(" not in written] == []
