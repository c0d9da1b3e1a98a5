"""The program on devices that lack something: vkrope-cut is the same program above a function table that cuts it off."""
import json
import os
import subprocess
import sys

import numpy as np

from model import random, write_config
from program import LIMIT, PROGRAM, RUNNER, run, test, vulkan_devices

CUT = os.path.join(os.path.dirname(PROGRAM), "vkrope-cut")
OLD = "has Vulkan 1.0.82 and 1.1 is needed: install a newer driver or select another device"
NO_COMPUTE = "has no queue that computes: select another device"
NO_TIMESTAMPS = "has no timestamps; --clock host measures from outside"


def run_cut(cuts, *arguments, status=0):
    """What a command prints, and on stderr, on devices from which `cuts` are cut off: names of tests/support/cut.hpp."""
    environment = {**os.environ, "VKROPE_TEST_CUTS": cuts}
    command = [*RUNNER, CUT, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, env=environment)
    assert done.returncode == status, f"{cuts} {command}: {done.returncode}, not {status}: {done.stdout}{done.stderr}"
    assert "broken rules" not in done.stderr, f"{cuts} {command}: {done.stderr}"
    return done.stdout, done.stderr


def devices_to_cut():
    found = vulkan_devices()
    if not found or not os.path.exists(CUT):
        sys.exit(77)
    return found


def expect_sentence(sentence, cuts, *arguments):
    text, errors = run_cut(cuts, *arguments, status=2)
    assert text == "" and errors.count("\n") == 1, text + errors
    assert errors.startswith(f"vkrope {arguments[0]}: ") and sentence in errors, errors


@test
def devices_that_lack_too_much_are_listed_with_the_reason():
    found = devices_to_cut()
    for cuts, sentence in [("vulkan-1.0", OLD), ("no-compute", NO_COMPUTE)]:
        text = run_cut(cuts, "devices")[0]
        assert text.count("not usable: ") == text.count(sentence) == len(found), text
        for device in json.loads(run_cut(cuts, "devices", "--json")[0]):
            assert not device["usable"] and device["error"].endswith(sentence), device
        expect_sentence(sentence, cuts, "check", "--quick")


@test
def devices_without_timestamps_are_timed_by_the_host():
    found = devices_to_cut()
    for cuts in ["no-timestamps", "no-timestamp-period"]:
        expect_sentence(NO_TIMESTAMPS, cuts, "bench", "--tokens", "1", "--device", found[0])
    text = run_cut("no-timestamps", "bench", "--clock", "host", "--tokens", "1", "--rounds", "1", "--element", "f32",
                   "--device", found[0])[0]
    assert "clock: the host's, around submit and wait" in text, text


@test
def what_devices_lack_moves_no_bit():
    write_config()
    np.save("q.npy", random((1, 9, 4, 64), "f16"))
    common = ["--config", "config.json", "--positions", "-3:6"]
    for device in devices_to_cut():
        run("rotate", *common, "--q", "q.npy", "--q-out", "o.npy", "--device", device)
        with open("o.npy", "rb") as file:
            wanted = file.read()
        for cuts in ["", "floor", "floor not-coherent discrete compute-family", "no-storage-16 robust least-bindings",
                     "portability flushes-halves small-allocations least-shared"]:
            os.remove("o.npy")
            run_cut(cuts, "rotate", *common, "--q", "q.npy", "--q-out", "o.npy", "--device", device)
            with open("o.npy", "rb") as file:
                assert file.read() == wanted, cuts
