"""PyTorch's own tests of back ends, on hocket's groups."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

SUITE = pathlib.Path(__file__).with_name("pytorch_suite.py")

# Tests that no back end can pass that PyTorch does not know by name.
KNOWN = {
    "test_ddp_logging_data_cpu": "PyTorch writes 'custom' for the name of any such back end, and the test expects its name",
}


# How many gloo passes on a machine without GPUs, of which one is in KNOWN.
GLOO_PASSES = {2: 91, 3: 112, 4: 115}


def outcomes(ranks, match, tmp_path, seconds, also="gloo"):
    file = tmp_path / "outcomes.json"
    done = subprocess.run(
        [sys.executable, "-B", str(SUITE), "--ranks", str(ranks), "--match", match, "--as", also, "--json", str(file)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert file.exists(), done.stderr[-3000:]
    return json.loads(file.read_text())


def failed(found):
    return {name: one["reason"][-2000:] for name, one in found.items() if one["outcome"] == "failed" and name not in KNOWN}


def count(found, outcome):
    return sum(one["outcome"] == outcome for one in found.values())


def test_a_sample_passes(tmp_path):
    found = outcomes(2, "test_all_reduce_sum,test_send_recv_any,test_scatter,DataParallelCPU,test_all_gather_obj", tmp_path, 300)
    assert not failed(found)
    assert count(found, "passed") >= 8


@pytest.mark.long
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_all_that_gloo_passes_pass(ranks, tmp_path):
    found = outcomes(ranks, "", tmp_path, 3000)
    assert not failed(found)
    assert count(found, "passed") == GLOO_PASSES[ranks] - len(KNOWN)


@pytest.mark.long
@pytest.mark.parametrize("ranks", [3, 4])
def test_all_to_all_passes_what_pytorch_asks_of_mpi(ranks, tmp_path):
    found = outcomes(ranks, "all_to_all", tmp_path, 600, also="mpi")
    assert not failed(found)
    assert count(found, "passed") == 12
