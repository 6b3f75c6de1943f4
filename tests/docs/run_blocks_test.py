#!/usr/bin/env python3
"""Sees that run_blocks.py accepts what is right and catches what is not, on pages and a stand-in command made here."""

import argparse
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import run_blocks  # noqa: E402

# Stands in for the hocket command: `verify -` accepts any program with a return, `greet NAME` prints two lines.
TOOL = """#!/bin/sh
case $1 in
  verify) grep -q return || { echo "line 1: no return"; exit 1; } ;;
  greet) echo "hello $2"; echo "took 12 ms" ;;
esac
"""

# Stands in for the package in hocket's build directory.
PACKAGE = """
add_library(hocket::core INTERFACE IMPORTED)
target_compile_definitions(hocket::core INTERFACE ANSWER=42)
target_compile_features(hocket::core INTERFACE cxx_std_20)
"""


class RunBlocks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.build = self.root / "build/release"
        self.tool = self.build / "bin/hocket"
        self.tool.parent.mkdir(parents=True)
        self.tool.write_text(TOOL)
        self.tool.chmod(0o755)
        (self.build / "hocketConfig.cmake").write_text(PACKAGE)
        (self.root / "example.hk").write_text("return\n")

    def check(self, *page_lines):
        """(all is well, what was printed) for a README.md of these lines."""
        (self.root / "README.md").write_text("\n".join(page_lines) + "\n")
        options = argparse.Namespace(build=self.build, tool=self.tool, torch=0, compile=False, cmake="cmake", cxx="c++")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            well = run_blocks.check(options, self.root, run_blocks.find_pages(self.root))
        return well, printed.getvalue()

    def good(self, *page_lines):
        well, printed = self.check(*page_lines)
        self.assertTrue(well, printed)
        return printed

    def bad(self, message, *page_lines):
        well, printed = self.check(*page_lines)
        self.assertFalse(well, printed)
        self.assertIn(message, printed)

    def test_sh(self):
        self.good("```sh", "hocket greet you | grep -q hello", "build/hocket verify - <example.hk", "```")
        self.bad("README.md:2: the block exited with 1, expected 0", "```sh", "false", "true", "```")
        self.good("<!-- test: exit 3 -->", "```sh", "exit 3", "```")

    def test_blocks_of_a_page_share_a_folder_that_is_a_copy(self):
        self.good("```sh", "rm example.hk; echo made >here", "```", "", "```sh", "test ! -e example.hk; grep made here", "```")
        self.assertTrue((self.root / "example.hk").exists())

    def test_console(self):
        self.good("```console", "$ hocket greet you", "hello you", "took ... ms", "```")
        self.good("```console", "$ hocket greet you", "...", "took 12 ms", "$ cd build && name=me", "$ hocket greet \\", "    $name",
                  "hello me", "...", "```")
        self.good("```console", "$ hocket greet whom", "```")
        self.bad("--- it prints\nhello you", "```console", "$ hocket greet you", "hello you", "```")
        self.bad("begins with a command", "```console", "hello", "```")
        self.bad("false exited with 1", "```console", "$ false", "$ true", "```")
        self.good("<!-- test: exit 1 -->", "```console", "$ echo no return | grep yes", "```")

    def test_cpp(self):
        self.good("```cpp", "static_assert(ANSWER == 42);", "```", "```cpp", "int main() { return ANSWER - 42; }", "```")
        self.bad("README.md:3", "```cpp", "", "int x = nothing;", "```")
        self.bad("the program exited with 7", "```cpp", "int main() { return 7; }", "```")

    def test_program_text(self):
        self.good("```hocket", "graph { return }", "```")
        self.bad("no return", "```hocket", "graph {}", "```")

    def test_json(self):
        self.good("```json", '{"a": [1, 2]}', "```")
        self.bad("not JSON", "```json", '{"a": }', "```")

    def test_file(self):
        self.good("<!-- test: file sub/p.hk -->", "```text", "return", "```", "```sh", "hocket verify - <sub/p.hk", "```")
        self.good("<!-- test: file CMakeLists.txt -->", "```cmake", "project(x)", "```", "```sh", "grep project CMakeLists.txt", "```")

    def test_skip_is_reported_with_its_reason(self):
        printed = self.good("<!-- test: skip takes an hour -->", "", "```sh", "false", "```")
        self.assertIn("skipped  README.md:4: takes an hour", printed)
        self.assertIn("1 skipped", printed)
        self.bad("needs a reason", "<!-- test: skip -->", "```sh", "true", "```")

    def test_needs_torch(self):
        self.assertIn("needs libtorch", self.good("<!-- test: needs torch -->", "```sh", "false", "```"))

    def test_what_changes_the_machine_must_be_skipped(self):
        for command in ("./hk demo", "apt-get install cmake", "git clone it", "pip install torch==2.13.0"):
            self.bad("installs, builds or downloads", "```sh", command, "```")
        self.good("<!-- test: skip installs -->", "```sh", "./hk demo", "```")

    def test_language(self):
        self.bad("has no language", "```", "text", "```")
        self.bad("nothing is known about language 'fortran'", "```fortran", "END", "```")
        self.assertIn("1 plain text", self.good("```text", "anything", "```"))

    def test_directives_are_checked(self):
        self.bad("unknown directive 'skp'", "<!-- test: skp it -->", "```sh", "```")
        self.bad("right above its block", "<!-- test: skip it -->", "words", "```sh", "true", "```")
        self.bad("never closed", "```sh", "true")

    def test_indented_block_in_a_list(self):
        self.good("- first", "  ```json", "  {}", "  ```")

    def test_other_pages(self):
        (self.root / "docs/deep").mkdir(parents=True)
        (self.root / "docs/deep/page.md").write_text("```sh\nfalse\n```\n")
        self.bad("docs/deep/page.md:2", "no blocks here")


if __name__ == "__main__":
    unittest.main()
