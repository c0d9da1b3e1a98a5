"""What the tests of the Python package share: the package beside the program, devices, refusals.

A test is run as TEST.py PROGRAM FOLDER [NAME...]: FOLDER has the package, and is empty where it is installed. Exit status 77:
skipped."""
import contextlib
import functools
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
try:
    import numpy as np
except ImportError:
    print("skipped: this Python has no numpy")
    sys.exit(77)

FOLDER = os.path.abspath(sys.argv[2]) if sys.argv[2] else ""
sys.path[:0] = [*([FOLDER] if FOLDER else []), os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "program")]
import vkrope
from program import COMMAND, WHOLE, run, vulkan_devices
from program import devices as devices_in_turn
from vkrope.__main__ import main as program

DEVICES = ["cpu", *vulkan_devices()]
LLAMA = {"model_type": "llama", "head_dim": 64, "rope_theta": 500000.0}
ENVIRONMENT = {**os.environ, "PYTHONPATH": FOLDER, "PYTHONDONTWRITEBYTECODE": "1"}


def write(config, path="config.json"):
    with open(path, "w") as file:
        json.dump(config, file)


def same_bits(ours, theirs):
    return ours.dtype == theirs.dtype and ours.shape == theirs.shape and ours.tobytes() == theirs.tobytes()


@functools.lru_cache(maxsize=None)
def opened(name):
    """A device that stays open, so that its pipelines are made once."""
    return vkrope.Device(name)


def devices():
    """The CPU, and in a short run one Vulkan device, another for each case."""
    return ["cpu", *(name for name in devices_in_turn() if name not in ("cpu", "reference"))]


def skip(what):
    """Is counted among what a run left out, by name."""
    if os.environ.get("VKROPE_TEST_SKIPPED"):
        with open(os.environ["VKROPE_TEST_SKIPPED"], "a") as file:
            file.write(what + "\n")
    print("skipped: " + what)
    raise unittest.SkipTest(what)


def needs(module):
    try:
        return __import__(module)
    except ImportError:
        how = "tests/run.sh --whole" if module in ("torch", "transformers") else "tests/run.sh"
        skip(f"{os.path.basename(sys.argv[0])}: this Python has no {module} ({how} gets it from PyPI)")


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="vkrope-python-")
        os.chdir(self.folder.name)

    def tearDown(self):
        os.chdir("/")
        self.folder.cleanup()

    def refused(self, sentence, function, *arguments, **named):
        with self.assertRaises(vkrope.Refused) as caught:
            function(*arguments, **named)
        self.assertIn(sentence, str(caught.exception))
        return str(caught.exception)


    def command(self, *arguments, status=0):
        """Runs python -m vkrope here; returns what it printed, and on stderr."""
        done = subprocess.run([sys.executable, "-m", "vkrope", *[str(word) for word in arguments]], capture_output=True, text=True,
                              env=ENVIRONMENT)
        self.assertEqual(done.returncode, status, f"{arguments}: {done.stderr}")
        self.assertNotIn("Traceback", done.stderr)
        return done.stdout, done.stderr

    def command_refused(self, sentence, *arguments):
        """One line, exit status 2, and the folder as it was."""
        before, said, errors = sorted(os.listdir(".")), io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(errors):
            try:
                status = program([str(word) for word in arguments])
            except SystemExit as end:
                status = end.code
        told = status, said.getvalue(), errors.getvalue().count("\n"), sorted(os.listdir("."))
        self.assertEqual(told, (2, "", 1, before), errors.getvalue())
        self.assertIn(sentence, errors.getvalue())


def main():
    """Runs the tests; where all of them were skipped the exit status is 77."""
    result = unittest.main(argv=[sys.argv[0], *sys.argv[3:]], exit=False).result
    sys.exit(77 if result.testsRun == len(result.skipped) else not result.wasSuccessful())
