"""Says of each promise in docs/promises.md how many of its tests passed.

    promises.py --junit FILE...      after a test run: one line for each promise; exit 1 if one is broken or nothing proves it
    promises.py --ctest FOLDER       that every promise has tests there
"""

import argparse
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "promises.md"


def promises():
    """Name and patterns of each row of the table."""
    rows = []
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) != 3 or cells[0] in ("promise", "---"):
            continue
        patterns = [pattern.replace(r"\|", "|") for pattern in re.findall(r"`([^`]+)`", cells[2])]
        rows.append((cells[0], patterns))
    if not rows:
        sys.exit(f"{PAGE} has no table of promises")
    return rows


def of_junit(files):
    """The outcome of every test that ran: run, fail or notrun."""
    outcomes = {}
    for file in files:
        for case in xml.etree.ElementTree.parse(file).getroot().iter("testcase"):
            # A test fails if it fails under any sanitizer.
            if outcomes.get(case.get("name")) != "fail":
                outcomes[case.get("name")] = case.get("status")
    return outcomes


def of_ctest(folder):
    listing = subprocess.run(["ctest", "--test-dir", folder, "-N"], check=True, capture_output=True, text=True).stdout
    return dict.fromkeys(re.findall(r"Test\s+#\d+: (\S+)", listing), "run")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--junit", nargs="+")
    parser.add_argument("--ctest")
    arguments = parser.parse_args()
    outcomes = of_junit(arguments.junit) if arguments.junit else of_ctest(arguments.ctest)
    kept = True
    for name, patterns in promises():
        idle = [pattern for pattern in patterns if not any(re.search(pattern, test) for test in outcomes)]
        chosen = {test: outcome for test, outcome in outcomes.items() if any(re.search(p, test) for p in patterns)}
        failed = sorted(test for test, outcome in chosen.items() if outcome == "fail")
        passed = sum(outcome == "run" for outcome in chosen.values())
        if failed:
            verdict = f"broken: {', '.join(failed[:3])}" + (f" and {len(failed) - 3} more" if len(failed) > 3 else "")
        elif idle:
            verdict = f"not proven: no test is called {' or '.join(idle)}"
        else:
            verdict = f"kept, {passed} tests" + (f", {len(chosen) - passed} skipped" if passed < len(chosen) else "")
        kept = kept and not failed and not idle
        if arguments.junit or failed or idle:
            print(f"{name:<14} {verdict}")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
