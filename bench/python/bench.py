"""`./hk bench python`: hocket inside PyTorch, against gloo and against PyTorch's own passes.

--quick      fewer sizes, two ranks
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
from ranks import run  # noqa: E402

SMALL = 16 << 10
TIMES_FASTER_WHEN_SMALL = 10
OVERHEAD_US = 2.0


def broken_promises(rows):
    """What the figures say against what was promised, in words."""
    broken = []
    for row in rows:
        if row["operation"] == "alone":
            if row["hocket_us"] > row["gloo_us"] + OVERHEAD_US:
                broken.append(f"a call takes {row['hocket_us'] - row['gloo_us']:.1f} µs more than gloo's, allowed are {OVERHEAD_US}")
        elif "bytes" in row:
            needed = TIMES_FASTER_WHEN_SMALL if row["bytes"] < SMALL else 1
            if row["gloo_us"] < needed * row["hocket_us"]:
                broken.append(f"{collectives.show(row)}: at least {needed}x was promised")
    return broken


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    settings = {"quick": options.quick, "turns": 5 if options.quick else 11, "steps": 8 if options.quick else 20}
    rows = []
    for ranks in (2,) if options.quick else (2, 4):
        rows += run(ranks, collectives.measure, settings, timeout=600, patience=3600)[0]
        rows += run(ranks, ddp_step.measure, settings, timeout=600, patience=3600)[0]
    rows += run(2, collectives.overhead, settings, timeout=600, patience=600)[0]
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    broken = broken_promises(rows)
    for line in broken:
        print(f"NOT KEPT  {line}")
    return 1 if options.check and broken else 0


if __name__ == "__main__":
    sys.exit(main())
