import re
import shlex
import subprocess

import numpy as np

from model import axes_of, axis_angles, expect_close, frequencies, rotate, widen
from program import COMMAND, run, test, vulkan_devices


@test
def examples_in_help_run():
    has_device = vulkan_devices() != []
    assert re.fullmatch(r"vkrope \d+\.\d+\.\d+\n", run("--version")[0])
    assert "devices" in run("--help")[0]
    for command in ["devices", "frequencies", "models", "table", "rotate", "check", "check-spirv", "bench"]:
        text = run(command, "--help")[0]
        lines = re.search(r"example.*:\n((?:  .*\n?)+)", text).group(1)
        assert "vkrope " + command in lines, lines
        if command == "check" or (not has_device and command in ("table", "rotate", "bench")):
            continue  # the one has a test of its own, the others need a device
        # Two rounds tell what a bench of some seconds tells. One of the name must be the program, whatever it is called here.
        lines = re.sub(r"(vkrope bench .*)", r"\1 --rounds 2", lines)
        _, errors = run(shell=f'set -e\nvkrope() {{ {shlex.join(COMMAND)} "$@"; }}\n{lines}')
        assert errors == "", errors
    if has_device:
        assert np.load("cos.npy").shape == (4096, 64)
        assert np.load("q_rotated.npy").shape == (1, 16, 32, 128)
        assert np.load("thw.npy")[:, 0].tolist() == [[0] * 16, sorted([0, 1, 2, 3] * 4), [0, 1, 2, 3] * 4]
        cos, sin = axis_angles(np.load("thw.npy"), axes_of("contiguous", [16, 24, 24]), frequencies(rotary=128))
        expect_close(np.load("q_image.npy"), rotate(widen(np.load("q.npy")), cos, sin), "f32", "the image in the help")
        assert np.allclose(np.load("q.npy"), 0x3F / 128 + 0x3F / 2**15 + 0.25, atol=0.01)


@test
def an_unknown_command_is_answered_with_those_there_are():
    done = subprocess.run([*COMMAND, "frequency"], capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == "", done
    assert done.stderr.startswith("vkrope: there is no command 'frequency'; there are devices, frequencies, "), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
