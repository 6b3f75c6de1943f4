#!/usr/bin/env python3
"""Runs clang-tidy over the files that changed, or over all of them.

  scripts/tidy.py --build build/lint [--all] [--jobs N]

Changed means: differs from the last commit, or is not committed yet, or was committed since the branch left its upstream.
A changed header is checked through one source file that includes it.
"""

import argparse
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The path analysis takes three quarters of the time in a test and walks through GoogleTest's macros; test code runs under
# the sanitizers anyway.
NOT_FOR_TESTS = "--checks=-clang-analyzer-*"
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def git(*arguments):
    done = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True)
    return done.stdout.splitlines() if done.returncode == 0 else None


def changed_files():
    """Paths below ROOT, or None where git cannot tell."""
    base = (git("merge-base", "HEAD", "@{upstream}") or git("rev-parse", "--verify", "HEAD") or [None])[0]
    tracked = git("diff", "--name-only", "--diff-filter=d", base) if base else git("ls-files")
    untracked = git("ls-files", "--others", "--exclude-standard")
    if tracked is None or untracked is None:
        return None
    return {ROOT / name for name in tracked + untracked}


def includes_of(file):
    """Our own headers that the file includes directly."""
    for name in INCLUDE.findall(file.read_text(errors="replace")):
        for folder in (ROOT / "include", ROOT / "src", ROOT / "tests", ROOT / "bench", file.parent):
            if (folder / name).is_file():
                yield folder / name
                break


def headers_behind(source):
    seen, waiting = set(), [source]
    while waiting:
        for header in includes_of(waiting.pop()):
            if header not in seen:
                seen.add(header)
                waiting.append(header)
    return seen


def choose(sources, changed):
    """The changed sources, and for each changed header that none of them includes, one source that does."""
    chosen = [source for source in sources if source in changed]
    headers = {file for file in changed if file.suffix == ".h" and file.is_file()}
    for source in chosen:
        headers -= headers_behind(source)
    # A header's own source first: src/ir/x.cpp for include/hocket/ir/x.h.
    for source in sorted(sources, key=lambda source: source.stem not in {header.stem for header in headers}):
        if not headers:
            break
        behind = headers_behind(source) & headers
        if behind:
            chosen.append(source)
            headers -= behind
    return chosen


def tidy(build, source):
    command = ["clang-tidy", "-p", build, "--quiet", source]
    if (ROOT / "tests") in source.parents or source.stem.endswith("_test"):
        command.append(NOT_FOR_TESTS)
    done = subprocess.run(command, capture_output=True, text=True)
    # clang-tidy counts the warnings it suppressed on stderr; only what it found matters.
    return done.returncode, done.stdout + (done.stderr if done.returncode and not done.stdout else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()

    database = json.loads((options.build / "compile_commands.json").read_text())
    sources = sorted({pathlib.Path(entry["file"]) for entry in database if entry["file"].startswith(f"{ROOT}/")})
    sources = [source for source in sources if options.build.resolve() not in source.parents]
    changed = None if options.all else changed_files()
    if changed is not None:
        sources = choose(sources, changed)

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running = {pool.submit(tidy, options.build, source): source for source in sources}
        for number, future in enumerate(concurrent.futures.as_completed(running), start=1):
            code, output = future.result()
            print(f"[{number}/{len(sources)}] {running[future].relative_to(ROOT)}", file=sys.stderr)
            if code:
                failed += 1
                print(output)
    print(f"clang-tidy: {len(sources)} files, {failed} with findings", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
