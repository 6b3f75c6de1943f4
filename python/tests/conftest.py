"""Tests of the Python package. `pytest python/tests` with the folder python of the build directory in PYTHONPATH."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes minutes; ./hk test --all runs it")
