"""`./hk bench python`: hocket inside PyTorch, against gloo and against PyTorch's own passes.

--quick      fewer sizes, two ranks, one graph: less than a minute
--json FILE  all figures
--check      exit code 1 where a promise is not kept
"""

import argparse
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "python/tests")]

import collectives  # noqa: E402
import ddp_step  # noqa: E402
import optimizing  # noqa: E402
from ranks import run  # noqa: E402

SMALL = 16 << 10
TIMES_FASTER_WHEN_SMALL = 10
OVERHEAD_US = 2.0


def broken_promises(rows):
    """What the figures say against what was promised, in words."""
    broken = []
    for row in rows:
        if row["operation"] in ("call", "start"):
            if row["hocket_us"] > row["gloo_us"] + OVERHEAD_US:
                more = row["hocket_us"] - row["gloo_us"]
                broken.append(f"a {row['operation']} takes {more:.1f} µs more in Python than gloo's, allowed are {OVERHEAD_US}")
        elif "bytes" in row:
            needed = TIMES_FASTER_WHEN_SMALL if row["bytes"] < SMALL else 1
            if row["gloo_us"] < needed * row["hocket_us"]:
                broken.append(f"{collectives.show(row)}: at least {needed}x was promised")
        elif row["operation"] == "ddp_step":
            if row["hocket_ms"] > row["gloo_ms"]:
                broken.append(f"a DDP step of {row['ranks']} ranks takes {row['hocket_ms']:.1f} ms, with gloo {row['gloo_ms']:.1f} ms")
        else:
            broken += broken_by_optimizer(row)
    return broken


def broken_by_optimizer(row):
    """hocket's step is the shortest, and it is found no later than PyTorch's with buckets."""
    theirs = [row[key] for key in ("pytorch_ms", "pytorch_buckets_ms") if key in row]
    broken = []
    if theirs and row["hocket_ms"] > min(theirs):
        broken.append(f"{optimizing.show(row)}: PyTorch's step is shorter")
    if row["hocket_s"] > row.get("pytorch_buckets_s", float("inf")):
        broken.append(f"{optimizing.show(row)}: PyTorch compiles faster")
    return broken


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    settings = {"quick": options.quick, "turns": 16 if options.quick else 40, "steps": 8 if options.quick else 20}
    rows = []
    for ranks in (2,) if options.quick else (2, 4):
        rows += run(ranks, collectives.measure, settings, timeout=600, patience=3600)[0]
        rows += run(ranks, ddp_step.measure, settings, timeout=600, patience=3600)[0]
    rows += run(2, collectives.overhead, settings, timeout=600, patience=3600)[0]
    rows += run(1, optimizing.measure, settings, backend=None, patience=3600)[0]
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    broken = broken_promises(rows)
    for line in broken:
        print(f"NOT KEPT  {line}")
    return 1 if options.check and broken else 0


if __name__ == "__main__":
    sys.exit(main())
