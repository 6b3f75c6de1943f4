"""Plants bugs in the passes, one at a time, and sees whether the tests notice.

    mutate.py --build build/release-core --count 200 --seed 1      plants so many bugs; what came out is in build/mutants.jsonl
    mutate.py --build build/release-core --count 200 --list        shows them without planting
    mutate.py --summary                                            of what is in build/mutants.jsonl

A mutant is one source with one small change, as a slip of the pen would make: a comparison that is off by one, a condition the other
way round, a statement that is left out. Which ones there are follows from the seed and the sources alone. Only the object of that
source is compiled anew; it stands before the library when the test programs are linked, so that a mutant costs seconds. A run takes
up where the last one ended; the objects of those that survived are kept, so that --again has only to link.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import resource
import shlex
import signal
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
EQUIVALENT = pathlib.Path(__file__).with_name("equivalent.txt")
RESULTS = ROOT / "build" / "mutants.jsonl"

ROOMS = ("fuse", "fsdp", "lower", "plan", "schedule")
# What these choose is checked by all who use it, so that a bug in them can make a schedule slower and not wrong: `./hk bench schedule`
# holds it against optimal ones. The texts of reports are for people.
CHOOSES_ONLY = {
    "bucket_moves.cpp", "bucket_plan.cpp", "bucket_times.cpp", "deferral.cpp", "explain.cpp", "guide_progress.cpp",
    "lean_order.cpp", "order_maker.cpp", "overlap.cpp", "overlap_explore.cpp", "overlap_report.cpp",
    "overlap_search.cpp", "paths.cpp", "polish.cpp", "report.cpp", "setting.cpp", "unit_events.cpp", "urgency.cpp",
}  # fmt: skip

# The room's own tests first, most mutants end there; then the others, the slowest last.
TESTS = {
    "fuse": ["fuse", "programs", "compile", "passes"],
    "fsdp": ["fsdp", "programs", "compile", "passes"],
    "lower": ["lower", "programs", "lowering", "compile", "passes"],
    "plan": ["plan", "programs", "lowering", "compile", "passes"],
    "schedule": ["schedule", "programs", "orders", "compile", "passes"],
}
# What the same passes stand again and again elsewhere is left out: a survivor would take minutes.
FILTERS = {"passes": "Campaign.*:RandomPipelines.*:ProgramTexts.*", "compile": "-OverlapPass.*:Long*:*.Long*"}
DEFAULT_FILTER = "-Long*:*.Long*:*/Long*"
# As in the debug and sanitizer builds of `./hk test --all`, nothing gets past the end of a vector unnoticed.
HARDENED = ["-w", "-g0", "-O1", "-D_GLIBCXX_ASSERTIONS"]
SANITIZED = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
MOST_MEMORY = 4 << 30  # of a mutant that fills a list without end
MOST_SECONDS = 3600


def code_only(line):
    """The line without its comment, and nothing where it holds text for people or no statement."""
    code = re.sub(r"//.*", "", line).rstrip()
    if re.match(r"\s*(#|namespace|using|template|static_assert|struct|class|enum|case|default:|public:|private:)", code):
        return ""
    if re.search(r"fail\(|fmt::|HOCKET_TRY|reserve\(|Error|\"|operator", code):
        return ""
    return code


SWAPS = [
    ("comparison", r" < ", " <= "),
    ("comparison", r" <= ", " < "),
    ("comparison", r" > ", " >= "),
    ("comparison", r" >= ", " > "),
    ("equality", r" == ", " != "),
    ("equality", r" != ", " == "),
    ("connective", r" && ", " || "),
    ("connective", r" \|\| ", " && "),
    ("off by one", r" \+ 1\b(?![.\d'])", " + 0"),
    ("off by one", r" - 1\b(?![.\d'])", " - 0"),
    ("sign", r" \+ (?=[a-z])", " - "),
    ("sign", r" - (?=[a-z])", " + "),
    ("sign", r" \+= ", " -= "),
    ("sign", r" -= ", " += "),
    ("extreme", r"std::max\b", "std::min"),
    ("extreme", r"std::min\b", "std::max"),
    ("constant", r"\btrue\b", "false"),
    ("constant", r"\bfalse\b", "true"),
    ("negation", r"(?<=[( ])!(?=[a-z(])", ""),
    ("quantifier", r"any_of\b", "all_of"),
    ("quantifier", r"all_of\b", "any_of"),
]


def mutants_of_line(line):
    """(what kind of bug, the line with it), for every place in the line."""
    code = code_only(line)
    if not code:
        return
    for kind, pattern, instead in SWAPS:
        for match in re.finditer(pattern, code):
            yield kind, code[: match.start()] + instead + code[match.end() :]
    condition = re.match(r"^(\s*(?:\} else )?if \()(.*)(\)(?: \{| [^()]*;| [^ ]*\(.*\);| return.*;)?)$", code)
    if condition and balanced(condition[2]):
        yield "condition", f"{condition[1]}!({condition[2]}){condition[3]}"
    statement = re.match(r"^(\s+)([a-z][\w.>\[\]()-]*\(.*\)|[+-]{2}[\w.\[\]()]+|[\w.\[\]()]+ [|&+-]?= .*);$", code)
    if statement and balanced(statement[2]) and not re.match(r"\s*(return|const|auto)\b", code):
        yield "left out", f"{statement[1]};"
    if re.match(r"^\s+continue;$", code):
        yield "left out", ";"


def balanced(text):
    depth = 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            return False
    return depth == 0


def all_mutants():
    for room in ROOMS:
        for path in sorted((ROOT / "src" / room).glob("*.cpp")):
            if path.name.endswith("_test.cpp") or path.name in CHOOSES_ONLY:
                continue
            lines = path.read_text().splitlines()
            for number, line in enumerate(lines):
                for kind, instead in mutants_of_line(line):
                    yield {"file": str(path.relative_to(ROOT)), "line": number + 1, "kind": kind,
                           "before": line.strip(), "after": instead.strip()}  # fmt: skip


def key_of(mutant):
    """The same as long as the line is, wherever it stands."""
    text = "\0".join([mutant["file"], mutant["before"], mutant["after"]])
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def chosen(count, seed):
    mutants = list(all_mutants())
    for mutant in mutants:
        mutant["key"] = key_of(mutant)
    # By a digest with the seed, so that a change of one source leaves the choice in the others as it is.
    mutants.sort(key=lambda one: hashlib.sha256(f"{seed} {one['key']} {one['line']}".encode()).hexdigest())
    twins = collections.Counter()  # the same line can stand in a source twice
    for mutant in mutants[:count]:
        key = mutant["key"]
        if twins[key] > 0:
            mutant["key"] = hashlib.sha256(f"{key} {twins[key]}".encode()).hexdigest()[:10]
        twins[key] += 1
    return mutants[:count]


class Workshop:
    def __init__(self, build, without):
        self.build = build
        self.without = without
        self.folder = build / "mutants"
        self.folder.mkdir(exist_ok=True)
        commands = json.loads((build / "compile_commands.json").read_text())
        self.compile = {pathlib.Path(one["file"]).resolve(): one for one in commands}
        self.links = {}
        self.times = {}
        self.precompiled = self.folder / "precompiled.h"
        has_gold = subprocess.run(["which", "ld.gold"], capture_output=True).returncode == 0
        self.linker = ["-fuse-ld=gold"] if has_gold else []  # several times as fast

    def link_words(self, name):
        if name not in self.links:
            listing = subprocess.run(["ninja", "-C", self.build, "-t", "commands", f"tests/{name}_test"],
                                     check=True, capture_output=True, text=True).stdout  # fmt: skip
            last = [line for line in listing.splitlines() if f"-o tests/{name}_test" in line][-1]
            words = shlex.split(last.removeprefix(": && ").removesuffix(" && :"))
            self.links[name] = words[: words.index("&&")] if "&&" in words else words
        return self.links[name]

    def precompile(self):
        """The library's precompiled header with the mutants' options: another one would be read as text each time."""
        entry = next(one for one in self.compile.values() if "/src/plan/plan.cpp" in one["file"])
        words = self.compile_words(entry)
        header = pathlib.Path(words[words.index("-include") + 1])
        self.precompiled.write_text(header.read_text())
        del words[words.index("-include") : words.index("-include") + 2]
        words[words.index("-o") + 1] = str(self.precompiled) + ".gch"
        words[words.index("-c") + 1] = str(self.precompiled)
        words[1:1] = ["-x", "c++-header"]
        subprocess.run(words + HARDENED, cwd=entry["directory"], check=True)

    @staticmethod
    def compile_words(entry):
        words = shlex.split(entry["command"])
        return [word for word in words if word != "-Werror" and not word.endswith("ccache")]

    def compiled(self, mutant, sanitized=False):
        """The object of the mutant, or nothing where the compiler refuses it."""
        source = (ROOT / mutant["file"]).resolve()
        lines = source.read_text().splitlines()
        lines[mutant["line"] - 1] = mutant["after"]
        text = "\n".join(lines) + "\n"
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        planted = self.folder / f"{source.stem}_{digest}{'_sanitized' if sanitized else ''}.cpp"
        target = planted.with_suffix(".o")
        if target.exists():
            return target
        planted.write_text(text)
        entry = self.compile[source]
        words = self.compile_words(entry)
        words[words.index("-o") + 1] = str(target)
        words[words.index("-c") + 1] = str(planted)
        words[words.index("-include") + 1] = str(self.precompiled)
        words += [*HARDENED, *(SANITIZED if sanitized else []), "-iquote", str(source.parent)]
        done = subprocess.run(words, cwd=entry["directory"], capture_output=True)
        planted.unlink()
        return target if done.returncode == 0 else None

    def linked(self, name, target, sanitized=False):
        words = list(self.link_words(name))
        program = target.with_suffix(f".{name}")
        words[words.index("-o") + 1] = str(program)
        words[words.index("-o") + 2 : words.index("-o") + 2] = [str(target), "-s", *(SANITIZED if sanitized else self.linker)]
        done = subprocess.run(words, cwd=self.build, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"can't link {name}_test: {done.stderr[-2000:]}")
        return program

    def run(self, name, program, limit, sanitized=False):
        """The exit code and the processor time, which does not depend on what else the machine has to do."""

        def keep_limits():
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            if not sanitized:  # it maps terabytes that it never touches
                resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))

        words = [program, f"--gtest_filter={FILTERS.get(name, DEFAULT_FILTER)}", "--gtest_fail_fast", "--gtest_brief=1"]
        process = subprocess.Popen(words, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   preexec_fn=keep_limits)  # fmt: skip
        watch = threading.Timer(MOST_SECONDS, process.kill)  # one that sleeps takes no processor time
        watch.start()
        _, status, usage = os.wait4(process.pid, 0)
        watch.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        hangs = process.returncode in (-signal.SIGXCPU, -signal.SIGKILL)
        return "hangs" if hangs else process.returncode, usage.ru_utime + usage.ru_stime

    def prepare(self):
        """How long the programs take as they are: a mutant that takes several times as long hangs."""
        if self.times:
            return
        self.precompile()
        for name in sorted({name for names in TESTS.values() for name in names} - {self.without}):
            code, took = self.run(name, self.build / "tests" / f"{name}_test", 1200)
            if code != 0:
                sys.exit(f"{name}_test fails without any mutant")
            print(f"{name}_test takes {took:.1f} s", flush=True)
            self.times[name] = took
            self.link_words(name)

    def verdict(self, mutant):
        target = self.compiled(mutant)
        if target is None:
            return "does not compile"
        for name in TESTS[mutant["file"].split("/")[1]]:
            if name == self.without:
                continue
            code = self.run_with(target, name, False)
            if code != 0:
                target.unlink()
                return f"caught by {name}" + (" (it hangs)" if code == "hangs" else "")
        return self.verdict_of_sanitizers(mutant)

    def verdict_of_sanitizers(self, mutant):
        """`./hk test --all` runs the tests with the address and undefined-behaviour sanitizers, too: here the first two programs."""
        target = self.compiled(mutant, sanitized=True)
        for name in TESTS[mutant["file"].split("/")[1]][:2]:
            if self.run_with(target, name, True) != 0:
                return f"caught by {name} (with sanitizers)"
        return "survived"

    def run_with(self, target, name, sanitized):
        program = self.linked(name, target, sanitized)
        code, _ = self.run(name, program, int(5 * self.times[name]) + 20, sanitized)
        program.unlink()
        return code


def judged_equivalent():
    """By key: the reason why no test can tell the mutant from the original."""
    if not EQUIVALENT.exists():
        return {}
    lines = [line for line in EQUIVALENT.read_text().splitlines() if re.match(r"^[0-9a-f]{10} ", line)]
    return dict(line.split(" ", 1) for line in lines)


def read_results():
    if not RESULTS.exists():
        return {}
    return {one["key"]: one for one in map(json.loads, RESULTS.read_text().splitlines())}


def summarize(results):
    equivalent = judged_equivalent()
    caught = [one for one in results if one["verdict"].startswith("caught")]
    same = [one for one in results if one["verdict"] == "survived" and one["key"] in equivalent]
    alive = [one for one in results if one["verdict"] == "survived" and one["key"] not in equivalent]
    refused = [one for one in results if one["verdict"] == "does not compile"]
    for one in alive:
        print(f"{one['key']} {one['file']}:{one['line']} {one['kind']}\n  - {one['before']}\n  + {one['after']}")
    bugs = len(caught) + len(alive)
    share = 100 * len(caught) / bugs if bugs else 0
    print(f"{bugs} bugs, {len(caught)} caught ({share:.1f} %), {len(alive)} survived; "
          f"{len(same)} changes that are none, {len(refused)} do not compile")  # fmt: skip
    return share >= 99


def first_bugs(candidates, results, count):
    """As many as are wanted: all but those that do not compile or are no bugs."""
    no_bugs = set(judged_equivalent()) | {key for key, one in results.items() if one["verdict"] == "does not compile"}
    return [one for one in candidates if one["key"] not in no_bugs][:count]


def judge(candidates, results, arguments):
    """Tries what has not been tried, until there are as many bugs as are wanted."""
    workshop = Workshop(arguments.build.resolve(), arguments.without)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        while True:
            wanted = [one for one in first_bugs(candidates, results, arguments.count) if one["key"] not in results]
            if not wanted:
                return
            workshop.prepare()
            for mutant, verdict in zip(wanted, pool.map(workshop.verdict, wanted)):
                mutant["verdict"] = verdict
                results[mutant["key"]] = mutant
                with RESULTS.open("a") as file:
                    file.write(json.dumps(mutant) + "\n")
                print(f"{mutant['key']} {mutant['file']}:{mutant['line']} {mutant['kind']}: {verdict}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release-core")
    parser.add_argument("--count", type=int, default=200, help="bugs, those that do not compile not counted")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time")
    parser.add_argument("--again", action="store_true", help="also those that survived the last time")
    parser.add_argument("--without", help="leaves out a test program that takes long; --again without this judges what survived")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--summary", action="store_true")
    arguments = parser.parse_args()
    results = read_results()
    if arguments.summary:
        return 0 if summarize(results.values()) else 1
    candidates = chosen(10 * arguments.count, arguments.seed)
    if arguments.list:
        for one in candidates[: arguments.count]:
            print(f"{one['key']} {one['file']}:{one['line']} {one['kind']}: {one['before']}  ->  {one['after']}")
        return 0
    if arguments.again:
        results = {key: one for key, one in results.items() if one["verdict"] != "survived"}
    judge(candidates, results, arguments)
    last = candidates.index(first_bugs(candidates, results, arguments.count)[-1])
    return 0 if summarize([results[one["key"]] for one in candidates[: last + 1] if one["key"] in results]) else 1


if __name__ == "__main__":
    sys.exit(main())
