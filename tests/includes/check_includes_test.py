#!/usr/bin/env python3
"""Seeds violations into a small tree and sees that check_includes.py catches each, and nothing else."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_includes  # noqa: E402

TABLE = """
| room | job | may include |
|---|---|---|
| `base` | types | – |
| `ir` | graphs | base |
| `cost` | estimates | ir |
| `comm` | groups | base |
| `compile` | pipeline | all above |
| `tools/hocket` | the command line | all above |
"""

CLEAN = {
    "src/README.md": TABLE,
    "include/hocket/base/units.h": "#pragma once\n#include <string>\n",
    "include/hocket/ir/graph.h": '#include "hocket/base/units.h"\n',
    "include/hocket/hocket.h": '#include "hocket/ir/graph.h"\n#include "hocket/base/units.h"\n',
    "src/base/env.cpp": 'const char* home = std::getenv("HOME");\n',
    "src/ir/text.h": '#include "hocket/ir/graph.h"\n',
    "src/cost/roofline.cpp": '#include "hocket/base/units.h"\n#include "ir/text.h"  // by way of ir\n',
    "src/cost/roofline_test.cpp": '#include "support/graphs.h"\n#include <gtest/gtest.h>\nauto old = getenv("HOME");\n',
    "src/compile/pipeline.cpp": '#include "ir/text.h"\n// nobody calls getenv() here\n',
    "tests/support/graphs.h": "",
    "tools/hocket/command.h": "",
    "tools/hocket/main.cpp": '#include "command.h"\n#include "ir/text.h"\n',
}


class CheckIncludes(unittest.TestCase):
    def violations(self, **extra):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {**CLEAN, **extra.get("files", {})}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return check_includes.Checker(root).check()

    def expect_one(self, file, text, message):
        found = self.violations(files={file: text})
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(f"{file}:"), found)
        self.assertIn(message, found[0])

    def test_clean_tree_has_none(self):
        self.assertEqual(self.violations(), [])

    def test_lower_room_including_higher(self):
        self.expect_one("src/ir/bad.cpp", '\n#include "compile/pipeline.cpp"\n', "room compile; room ir may include: base")

    def test_room_beside(self):
        self.expect_one("src/comm/bad.cpp", '#include "hocket/ir/graph.h"\n', "of room ir; room comm may include: base")

    def test_public_header_including_private(self):
        self.expect_one("include/hocket/cost/bad.h", '#include "ir/text.h"\n', "public header and includes the private")

    def test_test_support_outside_tests(self):
        self.expect_one("src/ir/bad.cpp", '#include "support/graphs.h"\n', "not a header of ours")

    def test_umbrella_header_inside(self):
        self.expect_one("src/cost/bad.cpp", '#include "hocket/hocket.h"\n', "a header for users")

    def test_other_projects_header_in_quotes(self):
        self.expect_one("src/ir/bad.cpp", '#include "fmt/format.h"\n', "included with <…>")

    def test_getenv(self):
        self.expect_one("src/ir/bad.cpp", 'auto path = std::getenv ("PATH");\n', "calls getenv")
        self.expect_one("tools/hocket/bad.cpp", 'auto path = secure_getenv("PATH");\n', "calls getenv")

    def test_folder_without_a_row(self):
        self.expect_one("src/attic/bad.cpp", "", "not in the table")

    def test_table_naming_a_later_room(self):
        with self.assertRaisesRegex(SystemExit, "no row above"):
            self.violations(files={"src/README.md": "| `base` | types | ir |\n| `ir` | graphs | base |\n"})


if __name__ == "__main__":
    unittest.main()
