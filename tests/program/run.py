#!/usr/bin/env python3
"""The program vkrope as a stranger uses it, by the *_test.py beside this: run.py PROGRAM [TEST...]. Exit status 77: skipped.
run.py --list prints the names of the tests, which CMake asks for. It needs no numpy.

VKROPE_TEST_RUNNER, a list with semicolons as CMake's, is put before the program: an emulator for another architecture's."""
import ast
import importlib
import os
import sys
import tempfile

sys.dont_write_bytecode = True  # the sources stay clean
HERE = os.path.dirname(os.path.abspath(__file__))
FILES = sorted(name for name in os.listdir(HERE) if name.endswith("_test.py"))


def is_test(node):
    return isinstance(node, ast.FunctionDef) and any(getattr(d, "id", None) == "test" for d in node.decorator_list)


def names():
    """The tests are read and not imported, since they import numpy."""
    from program import name_of

    for file in FILES:
        with open(os.path.join(HERE, file), encoding="utf-8") as source:
            yield from (name_of(node.name) for node in ast.parse(source.read(), file).body if is_test(node))


def run(wanted):
    try:
        import numpy
    except ImportError:
        print("skipped: this Python has no numpy")
        sys.exit(77)
    from program import TESTS, number_cases_by

    for file in FILES:
        importlib.import_module(file[:-3])
    listed = sorted(names())
    assert listed == sorted(TESTS), f"--list names {set(listed) ^ set(TESTS)} otherwise"
    for name in wanted or TESTS:
        with tempfile.TemporaryDirectory(prefix="vkrope-tool-") as folder:
            os.chdir(folder)
            number_cases_by(name)
            TESTS[name]()
            os.chdir("/")
        print(f"{name}: passed")


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        print(*names(), sep="\n")
    else:
        run(sys.argv[2:])
