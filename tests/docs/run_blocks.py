#!/usr/bin/env python3
"""Runs the code blocks of the documentation, so that what it shows is what happens.

  run_blocks.py --build DIR --tool PATH [--torch 0|1] [--compile] [PAGE...]

The pages are README.md, CONTRIBUTING.md and docs/**/*.md unless named. What is done with a block depends on its language:

  sh        run by bash, must succeed
  console   lines that begin with "$ " are run, the lines below each are what it must print ("> " continues a command);
            a line "..." stands for any lines, "..." inside a line for any text; nothing below: anything may be printed
  cpp       compiled against the library; with a main() it is run too and must return 0
  python    run by the Python that has torch, with the package hocket of the build directory
  hocket    program text, must pass `hocket verify -`
  json      must parse
  text      not looked at

Every page has a scratch folder with a copy of the project's files, in which its blocks run one after the other, with
`hocket` on the PATH and at build/hocket, and so are torchrun and the package where there are any. A comment right above a block changes what is done with it:

  <!-- test: skip REASON -->     nothing; the reason is printed with the results. For what installs, builds or downloads
  <!-- test: file NAME -->       the block is written to NAME in the scratch folder, for the blocks below it
  <!-- test: exit N -->          (sh, console) the last command must exit with N
  <!-- test: in FRAME -->        (cpp) compiled in place of the line "// BLOCK" of tests/docs/frames/FRAME.cpp
  <!-- test: needs torch -->     skipped where hocket is built without libtorch

A block without a language is an error, as is one in another language than those above without `skip` or `file`.
"""

import argparse
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
FRAMES = pathlib.Path(__file__).resolve().parent / "frames"
SECONDS_FOR_A_BLOCK = 120
SECONDS_FOR_A_COMPILATION = 600

FENCE = re.compile(r"^(?P<indent>\s*)(?P<marks>```+|~~~+)\s*(?P<language>[\w+-]*)")
DIRECTIVE = re.compile(r"^\s*<!--\s*test:\s*(?P<verb>\w*)\s*(?P<value>.*?)\s*-->\s*$")
HAS_MAIN = re.compile(r"^\s*(int|auto)\s+main\s*\(", re.MULTILINE)
CHANGES_THE_MACHINE = re.compile(
    r"\./hk\s+(demo|test|build|bench|lint|format|setup)\b|\bapt(-get)?\s+\w|\bpip3?\s+install\b|\bgit\s+clone\b")
VERBS_WITH_VALUE = {"skip", "file", "exit", "in", "needs"}


class Failure(Exception):
    """What is wrong with a block, in words for the author of the page."""


@dataclasses.dataclass
class Block:
    page: pathlib.Path  # below the root
    line: int           # of the first line of its text
    language: str
    text: str
    directives: dict

    @property
    def place(self):
        return f"{self.page}:{self.line}"

    @property
    def target(self):
        return "block_" + hashlib.sha1(f"{self.page} {self.text}".encode()).hexdigest()[:12]


def read_page(root, page):
    """The blocks of a page. A directive belongs to the block that follows it, with nothing but blank lines between."""
    lines = (root / page).read_text().splitlines()
    blocks, directives, at = [], {}, 0
    while at < len(lines):
        line, fence = lines[at], FENCE.match(lines[at])
        at += 1
        directive = DIRECTIVE.match(line)
        if directive:
            verb, value = directive["verb"], directive["value"]
            if verb not in VERBS_WITH_VALUE:
                raise Failure(f"{page}:{at}: unknown directive '{verb}', expected one of {sorted(VERBS_WITH_VALUE)}")
            if not value:
                what = "a reason" if verb == "skip" else "a value"
                raise Failure(f"{page}:{at}: '{verb}' needs {what}")
            directives[verb] = value
        elif fence:
            start, indent, marks = at, len(fence["indent"]), fence["marks"]
            while at < len(lines) and not re.fullmatch(rf"\s*{marks[0]}{{{len(marks)},}}\s*", lines[at]):
                at += 1
            if at == len(lines):
                raise Failure(f"{page}:{start}: the block is never closed")
            text = "".join(line[min(indent, len(line) - len(line.lstrip())):] + "\n" for line in lines[start:at])
            blocks.append(Block(page, start + 1, fence["language"], text, directives))
            directives = {}
            at += 1
        elif line.strip() and directives:
            raise Failure(f"{page}:{at}: a test directive must stand right above its block")
    return blocks


def project_files(root):
    """What a user has after a clone: the tracked files, and those not yet tracked but not ignored either."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            capture_output=True, text=True)
    if listed.returncode == 0:
        return [name for name in listed.stdout.split("\0") if name and (root / name).is_file()]
    ignored = {"build", ".venv", ".git"}
    return [str(path.relative_to(root)) for path in root.rglob("*")
            if path.is_file() and path.relative_to(root).parts[0] not in ignored]


class Runner:
    def __init__(self, options, root, scratch):
        self.options = options
        self.root = root
        self.scratch = scratch
        self.tool = options.tool.resolve()
        self.environment = {**os.environ, "PATH": f"{self.tool.parent}:{os.environ['PATH']}", "NO_COLOR": "1", "TERM": "dumb",
                            "COLUMNS": "100"}
        self.python = getattr(options, "python", None)
        if self.python:
            self.environment |= {"PATH": f"{self.tool.parent}:{self.python.parent}:{os.environ['PATH']}",
                                 "PYTHONPATH": str(options.build.resolve() / "python"), "OMP_NUM_THREADS": "1"}
        self.languages = {"sh": self.run_sh, "console": self.run_console, "cpp": self.run_cpp, "hocket": self.run_hocket,
                          "json": self.run_json, "python": self.run_python}

    def why_skipped(self, block):
        if "skip" in block.directives:
            return block.directives["skip"]
        if block.directives.get("needs") == "torch" and not self.options.torch:
            return "needs libtorch"
        if block.language == "python" and not self.python:
            return "needs the Python package"
        return None

    def run(self, block):
        """Raises Failure if the block does not do what the page says. Blocks of a page must be run in its order."""
        language, directives = block.language, block.directives
        if not language:
            raise Failure("the block has no language; for plain text write ```text")
        if "file" in directives:
            target = self.folder_of(block.page) / directives["file"]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text)
            if language not in {"json", "hocket"}:
                return
        if language not in self.languages:
            raise Failure(f"nothing is known about language '{language}': give it a `file` name that a later block uses, or `skip` "
                          f"it; known: {', '.join([*self.languages, 'text'])}")
        if language in {"sh", "console"} and CHANGES_THE_MACHINE.search(block.text):
            raise Failure("the block installs, builds or downloads: put <!-- test: skip REASON --> above it")
        self.languages[language](block)

    def folder_of(self, page):
        folder = self.scratch / str(page).replace("/", "_")
        if not folder.exists():
            folder.mkdir()
            for name in project_files(self.root):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(self.root / name, folder / name)
            (folder / "build").mkdir(exist_ok=True)
            (folder / "build/hocket").symlink_to(self.tool)
        return folder

    def process(self, command, block, text=None, seconds=SECONDS_FOR_A_BLOCK):
        """Exit code and output, both streams in one."""
        try:
            done = subprocess.run([str(part) for part in command], cwd=self.folder_of(block.page), env=self.environment, input=text,
                                  stdin=None if text is not None else subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=seconds)
        except subprocess.TimeoutExpired as error:
            raise Failure(f"not done after {seconds} s\n{(error.stdout or b'').decode(errors='replace')}") from None
        return done.returncode, done.stdout

    def expect_code(self, what, code, expected, output):
        if code != expected:
            raise Failure(f"{what} exited with {code}, expected {expected}\n{output}")

    def run_sh(self, block):
        # No pipefail: in `hocket … | head -3` the first command may rightly die of a closed pipe.
        code, output = self.process(["bash", "-eu", "-c", block.text], block)
        self.expect_code("the block", code, int(block.directives.get("exit", 0)), output)

    def run_console(self, block):
        steps = console_steps(block.text)
        # All commands run in one shell; a marker line tells where the output of one ends, and its exit code.
        marker = f"--{uuid.uuid4()}--"
        script = "".join(f"{command}\nprintf '\\n{marker} %d\\n' $?\n" for command, _ in steps)
        _, everything = self.process(["bash", "-c", script], block)
        parts = re.split(rf"\n{marker} (\d+)\n", everything)
        for number, (command, expected) in enumerate(steps):
            if 2 * number + 1 >= len(parts):
                raise Failure(f"the shell ended in: {command}\n{parts[-1]}")
            output, code = parts[2 * number], int(parts[2 * number + 1])
            last = number == len(steps) - 1
            self.expect_code(command, code, int(block.directives.get("exit", 0)) if last else 0, output)
            if expected and not matches(expected, output):
                raise Failure(f"{command}\n--- the page shows\n" + "\n".join(expected) + f"\n--- it prints\n{output}")

    def run_python(self, block):
        code, output = self.process([self.python, "-B", "-"], block, text=block.text)
        self.expect_code("the block", code, int(block.directives.get("exit", 0)), output)

    def run_hocket(self, block):
        code, output = self.process([self.tool, "verify", "-"], block, text=block.text)
        self.expect_code("hocket verify -", code, 0, output)

    def run_json(self, block):
        try:
            json.loads(block.text)
        except ValueError as error:
            raise Failure(f"not JSON: {error}") from None

    def run_cpp(self, block):
        folder = self.cpp_folder()
        code, output = self.process([self.options.cmake, "--build", folder, "--target", block.target], block,
                                    seconds=SECONDS_FOR_A_COMPILATION)
        self.expect_code("the compiler", code, 0, output)
        if HAS_MAIN.search(cpp_source(block)):
            code, output = self.process([folder / block.target], block)
            self.expect_code("the program", code, 0, output)

    def cpp_folder(self):
        # Kept from run to run, so that a block that did not change is not compiled again.
        return self.options.build.resolve() / "docs_blocks"

    def prepare_cpp(self, blocks):
        """Makes one CMake project of all C++ blocks, which uses hocket as a stranger would, and builds what it can."""
        folder = self.cpp_folder()
        folder.mkdir(exist_ok=True)
        lines = ["cmake_minimum_required(VERSION 3.25)", "project(docs_blocks LANGUAGES CXX)",
                 f'find_package(hocket REQUIRED PATHS "{self.options.build.resolve()}" NO_DEFAULT_PATH)']
        for block in blocks:
            source = cpp_source(block)
            write_if_new(folder / f"{block.target}.cpp", source)
            kind = "add_executable({}" if HAS_MAIN.search(source) else "add_library({} OBJECT"
            library = "hocket::hocket" if self.options.torch else "hocket::core"
            lines += [kind.format(block.target) + f" {block.target}.cpp)",
                      f"target_link_libraries({block.target} PRIVATE {library})"]
        write_if_new(folder / "CMakeLists.txt", "\n".join(lines) + "\n")
        configured = subprocess.run([self.options.cmake, "-S", folder, "-B", folder, "-G", "Ninja",
                                     f"-DCMAKE_CXX_COMPILER={self.options.cxx}"], capture_output=True, text=True)
        if configured.returncode:
            raise Failure(f"cannot configure the C++ blocks\n{configured.stdout}{configured.stderr}")
        # What fails here fails again, with its message, when the block's turn comes.
        subprocess.run([self.options.cmake, "--build", folder, "--parallel", "2", "--", "-k", "0"], capture_output=True)


def console_steps(text):
    """[(command, expected lines)] of a console block."""
    steps, unfinished = [], False
    for line in text.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        elif not steps:
            raise Failure("a console block begins with a command: $ …")
        elif unfinished or (line.startswith("> ") and not steps[-1][1]):
            steps[-1] = (steps[-1][0] + "\n" + line.removeprefix("> "), [])
        else:
            steps[-1][1].append(line)
        unfinished = line.endswith("\\") and not steps[-1][1]
    if not steps:
        raise Failure("the console block has no command")
    return steps


def matches(expected, output):
    """Whether the output is what the lines show; see the top of this file for what "..." means."""
    pattern = ""
    for line in "\n".join(expected).rstrip().splitlines():
        if line.strip() == "...":
            pattern += r"(?:.*\n)*"
        else:
            pattern += ".*".join(re.escape(part) for part in line.rstrip().split("...")) + r"\n"
    lines = [line.rstrip() + "\n" for line in output.rstrip().splitlines()]
    return re.fullmatch(pattern, "".join(lines)) is not None


def cpp_source(block):
    """The block as a file to compile, whose errors are reported at their place in the page."""
    text = f'#line {block.line} "{block.page}"\n{block.text}'
    frame = block.directives.get("in")
    if not frame:
        return text
    around = FRAMES / f"{frame}.cpp"
    if not around.is_file():
        raise Failure(f"there is no frame {around}")
    before, mark, after = around.read_text().partition("// BLOCK\n")
    if not mark:
        raise Failure(f"{around} has no line // BLOCK")
    return f"{before}{text}{after}"


def write_if_new(file, text):
    if not file.is_file() or file.read_text() != text:
        file.write_text(text)


def find_pages(root):
    pages = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]
    return [page.relative_to(root) for page in pages if page.is_file()]


def check(options, root, pages):
    """Prints the results of all blocks of the pages; true if all is well."""
    failures, skipped, ran, inert = [], [], 0, 0
    blocks = []
    for page in pages:
        try:
            blocks += read_page(root, page)
        except Failure as failure:
            failures.append(str(failure))

    with tempfile.TemporaryDirectory(prefix="hocket-docs-") as scratch:
        runner = Runner(options, root, pathlib.Path(scratch))
        to_run = []
        for block in blocks:
            reason = runner.why_skipped(block)
            if reason:
                skipped.append(f"{block.place}: {reason}")
            elif block.language == "text" and "file" not in block.directives:
                inert += 1
            else:
                to_run.append(block)
        cpp = [block for block in to_run if block.language == "cpp" and "file" not in block.directives]
        try:
            if cpp:
                runner.prepare_cpp(cpp)
        except Failure as failure:
            failures.append(str(failure))
            to_run = [block for block in to_run if block not in cpp]
        if options.compile:
            return True  # what does not compile is told when the blocks are run
        for block in to_run:
            try:
                runner.run(block)
                ran += 1
            except Failure as failure:
                failures.append(f"{block.place}: {failure}")

    for reason in skipped:
        print(f"skipped  {reason}")
    for failure in failures:
        print(f"FAILED   {failure}")
    print(f"{len(blocks)} blocks on {len(pages)} pages: {ran} as they should be, {len(failures)} failed, "
          f"{len(skipped)} skipped, {inert} plain text")
    return not failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=pathlib.Path, help="build directory of hocket")
    parser.add_argument("--tool", required=True, type=pathlib.Path, help="the hocket command")
    parser.add_argument("--torch", type=int, choices=[0, 1], default=0, help="whether hocket is built with libtorch")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="the project's folder")
    parser.add_argument("--python", type=pathlib.Path, help="the Python that has torch, if the package hocket is built")
    parser.add_argument("--compile", action="store_true", help="compile the C++ blocks and run nothing")
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    root = options.root.resolve()
    pages = [page.resolve().relative_to(root) for page in options.pages] or find_pages(root)
    return 0 if check(options, root, pages) else 1


if __name__ == "__main__":
    sys.exit(main())
