#!/usr/bin/env python3
"""Checks the include rules of src/README.md: who may include whom, and that (tests aside) only
src/base/env.cpp calls getenv.

  check_includes.py [ROOT]      ROOT is the project's folder (default: the one of this script)

Prints one line for each violation, and exits with 1 if there are any.
"""

import pathlib
import re
import sys

QUOTED_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
GETENV = re.compile(r"\b(?:secure_)?getenv\s*\(")
LINE_COMMENT = re.compile(r"//.*")
MAY_CALL_GETENV = "src/base/env.cpp"
SUFFIXES = {".h", ".hpp", ".cpp", ".cc"}


def read_rules(readme):
    """The table of src/README.md as {room: rooms that it may include}, itself among them.

    A room that is named in the third column brings along what that room may include; "all above" is every row above.
    """
    allowed = {}
    for line in readme.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        named = re.fullmatch(r"`([\w/]+)`", cells[0])
        if len(cells) != 3 or not named:
            continue
        room, may = named[1], cells[2]
        if may in {"–", "-", ""}:
            rooms = []
        elif may == "all above":
            rooms = list(allowed)
        else:
            rooms = [name.strip(" `") for name in may.split(",")]
        for name in rooms:
            if name not in allowed:
                raise SystemExit(f"{readme}: room {room} may include {name}, which has no row above it")
        allowed[room] = {room}.union(*(allowed[name] for name in rooms))
    if not allowed:
        raise SystemExit(f"{readme}: no table of rooms found")
    return allowed


def room_of_file(path, rooms):
    """The room that a file of ours belongs to, by its path below the root; None where no rule holds (umbrella headers)."""
    parts = path.parts
    if parts[0] == "include":
        return parts[2] if len(parts) > 3 else None
    if parts[0] == "src":
        return parts[1] if len(parts) > 2 else None
    return next((room for room in rooms if "/" in room and path.as_posix().startswith(room + "/")), None)


def may_call_getenv(path):
    # A test may keep a variable to put it back.
    return path.as_posix() == MAY_CALL_GETENV or path.name.endswith("_test.cpp")


class Checker:
    def __init__(self, root):
        self.root = root
        self.rooms = read_rules(root / "src/README.md")
        self.violations = []

    def check(self):
        for folder in ("include", "src", "tools", "bench", "python"):
            for file in sorted((self.root / folder).rglob("*")):
                if file.suffix in SUFFIXES:
                    self.check_file(file.relative_to(self.root))
        return self.violations

    def check_file(self, path):
        room = room_of_file(path, self.rooms)
        if room is not None and room not in self.rooms:
            self.report(path, 1, f"the folder {room} is not in the table of src/README.md")
            return
        for number, line in enumerate((self.root / path).read_text(errors="replace").splitlines(), start=1):
            include = QUOTED_INCLUDE.match(line)
            if include:
                self.check_include(path, number, room, include[1])
            elif GETENV.search(LINE_COMMENT.sub("", line)) and not may_call_getenv(path):
                self.report(path, number, f"calls getenv; only {MAY_CALL_GETENV} may, ask hocket/base/env.h instead")

    def check_include(self, path, number, room, name):
        target = self.find(path, name)
        if target is None:
            self.report(path, number, f'includes "{name}", which is not a header of ours: others are included with <…>, '
                                      "ours by their path below include/ or src/")
            return
        if path.parts[0] == "include" and target.parts[0] != "include":
            self.report(path, number, f'is a public header and includes the private "{name}"')
        other = room_of_file(target, self.rooms)
        if room is None:
            return
        if other is None and target.parts[0] == "include":
            self.report(path, number, f'includes "{name}", a header for users that includes many rooms')
        elif other is not None and other not in self.rooms[room]:
            may = ", ".join(sorted(self.rooms[room] - {room})) or "no other room"
            self.report(path, number, f'includes "{name}" of room {other}; room {room} may include: {may}')

    def find(self, path, name):
        """The file of ours that an #include of `name` in `path` means, by its path below the root."""
        folders = ["include", "src"]
        if path.name.endswith("_test.cpp"):
            folders.append("tests")
        if path.parts[0] == "bench":  # fixtures of the tests, and the model of the demo
            folders += ["tests", "tools/hocket"]
        if path.parts[0] == "tools":
            folders.append("/".join(path.parts[:2]))
        if path.parts[0] in {"bench", "python"}:
            folders += [path.parts[0], path.parent.as_posix()]
        for folder in folders:
            if (self.root / folder / name).is_file():
                return pathlib.PurePosixPath(folder) / name
        return None

    def report(self, path, number, message):
        self.violations.append(f"{path}:{number}: {message}")


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2])
    violations = Checker(root).check()
    for violation in violations:
        print(violation)
    print(f"include rules: {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
