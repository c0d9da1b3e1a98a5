#!/usr/bin/env python3
"""The rooms of host/ as CONTRIBUTING.md tells them: rooms.py [FOLDER]. Every include of host/, shaders/ and bench/ is one that
the table there allows, no room includes another in a circle, a file of host/ or shaders/ has at most 450 lines, the
rotation's shader and all that it includes have at most 1000 lines of code, and the tests lie in folders of the same names.
FOLDER is a source tree, this one without it."""
import os
import re
import sys

ROOT = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", ".."))
LINES = 450
LONGER = {"host/rope.h"}  # the manual
ROTATION_LINES = 1000  # neither blank nor a comment
NO_GLSL = {"families.h", "dialect_cpp.h", "dialect_hlsl.h"}  # shared headers include these for C++ or HLSL
ON_TOP = 12
CODE = r"\.(h|hpp|cpp|c|comp|glsl|def)$"
OTHER = r"\.(cmake|sh|in|awk|json|py)$"
BESIDE_ROOMS = {"faces", "gpu", "engine", "raw", "decoder", "example", "package", "support", "style", "portability", "data", "corpus"}
faults = []


def complain(text):
    faults.append(text)


def allowed_by_contributing():
    """The table whose first cells are rooms: `plan/` | what it holds | `rules/`, `shaders/`."""
    allowed = {}
    with open(os.path.join(ROOT, "CONTRIBUTING.md"), encoding="utf-8") as file:
        for line in file:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            name = re.fullmatch(r"`([a-z]+)/`", cells[0])
            if name and len(cells) == 3:
                allowed[name.group(1)] = re.findall(r"`([a-z]+)/`", cells[2])
    return allowed


def sources(*folders):
    """Files by known endings; an editor's and Python's own are none of them."""
    for folder in folders:
        for path, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in sorted(names):
                if re.match(r"[^.].*[^~]$", name) and not name.endswith(".pyc"):
                    yield os.path.relpath(os.path.join(path, name), ROOT).replace(os.sep, "/")


def room_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "host" and len(parts) > 2 else parts[0]


def target_of(path, name):
    """An include is written from host/; shaders and benchmarks name their own folder's files alone."""
    beside = os.path.join(os.path.dirname(path), name)
    from_host = os.path.normpath(os.path.join("host", name))
    for candidate in (beside, from_host) if not path.startswith("host/") or path.count("/") == 1 else (from_host,):
        if os.path.isfile(os.path.join(ROOT, candidate)):
            return os.path.normpath(candidate)
    return None


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def check_includes(allowed):
    for path in sources("host", "shaders", "bench"):
        if not re.search(CODE, path):
            if path.startswith("host/") and not re.search(OTHER, path):
                complain(f"{path}: an ending that this script does not know; its includes would not be looked at")
            continue
        for mark, name in re.findall(r'^\s*#\s*include\s*(["<])([^">]+)[">]', read(path), re.M):
            target = target_of(path, name)
            if target is None:
                if mark == '"':
                    complain(f'{path}: "{name}" is no file from host/ on')
                continue
            room, other = room_of(path), room_of(target)
            if room != other and other not in allowed.get(room, []):
                complain(f"{path}: includes {target}; {room}/ may include {', '.join(allowed.get(room, [])) or 'no room'}")


def check_floors(allowed):
    unknown = {other for others in allowed.values() for other in others} - set(allowed) - {"host"}
    for name in sorted(unknown):
        complain(f"CONTRIBUTING.md: {name}/ is included and has no row of its own")
    done = set(unknown)
    while True:
        free = {room for room in allowed if room not in done and all(o == "host" or o in done for o in allowed[room])}
        if not free:
            break
        done |= free
    if set(allowed) - done:
        complain(f"CONTRIBUTING.md: {', '.join(sorted(set(allowed) - done))} include each other in a circle")


def check_sizes():
    for path in sources("host", "shaders"):
        lines = read(path).count("\n")
        if lines > LINES and path not in LONGER:
            complain(f"{path}: {lines} lines; at most {LINES}")


def check_rotation():
    """Somebody who changes the rotation has all of this to read."""
    waiting, taken, lines = ["rotate.comp"], set(), 0
    while waiting:
        name = waiting.pop()
        if name in taken | NO_GLSL:
            continue
        taken.add(name)
        text = read(f"shaders/{name}")
        waiting += re.findall(r'^#include "(\w+\.\w+)"', text, re.M)
        lines += len(re.findall(r"^(?! *//) *\S", text, re.M))
    if lines > ROTATION_LINES:
        complain(f"shaders/rotate.comp: {lines} lines of code in {len(taken)} files; at most {ROTATION_LINES}")


def check_places(allowed):
    entries = sorted(os.listdir(os.path.join(ROOT, "host")))
    files = [path for path in entries if f"host/{path}" in set(sources("host"))]
    if len(files) > ON_TOP:
        complain(f"host/: {len(files)} files on top; at most {ON_TOP}, the others go into rooms")
    rooms = {name for name in entries if os.path.isdir(os.path.join(ROOT, "host", name))}
    for name in sorted(rooms - set(allowed) - {"package"}):
        complain(f"host/{name}: not in the table of CONTRIBUTING.md")
    for name in sorted(set(allowed) - rooms - {"shaders", "bench", "host"}):
        complain(f"CONTRIBUTING.md: {name}/ is no room of host/")
    for name in sorted(rooms & set(allowed)):
        if not os.path.isdir(os.path.join(ROOT, "tests", name)):
            complain(f"tests/{name}: there is no such folder for the tests of host/{name}")
    for name in sorted(os.listdir(os.path.join(ROOT, "tests"))):
        if name != "__pycache__" and os.path.isdir(os.path.join(ROOT, "tests", name)) and name not in rooms | BESIDE_ROOMS:
            complain(f"tests/{name}: neither a room of host/ nor one of {', '.join(sorted(BESIDE_ROOMS))}")
    for path in sources("tests"):
        if path.count("/") == 1 and path.endswith((".cpp", ".c", ".py")):
            complain(f"{path}: a test lies in the folder of its room, a helper in tests/support")


def main():
    allowed = allowed_by_contributing()
    if not allowed:
        complain("CONTRIBUTING.md: no table of rooms was found")
    check_includes(allowed)
    check_floors(allowed)
    check_sizes()
    check_rotation()
    check_places(allowed)
    print("\n".join(faults) if faults else f"{len(allowed)} rooms keep their floors")
    sys.exit(1 if faults else 0)


main()
