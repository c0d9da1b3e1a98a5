#!/usr/bin/env python3
"""The program vkrope as a stranger uses it, by the *_test.py beside this: run.py PROGRAM [TEST...]. Exit status 77: skipped.

VKROPE_TEST_RUNNER, a list with semicolons as CMake's, is put before the program: an emulator for another architecture's."""
import importlib
import os
import sys
import tempfile

try:
    import numpy
except ImportError:
    print("skipped: this Python has no numpy")
    sys.exit(77)

sys.dont_write_bytecode = True  # the sources stay clean
from program import TESTS


def main():
    for name in sorted(os.listdir(os.path.dirname(os.path.abspath(__file__)))):
        if name.endswith("_test.py"):
            importlib.import_module(name[:-3])
    for wanted in sys.argv[2:] or TESTS:
        with tempfile.TemporaryDirectory(prefix="vkrope-tool-") as folder:
            os.chdir(folder)
            TESTS[wanted]()
            os.chdir("/")
        print(f"{wanted}: passed")


if __name__ == "__main__":
    main()
