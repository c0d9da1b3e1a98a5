#!/usr/bin/env python3
"""The rooms as CONTRIBUTING.md tells them: rooms.py [FOLDER]. Every include of host/, shaders/ and bench/ is one that the table
there allows, no room includes another in a circle, a file of host/ or shaders/ has at most 450 lines, the rotation's shader and
all that it includes have at most 1000 lines of code, and tests/ has a folder for each room of host/. FOLDER is a source tree,
this one without it."""
import os
import re
import sys

ROOT = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", ".."))
LINES = 450
LONGER = {"host/include/vkrope/rope.h", "host/models/text.json"}  # the manual, and data
ROTATION_LINES = 1000  # neither blank nor a comment, an include or its guard
NO_GLSL = {"shaders/fused/record.h", "shaders/encodings/words.h", "shaders/numbers/dialect_cpp.h"}  # shared headers include these for C++ or HLSL
ON_TOP = 12
ROOTS = ("host/include", "host/core", "host", "")  # that includes are written from
CODE = r"\.(h|hpp|cpp|c|comp|glsl|def)$"
OTHER = r"(\.(cmake|sh|in|awk|json|py|typed)|meson\.build)$"
BESIDE_ROOMS = {"faces", "gpu", "engine", "raw", "decoder", "example", "package", "support", "style", "portability", "data", "corpus"}
faults = []


def complain(text):
    faults.append(text)


def allowed_by_contributing():
    """The table whose first cells are rooms: `host/core/plan/` | what it holds | `rules/`, `shaders/`: a room is named by as much
    of the end of its path as tells it apart."""
    rows = {}
    with open(os.path.join(ROOT, "CONTRIBUTING.md"), encoding="utf-8") as file:
        for line in file:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            name = re.fullmatch(r"`([a-z/]+)/`", cells[0])
            if name and len(cells) == 3:
                rows[name.group(1)] = re.findall(r"`([a-z/]+)/`", cells[2])
    allowed = {}
    for room, others in rows.items():
        allowed[room] = []
        for other in others:
            found = [name for name in rows if name == other or name.endswith("/" + other)]
            if len(found) == 1:
                allowed[room] += found
            else:
                complain(f"CONTRIBUTING.md: {room}/ may include {other}/, which names {len(found)} rooms")
    return allowed


def sources(*folders):
    """Files by known endings; an editor's and Python's own are none of them."""
    for folder in folders:
        for path, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in sorted(names):
                if re.match(r"[^.].*[^~]$", name) and not name.endswith(".pyc"):
                    yield os.path.relpath(os.path.join(path, name), ROOT).replace(os.sep, "/")


def room_of(path, rooms):
    """The longest room that has the path; None for one that lies in no room."""
    return max((room for room in rooms if path.startswith(room + "/")), key=len, default=None)


def target_of(path, name):
    """An include names a file beside it, or one from a root on. In shaders/ it is written from its own folder."""
    for folder in (os.path.dirname(path), *(() if path.startswith("shaders/") and "vkrope/" not in name else ROOTS)):
        candidate = os.path.normpath(os.path.join(folder, name))
        if os.path.isfile(os.path.join(ROOT, candidate)):
            return candidate
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
                    complain(f'{path}: there is no file "{name}"')
                continue
            room, other = room_of(path, allowed), room_of(target, allowed)
            if room is None and other not in ("host/include", None):
                complain(f"{path}: lies in no room, and includes {target}")
            elif room not in (None, other) and other not in allowed[room]:
                complain(f"{path}: includes {target}; {room}/ may include {', '.join(allowed[room]) or 'no room'}")


def check_floors(allowed):
    done = set()
    while True:
        free = {room for room in allowed if room not in done and all(other in done for other in allowed[room])}
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
    waiting, taken, lines = ["shaders/rotate.comp"], set(), 0
    while waiting:
        name = waiting.pop()
        if name in taken | NO_GLSL:
            continue
        taken.add(name)
        text = read(name)
        waiting += [target_of(name, other) for other in re.findall(r'^#include "([^"]+)"', text, re.M)]
        lines += len(re.findall(r"^(?! *//|#include|#endif|#(?:ifndef|define) ROPE_\w+_(?:GLSL|H)$) *\S", text, re.M))
    if lines > ROTATION_LINES:
        complain(f"shaders/rotate.comp: {lines} lines of code in {len(taken)} files; at most {ROTATION_LINES}")


def check_places(allowed):
    on_top = [path for path in sources("host") if path.count("/") == 1]
    if len(on_top) > ON_TOP:
        complain(f"host/: {len(on_top)} files on top; at most {ON_TOP}, the others go into rooms")
    for path in sources("host", "shaders", "bench"):
        if re.search(CODE, path) and path not in on_top and room_of(path, allowed) is None:
            complain(f"{path}: its folder is not in the table of CONTRIBUTING.md")
    for room in sorted(allowed):
        if not os.path.isdir(os.path.join(ROOT, room)):
            complain(f"CONTRIBUTING.md: there is no folder {room}/")
    mirrored = {room[len("host/"):] for room in allowed if room.startswith("host/")} - {"include"}
    for room in sorted(mirrored):
        if room.count("/") < 2 and not os.path.isdir(os.path.join(ROOT, "tests", room)):
            complain(f"tests/{room}: there is no such folder for the tests of host/{room}")
    for name in sorted(os.listdir(os.path.join(ROOT, "tests"))):
        tops = {room.split("/")[0] for room in mirrored}
        if name != "__pycache__" and os.path.isdir(os.path.join(ROOT, "tests", name)) and name not in tops | BESIDE_ROOMS:
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
