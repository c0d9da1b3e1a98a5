"""Runs the program, and says what a test is."""
import functools
import itertools
import json
import os
import subprocess
import sys

PROGRAM = os.path.abspath(sys.argv[1])
RUNNER = [*filter(None, os.environ.get("VKROPE_TEST_RUNNER", "").split(";"))]
COMMAND = [*RUNNER, PROGRAM]
LIMIT = 7200 if RUNNER else 600  # seconds; an emulator compiles shaders at a fraction of the speed
SPOILED = os.path.join(os.path.dirname(PROGRAM), "vkrope-spoiled")
RUN_SPOILED = " ".join(f"'{word}'" for word in [*RUNNER, SPOILED])
WHOLE = os.environ.get("VKROPE_TEST_WHOLE", "0") != "0"
TESTS = {}
NO_COMMANDS = ["rotat", "permute", "plot", "add-positions", "bias"]


def name_of(function):
    """positions_outside is run as PositionsOutside."""
    return "".join(word.capitalize() for word in function.split("_"))


def test(function):
    name = name_of(function.__name__)
    assert name not in TESTS, f"two tests are named {name}"
    TESTS[name] = function
    return function


def run(*arguments, status=0, shell=None):
    """Runs a command in the current folder; returns what it printed, and on stderr."""
    command = shell if shell is not None else [*COMMAND, *[str(a) for a in arguments]]
    done = subprocess.run(command, shell=shell is not None, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == status, f"{command}: exit status {done.returncode}, not {status}: {done.stderr}"
    return done.stdout, done.stderr


@functools.cache
def vulkan_devices():
    """The indices of the devices that can be used."""
    done = subprocess.run([*COMMAND, "devices", "--json"], capture_output=True, text=True, timeout=LIMIT)
    if done.returncode != 0:
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        return []
    return [str(d["index"]) for d in json.loads(done.stdout) if d["usable"]]


CASES = itertools.count()


def number_cases_by(name):
    """The first case of a test has a number that its name gives."""
    global CASES
    CASES = itertools.count(sum(name.encode()))


def devices():
    """What --device is tried with: a device that can be used, the CPU with its bits, then the reference. A short run takes one Vulkan
    device for a case, always the same; a whole run takes all. The sum of the digits of the case's number names it: it has no
    period, so no loop always meets the same device."""
    found = vulkan_devices()
    if WHOLE or len(found) < 2:
        return [*found, "cpu", "reference"]
    number, digits = next(CASES), 0
    while number:
        number, digit = divmod(number, len(found))
        digits += digit
    return [found[digits % len(found)], "cpu", "reference"]


def expect_refusal(what, arguments, sentence, before):
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 2, f"{what}: exit status {done.returncode}: {done.stderr}"
    assert done.stdout == "", f"{what}: {done.stdout}"
    assert done.stderr.count("\n") == 1 and done.stderr.endswith("\n"), f"{what}: {done.stderr}"
    command = "vkrope " + arguments[0] if arguments and arguments[0] not in NO_COMMANDS else "vkrope"
    assert done.stderr.startswith(command + ": "), f"{what}: {done.stderr}"
    assert sentence in done.stderr, f"{what}: '{sentence}' is not in: {done.stderr}"
    assert sorted(os.listdir(".")) == before, f"{what}: left {set(os.listdir('.')) - set(before)}"
    print(f"{what}: {done.stderr}", end="")
