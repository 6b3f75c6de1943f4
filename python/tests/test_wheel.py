"""The wheel that pip builds, in an environment of its own. HOCKET_TEST_WHEEL names one that was built before; it takes long."""

import importlib.util
import os
import pathlib
import site
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

SCRIPT = """
import torch, torch.distributed as dist  # hocket is not imported: PyTorch finds it
dist.init_process_group("hocket")
tensor = torch.ones(3)
dist.all_reduce(tensor)
import hocket
assert "site-packages" in hocket.__file__, hocket.__file__
print(f"rank {dist.get_rank()} has {tensor.tolist()}\\n", end="")  # in one piece, between those of others
dist.destroy_process_group()
"""


def run(*words, **environment):
    """Of Python without what this test's own Python is told to import."""
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(
        [str(word) for word in words], env=clean | environment, cwd="/", capture_output=True, text=True, timeout=3000
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    if ready := os.environ.get("HOCKET_TEST_WHEEL"):
        return pathlib.Path(ready)
    if importlib.util.find_spec("scikit_build_core") is None:
        pytest.skip("pip wheel needs scikit-build-core: pip install scikit-build-core")
    folder = tmp_path_factory.mktemp("wheel")
    # Without optimisation, in half the time: what is in the wheel is the question.
    fast = [f"--config-settings={what}" for what in ("cmake.build-type=Debug", "cmake.define.CMAKE_CXX_FLAGS_DEBUG=-O0")]
    done = run(sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", *fast, "-w", folder, ROOT)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (made,) = folder.glob("hocket-*.whl")
    return made


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """(its Python, its site-packages) with the wheel, and nothing else yet."""
    folder = tmp_path_factory.mktemp("venv")
    assert run(sys.executable, "-m", "venv", "--without-pip", folder).returncode == 0
    (packages,) = folder.glob("lib/python3*/site-packages")
    done = run(sys.executable, "-m", "pip", "install", "--no-deps", "--target", packages, wheel)
    assert done.returncode == 0, done.stderr
    return folder / "bin/python", packages


@pytest.mark.long
def test_the_wheel_has_all_that_is_needed(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    sources = {f"hocket/{file.name}" for file in (ROOT / "python/hocket").glob("*.py*")} | {"hocket/py.typed"}
    assert sources <= set(names)
    assert any(name.startswith("hocket/_C.") and name.endswith(".so") for name in names)
    assert "hocket_autoload/__init__.py" in names
    assert not [name for name in names if "tests/" in name or name.endswith((".cpp", ".h", ".a"))]


@pytest.mark.long
def test_it_says_what_is_missing_and_works_when_that_is_there(environment, tmp_path):
    python, packages = environment
    said = run(python, "-c", "import hocket").stderr.strip().splitlines()[-1]
    assert said == "ImportError: hocket needs PyTorch, which is not installed here: pip install torch==2.13.0"
    (packages / "torch_of_the_test.pth").write_text("\n".join(site.getsitepackages()))
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    done = run(python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", script, OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr[-3000:]
    assert sorted(line for line in done.stdout.splitlines() if line.startswith("rank")) == [
        f"rank {rank} has [2.0, 2.0, 2.0]" for rank in range(2)
    ]
