#!/usr/bin/env python3
"""Seeds a name of two types into a small tree and sees that check_names.py finds it, and nothing else."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_names  # noqa: E402


def rooms_of(files, name):
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            file = pathlib.Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("namespace hocket {\n\n" + text + "\n\n}  // namespace hocket\n")
        return {room for room, _ in check_names.definitions(pathlib.Path(folder))[name]}


class CheckNames(unittest.TestCase):
    def test_a_type_of_two_rooms_is_found(self):
        files = {"include/hocket/ir/a.h": "struct Work {\n};", "src/comm/b.cpp": "class Work final : public Base {\n};"}
        self.assertEqual(rooms_of(files, "Work"), {"ir", "comm"})

    def test_types_of_unnamed_and_inner_namespaces_don_t_count(self):
        files = {
            "src/ir/a.cpp": "namespace {\n\nstruct Work {\n};\n\n}  // namespace",
            "src/comm/b.cpp": "namespace inner {\nstruct Work {\n};\n}  // namespace inner",
        }
        self.assertEqual(rooms_of(files, "Work"), set())

    def test_declarations_and_tests_don_t_count(self):
        files = {"src/ir/a.h": "class Work;", "src/comm/b_test.cpp": "struct Work {\n};"}
        self.assertEqual(rooms_of(files, "Work"), set())


if __name__ == "__main__":
    unittest.main()
