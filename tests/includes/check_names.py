#!/usr/bin/env python3
"""Finds types of namespace hocket that two rooms define under the same name.

All rooms end up in one library, so two different types of one name are not only confusing: the linker keeps one of their functions.
"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ANONYMOUS = re.compile(r"^namespace \{.*?^\}  // namespace$", re.DOTALL | re.MULTILINE)
NESTED = re.compile(r"^namespace (?!hocket \{)[\w:]+ \{", re.MULTILINE)
TYPE = re.compile(r"^(?:struct|class|enum class|enum|union)(?: alignas\(\w+\))? (\w+)(?: final)?\s*(?::[^;{]*)?\{", re.MULTILINE)


def types_in(text):
    """The types that a file defines in namespace hocket itself; those of other namespaces begin behind NESTED."""
    text = ANONYMOUS.sub("", text)
    nested = NESTED.search(text)
    return TYPE.findall(text[: nested.start()] if nested else text)


def definitions(root):
    found = collections.defaultdict(set)
    for file in sorted([*root.glob("include/hocket/*/*.h"), *root.glob("src/*/*.h"), *root.glob("src/*/*.cpp")]):
        if file.stem.endswith(("_test", "_inl")):
            continue
        for name in types_in(file.read_text()):
            found[name].add((file.parent.name, str(file.relative_to(root))))
    return found


def main():
    twice = {
        name: places for name, places in definitions(ROOT).items() if len({room for room, _ in places}) > 1
    }
    for name, places in sorted(twice.items()):
        print(f"{name} is a type of more than one room: {', '.join(path for _, path in sorted(places))}")
    print(f"{len(twice)} names of two types")
    return 1 if twice else 0


if __name__ == "__main__":
    sys.exit(main())
