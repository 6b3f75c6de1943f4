#!/usr/bin/env python3
"""Runs PyTorch's own tests of distributed back ends, those inside the wheel, with any back end.

    pytorch_suite.py --backend hocket --ranks 2 [--match WORDS] [--json FILE]

Many of them run only if the back end is called gloo. They are told that it is, and run with the back end that is
asked for.

One line for each test that failed, then how many passed and were skipped. Ranks are forked, so that PyTorch is imported once.
"""

import argparse
import collections
import io
import json
import os
import pathlib
import sys
import tempfile
import time
import unittest
import warnings


# Tests of groups inside a world use ranks 1 and 2. PyTorch's own runs leave them out below eight ranks, because its machines
# have four GPUs; they need three.
RANKS_OF_SUBGROUPS = 3


class TwoNames(str):
    """The name of a back end that has another name, too, when a test asks."""

    __hash__ = str.__hash__
    also = "gloo"

    def __eq__(self, other):
        return other == self.also or str.__eq__(self, other)

    def __ne__(self, other):
        return not self == other


def load(backend, also, ranks, folder):
    """The test class, with ranks that are forked from this process."""
    TwoNames.also = also
    os.environ |= {
        "BACKEND": also,
        "WORLD_SIZE": str(ranks),
        "TEMP_DIR": folder,
        "MASTER_ADDR": "127.0.0.1",
        "INIT_METHOD": f"file://{folder}/init",
        "OMP_NUM_THREADS": "1",
    }
    warnings.filterwarnings("ignore")
    import torch
    from torch.testing._internal import common_distributed
    from torch.testing._internal.common_distributed import DistTestCases

    import hocket  # noqa: F401

    if ranks >= RANKS_OF_SUBGROUPS:
        common_distributed.skip_if_small_worldsize = lambda test: test

    torch.set_num_threads(1)
    from torch.testing._internal.distributed import distributed_test

    distributed_test.BACKEND = TwoNames(backend)
    for feature in ("cuda", "ddp", "gpu", "plugin", "subgroup"):
        DistTestCases.backend_feature[feature].add(backend)
    for profiled in (distributed_test.PROFILING_SUPPORTED_BACKENDS, distributed_test.SEND_RECV_PROFILING_SUPPORTED_BACKENDS):
        profiled.append(backend)

    class TestDistBackendWithFork(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
        def setUp(self):
            super().setUp()
            self._start_processes(torch.multiprocessing.get_context("fork").Process)

    os.makedirs(f"{folder}/barrier", exist_ok=True)
    os.makedirs(f"{folder}/test_dir", exist_ok=True)
    return TestDistBackendWithFork


def run_one(case, name):
    """(passed, skipped or failed; the reason; seconds)."""
    result = unittest.TestResult()
    start = time.monotonic()
    saved = sys.stderr
    sys.stderr = io.StringIO()
    try:
        case(name).run(result)
    finally:
        sys.stderr = saved
    seconds = time.monotonic() - start
    if result.errors or result.failures:
        return "failed", (result.errors + result.failures)[0][1], seconds
    if result.skipped:
        return "skipped", result.skipped[0][1], seconds
    return "passed", "", seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", default="hocket")
    parser.add_argument("--as", dest="also", default="gloo", help="what tests are told that it is: mpi runs those of all_to_all")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--match", default="", help="only tests whose name has one of these words, separated by commas")
    parser.add_argument("--json", type=pathlib.Path, help="write every test's outcome here")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        case = load(options.backend, options.also, options.ranks, folder)
        words = options.match.split(",")
        names = [name for name in unittest.defaultTestLoader.getTestCaseNames(case) if any(word in name for word in words)]
        outcomes = {}
        for name in names:
            outcome, reason, seconds = run_one(case, name)
            outcomes[name] = {"outcome": outcome, "reason": reason, "seconds": round(seconds, 2)}
            if outcome == "failed" or options.verbose:
                print(f"{outcome:8} {seconds:6.1f} s  {name}  {reason.strip().splitlines()[-1] if reason else ''}", flush=True)
    counts = collections.Counter(one["outcome"] for one in outcomes.values())
    print(f"{options.backend}, {options.ranks} ranks: {counts['passed']} passed, {counts['skipped']} skipped, {counts['failed']} failed")
    if options.json:
        options.json.write_text(json.dumps(outcomes, indent=1))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
