#!/usr/bin/env python3
"""Every option of vkrope's CMake files stands in docs/building.md's table of options with the default that it has, and no other does."""
import os
import re
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
DEFAULTS = {"ON": "on", "OFF": "off", "${PROJECT_IS_TOP_LEVEL}": "on by itself", "${VKROPE_WHOLE}": "on by itself",
            "${VKROPE_TESTABLE}": "on by itself"}


def cmake_files():
    yield os.path.join(ROOT, "CMakeLists.txt")
    for folder in ("host", "shaders", "bench"):
        for path, _, names in os.walk(os.path.join(ROOT, folder)):
            yield from (os.path.join(path, name) for name in names if name.endswith(".cmake"))


def of_cmake():
    found = {}
    for path in cmake_files():
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"^\s*#.*", "", file.read(), flags=re.M)
        for name, default in re.findall(r'^\s*option\((\w+)\s+"[^"]*"\s+([^)\s]+)\)', text, re.M):
            found[name] = DEFAULTS.get(default, default)
        found.update((name, "found") for name in re.findall(r"^\s*find_(?:program|path|file|library)\((\w+)", text, re.M))
        found.update((name, "none") for name in re.findall(r'^\s*set\((\w+)\s+""\s+CACHE', text, re.M))
        known = len(re.findall(r"^\s*option\(|\bCACHE\b", text, re.M))
        read = len(re.findall(r'^\s*option\(\w+\s+"[^"]*"\s+[^)\s]+\)|^\s*set\(\w+\s+""\s+CACHE', text, re.M))
        if known != read:
            sys.exit(f"{path}: an option is written so that this test does not read it")
    return found


def of_manual():
    with open(os.path.join(ROOT, "docs/building.md"), encoding="utf-8") as file:
        return dict(re.findall(r"^\| `(VKROPE_\w+)` \| ([^|]+) \|", file.read(), re.M))


made, told = of_cmake(), of_manual()
faults = [f"{name}: {made.get(name, 'not there')} in CMake, {told.get(name, 'not there')} in docs/building.md"
          for name in sorted(made.keys() | told.keys()) if made.get(name) != told.get(name)]
print("\n".join(faults) or f"{len(told)} options")
sys.exit(1 if faults or len(told) < 10 else 0)
