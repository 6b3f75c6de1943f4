#!/usr/bin/env python3
"""The table of docs/pytorch_tests.md: PyTorch's own tests with gloo and with hocket, for 2, 3 and 4 ranks.

    pytorch_suite_table.py [--ranks 2 3 4] [--from FOLDER]

It takes some minutes for each number of ranks. --from: with the outcomes that were written there before, and written there otherwise.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

SUITE = pathlib.Path(__file__).with_name("pytorch_suite.py")

# (back end, what tests are told that it is, tests)
RUNS = [("gloo", "gloo", ""), ("hocket", "gloo", ""), ("hocket", "mpi", "all_to_all")]
RANKS_OF_GROUPS = 3  # with fewer, those that are told it is MPI make groups that can't be

# Words of a reason for a skip, and what they mean here; the first that fits.
REASONS = [
    ("CUDA", "needs GPUs"),
    ("Only Nccl", "needs GPUs"),
    ("NCCL", "needs NCCL"),
    ("nccl", "needs NCCL"),
    ("MPI", "all_to_all, which gloo had not: see the last column"),
    ("world size", "needs more ranks"),
    ("odd", "needs an even number of ranks"),
    ("torchvision", "needs torchvision"),
]
SWITCHED_OFF = "switched off by PyTorch as flaky or broken"


def outcomes(folder, backend, also, match, ranks):
    """Of one run; those of an earlier one, if it was written."""
    file = folder / f"{backend}-as-{also}-{ranks}.json"
    if not file.exists():
        command = [sys.executable, "-B", str(SUITE), "--backend", backend, "--as", also, "--ranks", str(ranks)]
        subprocess.run([*command, "--match", match, "--json", str(file)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return json.loads(file.read_text())


def named(found, outcome):
    return {name for name, one in found.items() if one["outcome"] == outcome}


def why_skipped(found):
    """{what it means: how many tests}."""
    counts = collections.Counter()
    for one in found.values():
        if one["outcome"] == "skipped":
            counts[next((meaning for word, meaning in REASONS if word in one["reason"]), SWITCHED_OFF)] += 1
    return counts


def row(folder, ranks):
    """A line of the table, the skips, and what gloo passes and hocket does not."""
    gloo, ours = (outcomes(folder, *run, ranks) for run in RUNS[:2])
    as_mpi = named(outcomes(folder, *RUNS[2], ranks), "passed") if ranks >= RANKS_OF_GROUPS else set()
    missing = sorted(named(gloo, "passed") - named(ours, "passed"))
    line = (
        f"| {ranks} | {len(ours)} | {len(named(gloo, 'passed'))} | {len(named(ours, 'passed'))} | "
        f"{len(named(ours, 'skipped'))} | {', '.join(f'`{name}`' for name in missing) or 'none'} | "
        f"{len(as_mpi) if ranks >= RANKS_OF_GROUPS else 'not run'} |"
    )
    return line, why_skipped(ours)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 3, 4])
    parser.add_argument("--from", dest="folder", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or pathlib.Path(temporary)
        folder.mkdir(exist_ok=True)
        rows = [row(folder, ranks) for ranks in options.ranks]
    print("| ranks | tests | gloo passes | hocket passes | skipped by both | gloo passes, hocket does not | MPI's all_to_all on hocket |")
    print("|---|---|---|---|---|---|---|")
    print("\n".join(line for line, _ in rows))
    print("\n| why skipped | " + " | ".join(f"{ranks} ranks" for ranks in options.ranks) + " |")
    print("|---" * (len(options.ranks) + 1) + "|")
    for meaning in sorted({meaning for _, skips in rows for meaning in skips}):
        print(f"| {meaning} | " + " | ".join(str(skips[meaning]) for _, skips in rows) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
